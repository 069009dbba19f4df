"""From marked starts to counts: every pretoken of a buffer goes into the word table.

Most pretokens are a few thousand frequent words, so they are counted in a small table of their own
first, which stays in the processor's second-level cache:

    pretoken → front   direct-mapped, 16,384 rows of (key, count); a hit adds one
             → miss    the word that stood there moves to the word table with its count,
                       its slot asked for now and looked at when the batch is done

Words longer than 15 bytes, whose bytes are not in their key, go to the word table at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import Int64Array
from bpenb._intrinsics import prefetch
from bpenb._jit import helper, kernel
from bpenb.counting.order import PADDING, SHORT
from bpenb.counting.table import add_keyed_word, add_short_word, first_slot, word_key
from bpenb.pretokenize import take_starts

__all__ = [
    "NEED_ROOM",
    "OVERFLOW",
    "TALLIED",
    "TallyScratch",
    "flush_front",
    "make_tally_scratch",
    "tally_pretokens",
]

# mypy: disable-error-code="no-untyped-def"

BATCH = 256  # pretokens whose slots are asked for before the first is looked at
FRONT_ROWS = 1 << 14  # of 32 bytes: half a megabyte (docs/decisions/0007-word-table.md)
TALLIED, NEED_ROOM, OVERFLOW = 0, 1, 2

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class TallyScratch(NamedTuple):
    """Work arrays of one thread.

    Attributes:
        front: uint64[FRONT_ROWS, 4], key (two numbers), count, unused.
        moved: uint64[BATCH, 3], words on their way from the front to the table.
        bounds: int64[BATCH + 1], where the pretokens of a batch start and end.
        position: int64[3], segment and byte to go on with; pretokens so far.
    """

    front: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    moved: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    bounds: Int64Array
    position: Int64Array


def make_tally_scratch() -> TallyScratch:
    """Return empty work arrays."""
    return TallyScratch(
        np.zeros((FRONT_ROWS, 4), dtype=np.uint64),
        np.zeros((BATCH, 3), dtype=np.uint64),
        np.zeros(BATCH + 1, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )


@helper
def front_count(front, moved, n_moved, n_slots, slots, first, second):
    """Count a short word in the front table; returns how many words are on their way out of it."""
    row = first_slot(first, second, np.int64(FRONT_ROWS))
    if front[row, 0] == first and front[row, 1] == second:
        front[row, 2] += _ONE
        return n_moved
    if front[row, 2] != _ZERO:
        for column in range(3):
            moved[n_moved, column] = front[row, column]
        prefetch(slots, first_slot(front[row, 0], front[row, 1], n_slots))
        n_moved += 1
    front[row, 0] = first
    front[row, 1] = second
    front[row, 2] = _ONE
    return n_moved


@helper
def tally_batch(table, text, scratch, n):
    """Count the n pretokens of a batch; returns False if a count overflows."""
    bounds = scratch.bounds
    n_slots = table.slots.shape[0]
    n_moved = np.int64(0)  # a literal 0 would compile `front_count` twice
    fits = True
    for t in range(n):
        length = bounds[t + 1] - bounds[t]
        first, second = word_key(text, bounds[t], length)
        if length <= SHORT:
            n_moved = front_count(scratch.front, scratch.moved, n_moved, n_slots, table.slots, first, second)
        else:
            fits &= add_keyed_word(table, text, bounds[t], length, np.int64(1), (first, second))
    for m in range(n_moved):
        fits &= add_short_word(table, scratch.moved[m, 0], scratch.moved[m, 1], scratch.moved[m, 2])
    return fits


@kernel
def tally_pretokens(table, text, starts, segments, scratch):
    """Count all pretokens of a buffer's segments.

    table     : TableArrays
    text      : uint8[], padded
    starts    : uint64[], the START plane
    segments  : int64[n, 2], first byte and end of each
    scratch   : TallyScratch; position says where to go on
    Returns   : TALLIED; NEED_ROOM: make room for 2 BATCH words and the bytes from `position[1]` to
                `bounds` …, then call again; OVERFLOW: a count passes int64
    O(n_bytes)
    """
    position = scratch.position
    bounds = scratch.bounds
    most = table.slots.shape[0] // 8 * 5 - BATCH
    s = position[0]
    i = position[1]
    while s < segments.shape[0]:
        i = max(i, segments[s, 0])
        end = segments[s, 1]
        while i < end:
            n = take_starts(starts, i, end, BATCH, bounds)
            position[0] = s
            position[1] = i
            if (
                table.cursor[0] > most
                or table.cursor[1] + 2 * (bounds[n] - i) + PADDING > table.arena.shape[0]
            ):
                return NEED_ROOM
            if not tally_batch(table, text, scratch, n):
                return OVERFLOW
            position[2] += n
            i = bounds[n]
        s += 1
    position[0] = s
    return TALLIED


@kernel
def flush_front(table, front):
    """Move every word of the front table to the word table, which has room for all of them.

    Returns : TALLIED or OVERFLOW
    """
    fits = True
    for row in range(front.shape[0]):
        if front[row, 2] != _ZERO:
            fits &= add_short_word(table, front[row, 0], front[row, 1], front[row, 2])
            front[row, 2] = _ZERO
    return TALLIED if fits else OVERFLOW
