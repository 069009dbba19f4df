"""From marked starts to counts: every pretoken of a buffer goes into the word table.

Most pretokens are a few thousand frequent words, so they are counted in a small table of their own
first, which stays in the processor's second-level cache:

    pretoken → front   direct-mapped, 16,384 rows of (key, count); a hit adds one
             → miss    the word that stood there queues for the word table with its count,
                       its slot asked for now and looked at some dozens of words later

Words longer than 15 bytes, whose bytes are not in their key, queue at once.
docs/decisions/0011-one-pass-to-the-table.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import Int64Array, zeros_on_lines
from bpenb._intrinsics import prefetch, trailing_zeros
from bpenb._jit import helper, kernel
from bpenb.counting.order import HEADER, PADDING
from bpenb.counting.table import add_keyed_word, add_short_word, first_slot
from bpenb.pretokenize import LENGTH_MASK, LONG, MULTIPLIER, SECOND_MULTIPLIER, SHORT, ends_in_block, word_key

__all__ = [
    "NEED_ROOM",
    "OVERFLOW",
    "TALLIED",
    "TallyScratch",
    "make_tally_scratch",
    "tally_pretokens",
]

# mypy: disable-error-code="no-untyped-def"

QUEUE = 64  # words that queue before the first of them is looked at
_ROW_BITS = 14
FRONT_ROWS = 1 << _ROW_BITS  # of 32 bytes: half a megabyte
TALLIED, NEED_ROOM, OVERFLOW = 0, 1, 2

QUEUE_ROWS = QUEUE + 64 + 1  # a block of 64 bytes is counted before the queue is looked at
_ROW_SHIFT = np.uint64(64 - _ROW_BITS)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class TallyScratch(NamedTuple):
    """Work arrays of one thread.

    Attributes:
        front: uint64[FRONT_ROWS, 4], key (two numbers), count, unused.
        queue: uint64[≥ QUEUE_ROWS, 4], key, count and, of a long word, its place in the text.
        position: int64[4], segment and byte to go on with; words in the queue; pretokens so far.
    """

    front: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    queue: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    position: Int64Array


def make_tally_scratch() -> TallyScratch:
    """Return empty work arrays."""
    return TallyScratch(
        zeros_on_lines((FRONT_ROWS, 4), np.uint64),
        zeros_on_lines((QUEUE_ROWS, 4), np.uint64),
        zeros_on_lines((4,), np.int64),
    )


@helper
def front_row(first, second):
    """Return the row of the front table for a word: the top bits of a product, one step less than a slot."""
    return np.int64(((first ^ (second * SECOND_MULTIPLIER)) * MULTIPLIER) >> _ROW_SHIFT)


@helper
def count_pretoken(text, start, length, front, queue, n_queued, slots):
    """Count a pretoken in the front table, or queue it; returns how many words queue then."""
    first, second = word_key(text, start, length)
    row = front_row(first, second)
    if length <= SHORT and front[row, 0] == first and front[row, 1] == second:
        front[row, 2] += _ONE
        return n_queued
    if length > SHORT:
        leaving, leaving_second, count = first, second, _ONE
        queue[n_queued, 3] = np.uint64(start)
    else:
        leaving, leaving_second, count = front[row, 0], front[row, 1], front[row, 2]
        front[row, 0] = first
        front[row, 1] = second
        front[row, 2] = _ONE
        if count == _ZERO:
            return n_queued
    prefetch(slots, first_slot(leaving, leaving_second, np.int64(slots.shape[0])))
    queue[n_queued, 0] = leaving
    queue[n_queued, 1] = leaving_second
    queue[n_queued, 2] = count
    return n_queued + 1


@helper
def settle_queue(table, text, queue, n_queued):
    """Put the queueing words, first come first served, into the table, as long as it has room.

    Returns : (int64 words that still queue, moved to the front; bool whether all counts fit)
    """
    most = table.slots.shape[0] // 8 * 5
    fits = True
    n = np.int64(0)
    while n < n_queued and table.cursor[0] < most:
        first, second, count = queue[n, 0], queue[n, 1], queue[n, 2]
        if second & LONG:
            length = np.int64(second & LENGTH_MASK)
            if table.cursor[1] + HEADER + length + PADDING > table.arena.shape[0]:
                break
            start = np.int64(queue[n, 3])
            fits &= add_keyed_word(table, text, start, length, np.int64(count), (first, second))
        else:
            fits &= add_short_word(table, first, second, count)
        n += 1
    for left in range(n, n_queued):
        for column in range(4):
            queue[left - n, column] = queue[left, column]
    return n_queued - n, fits


@helper
def tally_block(table, text, bits, base, start, scratch):
    """Count the pretokens that end at the set bits of a block; returns where the next one starts."""
    n_queued = scratch.position[2]
    n_pretokens = scratch.position[3]
    while bits:
        end = base + trailing_zeros(bits)
        bits &= bits - _ONE
        n_queued = count_pretoken(
            text, start, end - start, scratch.front, scratch.queue, n_queued, table.slots
        )
        n_pretokens += 1
        start = end
    scratch.position[2] = n_queued
    scratch.position[3] = n_pretokens
    return start


@helper
def tally_some(table, text, starts, segments, scratch):
    """Count pretokens until enough of them queue, or all are done."""
    position = scratch.position
    while position[0] < segments.shape[0]:
        start = max(position[1], segments[position[0], 0])
        end = segments[position[0], 1]
        k = start >> 6
        while start < end and position[2] < QUEUE:
            bits = ends_in_block(starts, k, start, end)
            start = tally_block(table, text, bits, k << 6, start, scratch)
            k += 1
        position[1] = start
        if start < end:
            return
        position[0] += 1


@kernel
def tally_pretokens(table, text, starts, segments, scratch):
    """Count all pretokens of a buffer's segments.

    table     : TableArrays
    text      : uint8[], padded
    starts    : uint64[], the START plane
    segments  : int64[n, 2], first byte and end of each
    scratch   : TallyScratch; position says where to go on
    Returns   : TALLIED; NEED_ROOM: make room for QUEUE_ROWS words and their bytes, then call again;
                OVERFLOW: a count passes int64
    O(n_bytes)
    """
    position = scratch.position
    while True:
        tally_some(table, text, starts, segments, scratch)
        position[2], fits = settle_queue(table, text, scratch.queue, position[2])
        if not fits:
            return OVERFLOW
        if position[2] > 0:
            return NEED_ROOM
        if position[0] == segments.shape[0]:
            return TALLIED
