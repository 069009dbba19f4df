"""From word tables to words in order: buckets → records → sort → write, in parallel.

tables → count the words of each bucket → scatter them as records → sort buckets, add equal
words → word_bytes, word_offsets, word_counts
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array, offsets_from_lengths
from bpenb._intrinsics import byte_swap, load_u64
from bpenb._jit import helper, kernel
from bpenb._workers import run_in_threads
from bpenb.counting.order import (
    HEADER,
    N_BUCKETS,
    PADDING,
    Buckets,
    Records,
    merge_rows,
    sort_buckets,
    sort_rows,
    write_words,
)
from bpenb.errors import CountsError
from bpenb.pretokenize import SHORT

if TYPE_CHECKING:
    from bpenb.counting.table import TableArrays

__all__ = ["gather_tables"]

# mypy: disable-error-code="no-untyped-def"

LARGE = 1 << 16  # records of a bucket that several threads sort together: 20 ms of work
_SHARES_PER_WORKER = 8  # a share is what Ctrl-C waits for
_ZERO = np.uint64(0)
_LONG = np.uint64(1 << 63)
_LENGTH_SHIFT = np.uint64(56)
_LOW_BYTE = np.uint64(255)
_BUCKET_SHIFT = np.uint64(48)
_LONG_LENGTH = np.uint64(SHORT + 1)


@helper
def sort_key(slots, s, arena):
    """Return the first two numbers of the record for the word in slot s."""
    if slots[s, 1] & _LONG:
        start = np.int64(slots[s, 3]) + HEADER
        second = byte_swap(load_u64(arena, start + 8)) & ~_LOW_BYTE
        return byte_swap(load_u64(arena, start)), second | _LONG_LENGTH
    length = slots[s, 1] >> _LENGTH_SHIFT
    return byte_swap(slots[s, 0]), (byte_swap(slots[s, 1]) & ~_LOW_BYTE) | length


@kernel
def count_buckets(slots, arena, counts):
    """Count the words of a table by bucket. counts: int64[N_BUCKETS], added to. O(slots)."""
    for s in range(slots.shape[0]):
        if slots[s, 2] != _ZERO:
            first, _ = sort_key(slots, s, arena)
            counts[np.int64(first >> _BUCKET_SHIFT)] += 1


@kernel
def scatter_words(slots, arena, arena_base, places, rows):
    """Write a record for each word of a table into its bucket.

    arena_base : int64, where this table's arena begins in the arena of all tables
    places     : int64[N_BUCKETS], the next free record of each bucket; advanced
    rows       : uint64[n, 4], written
    O(slots)
    """
    for s in range(slots.shape[0]):
        if slots[s, 2] != _ZERO:
            first, second = sort_key(slots, s, arena)
            bucket = np.int64(first >> _BUCKET_SHIFT)
            place = places[bucket]
            places[bucket] = place + 1
            rows[place, 0] = first
            rows[place, 1] = second
            rows[place, 2] = slots[s, 2]
            rows[place, 3] = slots[s, 3] + np.uint64(arena_base)


def gather_tables(tables: Sequence[TableArrays], workers: int) -> tuple[ByteArray, Int64Array, CountArray]:
    """Return (word_bytes, word_offsets, word_counts) of all tables together, ascending by bytes.

    Args:
        tables: word tables; a word may be in several.
        workers: threads.

    Raises:
        CountsError: a count passes 2⁶³ − 1.
    """
    records, buckets = _scatter(tables, workers)
    _sort_large_buckets(records, buckets.starts, workers)
    shares = _shares(buckets.starts, _SHARES_PER_WORKER * workers)
    if not all(run_in_threads(_with_room(records, buckets, shares, workers), workers)):
        raise CountsError("the count of a word passes 2**63 - 1")
    word_starts, byte_starts = offsets_from_lengths(buckets.n_words), offsets_from_lengths(buckets.n_bytes)
    word_bytes = np.empty(int(byte_starts[-1]), dtype=np.uint8)
    word_offsets = np.empty(int(word_starts[-1]) + 1, dtype=np.int64)
    word_counts = np.empty(int(word_starts[-1]), dtype=np.int64)
    word_offsets[-1] = byte_starts[-1]
    bounds = [
        np.array([a, b, word_starts[a], byte_starts[a], byte_starts[b]], dtype=np.int64) for a, b in shares
    ]
    write = [(write_words, records, buckets, b, word_bytes, word_offsets, word_counts) for b in bounds]
    run_in_threads(write, workers)
    return word_bytes, word_offsets, word_counts


def _scatter(tables: Sequence[TableArrays], workers: int) -> tuple[Records, Buckets]:
    """Put the words of all tables into buckets."""
    counts = np.zeros((len(tables), N_BUCKETS), dtype=np.int64)
    run_in_threads([(count_buckets, t.slots, t.arena, counts[i]) for i, t in enumerate(tables)], workers)
    starts = offsets_from_lengths(counts.sum(axis=0))
    places = starts[:-1] + np.cumsum(counts, axis=0) - counts
    used = [int(t.cursor[1]) for t in tables]
    arena = np.concatenate(
        [*(t.arena[:n] for t, n in zip(tables, used, strict=True)), np.zeros(PADDING, np.uint8)]
    )
    bases = np.cumsum([0, *used[:-1]])
    rows = np.empty((int(starts[-1]), 4), dtype=np.uint64)
    run_in_threads(
        [(scatter_words, t.slots, t.arena, int(bases[i]), places[i], rows) for i, t in enumerate(tables)],
        workers,
    )
    largest = int(np.diff(starts).max(initial=0)) + 1
    spare = np.empty((max(largest, LARGE * workers), 4), dtype=np.uint64)
    zeros = np.zeros(N_BUCKETS, dtype=np.int64)
    return Records(rows, spare, arena), Buckets(starts, zeros, zeros.copy())


def _sort_large_buckets(records: Records, starts: Int64Array, workers: int) -> None:
    """Sort the buckets that are too large for one thread: in pieces, then merged two by two.

    `sort_buckets` finds them in order, and passes on.
    """
    for bucket in np.flatnonzero(np.diff(starts) > LARGE).tolist():
        start, end = int(starts[bucket]), int(starts[bucket + 1])
        pieces = range(start, end, LARGE)
        run_in_threads([(sort_rows, records, a, min(a + LARGE, end), a - start) for a in pieces], workers)
        width = LARGE
        while width < end - start:
            pairs = range(start, end - width, 2 * width)
            run_in_threads(
                [(merge_rows, records, a, a + width, min(a + 2 * width, end), a - start) for a in pairs],
                workers,
            )
            width *= 2


def _with_room(
    records: Records, buckets: Buckets, shares: Sequence[tuple[int, int]], workers: int
) -> list[tuple[Callable[..., bool], int, int]]:
    """Return calls that sort a share of the buckets each, in the part of `spare` that is free then.

    A large bucket is sorted already and needs no room to speak of.
    """
    rooms: SimpleQueue[int] = SimpleQueue()
    for worker in range(workers):
        rooms.put(worker * LARGE)

    def sort(first: int, last: int) -> bool:
        place = rooms.get()
        try:
            return bool(sort_buckets(records, buckets, first, last, place))
        finally:
            rooms.put(place)

    return [(sort, first, last) for first, last in shares]


def _shares(starts: Int64Array, n: int) -> list[tuple[int, int]]:
    """Return n ranges of buckets with about equally many records."""
    marks = np.arange(1, n) * int(starts[-1]) // n
    edges = [0, *np.searchsorted(starts, marks).tolist(), N_BUCKETS]
    return list(itertools.pairwise(edges))
