"""The first pairs, and the inverted index over them: count → lay out → fill, in parallel by ranges of rows.

Every thread counts the pairs of its rows in a table of its own; the tables are put together, every
pair gets a block of postings with a stretch for each thread, and the threads fill their stretches.
So postings ascend, and nothing depends on how many threads there were.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bpenb._arrays import CountArray, IdArray, Int64Array, offsets_from_lengths
from bpenb._jit import helper, kernel
from bpenb._workers import run_in_threads
from bpenb.training.rows import HAS_NEXT, LENGTH_MASK, UNITS_BEFORE, first_behind
from bpenb.training.state import WordStore

__all__ = [
    "FirstPairs",
    "PairTable",
    "count_pairs",
    "distinct_pairs",
    "fill_index",
    "find_first_pairs",
    "find_slot",
    "make_table",
    "move_pairs",
]

# mypy: disable-error-code="no-untyped-def"

_ROWS_PER_THREAD = 1 << 14  # below it, one thread is as quick
_FIRST_SLOTS = 1 << 14
_OF_LEFT = np.uint64(0x9E3779B1)
_OF_RIGHT = np.uint64(0x85EBCA77)
_SHIFT = np.uint64(29)
_DROPPED = np.uint64(3)
_EMPTY = np.int64(-1)


class PairTable(NamedTuple):
    """The pairs of a range of rows, by open addressing on the key; at most 5/8 of the slots are in use."""

    keys: Int64Array  # int64[n_slots], left << 32 | right, or −1
    counts: CountArray
    n_rows: IdArray  # rows that hold the pair
    last_row: IdArray  # that was noted for it
    n_used: Int64Array  # int64[1]


class FirstPairs(NamedTuple):
    """The pairs that a training starts with, ascending by key, and their postings.

    Attributes:
        keys, counts: int64[n].
        posting_offsets: int64[n + 1].
        posting_rows: int32[], where each row is that holds the pair; ascending within a pair.
    """

    keys: Int64Array
    counts: CountArray
    posting_offsets: Int64Array
    posting_rows: IdArray


@helper
def find_slot(keys, key):
    """Return the slot of a pair, or the free one where it belongs.

    keys    : int64[n_slots], a power of two, not all in use; left << 32 | right, or −1 where free
    key     : int64, the pair
    Returns : int64
    O(1)

    Example:
        >>> import numba
        >>> @numba.njit
        ... def count_of(keys, counts, left, right):
        ...     key = np.int64(left) << 32 | np.int64(right)
        ...     s = find_slot(keys, key)
        ...     return counts[s] if keys[s] == key else 0
        >>> count_of(np.array([-1, 97 << 32 | 98]), np.array([0, 5]), 97, 98)
        5
    """
    mask = np.int64(keys.shape[0] - 1)
    left, right = np.uint64(key >> 32), np.uint64(key & 0xFFFFFFFF)
    h = left * _OF_LEFT ^ right * _OF_RIGHT  # 32 by 32 bits: no product overflows
    s = np.int64((h ^ h >> _SHIFT) >> _DROPPED) & mask
    while keys[s] != key and keys[s] != _EMPTY:
        s = (s + 1) & mask
    return s


@helper
def note_pair(table, left, right, r, count):
    """Count one adjacency in row r."""
    key = np.int64(left) << 32 | np.int64(right)
    s = find_slot(table.keys, key)
    if table.keys[s] == _EMPTY:
        table.keys[s] = key
        table.n_used[0] += 1
    table.counts[s] += count
    if table.last_row[s] != r:
        table.last_row[s] = r
        table.n_rows[s] += 1


@kernel
def count_pairs(words, first, last, table):
    """Count every adjacent position of rows first … last − 1, weighted by the word's count.

    words   : WordStore
    table   : PairTable
    Returns : int64, the row to go on with when the table is larger; `last` if all are counted
    O(n_tokens)
    """
    rows = words.rows
    for k in range(first, last):
        r = np.int64(words.places[k])
        head = np.int64(rows[2 * r + 2])
        start = 2 * r + UNITS_BEFORE
        length = head & LENGTH_MASK
        if table.n_used[0] + length > table.keys.shape[0] // 8 * 5:
            return np.int64(k)
        for i in range(start, start + length - 1):
            note_pair(table, rows[i], rows[i + 1], r, words.counts[r])
        if head & HAS_NEXT and length > 0:
            behind = first_behind(rows, r)
            if behind >= 0:
                note_pair(table, np.int64(rows[start + length - 1]), behind, r, words.counts[r])
    return np.int64(last)


@kernel
def move_pairs(table, larger):
    """Put every pair of a table into a larger, empty one. O(slots)."""
    for s in range(table.keys.shape[0]):
        if table.keys[s] != _EMPTY:
            place = find_slot(larger.keys, table.keys[s])
            larger.keys[place] = table.keys[s]
            larger.counts[place] = table.counts[s]
            larger.n_rows[place] = table.n_rows[s]
            larger.last_row[place] = table.last_row[s]
    larger.n_used[0] = table.n_used[0]


@helper
def add_posting(keys, next_places, left, right, r, posting_rows):
    """Write row r behind the postings of a pair, unless it is there, or the pair has none."""
    s = find_slot(keys, np.int64(left) << 32 | np.int64(right))
    place = next_places[s, 0]
    if place >= 0 and next_places[s, 1] != r:
        next_places[s, 1] = r
        posting_rows[place] = r
        next_places[s, 0] = place + 1


@kernel
def fill_index(words, first, last, keys, next_places, posting_rows):
    """Fill the inverted index with rows first … last − 1.

    words        : WordStore
    keys         : int64[n_slots], of a PairTable that has counted these rows
    next_places  : int64[n_slots, 2], for each slot where its next posting goes (−1: the pair has none)
                   and the row noted last; advanced
    posting_rows : int32[], written
    O(n_tokens)
    """
    rows = words.rows
    for k in range(first, last):
        r = np.int64(words.places[k])
        head = np.int64(rows[2 * r + 2])
        start = 2 * r + UNITS_BEFORE
        length = head & LENGTH_MASK
        for i in range(start, start + length - 1):
            add_posting(keys, next_places, rows[i], rows[i + 1], r, posting_rows)
        if head & HAS_NEXT and length > 0:
            behind = first_behind(rows, r)
            if behind >= 0:
                add_posting(keys, next_places, np.int64(rows[start + length - 1]), behind, r, posting_rows)


def make_table(n_slots: int) -> PairTable:
    """Return an empty table; `n_slots` is a power of two."""
    return PairTable(
        np.full(n_slots, _EMPTY, dtype=np.int64),
        np.zeros(n_slots, dtype=np.int64),
        np.zeros(n_slots, dtype=np.int32),
        np.full(n_slots, -1, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


def _count_range(words: WordStore, first: int, last: int) -> PairTable:
    table = make_table(_FIRST_SLOTS)
    while True:
        first = int(count_pairs(words, first, last, table))
        if first == last:
            return table
        larger = make_table(4 * table.keys.shape[0])
        move_pairs(table, larger)
        table = larger


def _fill_range(
    words: WordStore, first: int, last: int, table: PairTable, places: Int64Array, rows: IdArray
) -> None:
    next_places = np.full((table.keys.shape[0], 2), -1, dtype=np.int64)
    next_places[table.keys != _EMPTY, 0] = places
    fill_index(words, first, last, table.keys, next_places, rows)


def distinct_pairs(words: WordStore) -> tuple[Int64Array, CountArray]:
    """Return the pairs of all rows, int64[n], ascending, and their counts, int64[n]."""
    table = _count_range(words, 0, words.places.shape[0])
    used = table.keys != _EMPTY
    ascending = np.argsort(table.keys[used])
    return table.keys[used][ascending], table.counts[used][ascending]


def find_first_pairs(
    words: WordStore, workers: int, is_kept: Callable[[Int64Array, CountArray], Any]
) -> FirstPairs:
    """Count the pairs of all rows, and list the rows that hold each.

    Args:
        words: rows of tokens.
        workers: threads.
        is_kept: takes keys and counts, int64[n]; tells which of the pairs are wanted (bool[n]).
    """
    n_rows = words.places.shape[0]
    n_parts = max(1, min(workers, n_rows // _ROWS_PER_THREAD))
    edges = [n_rows * part // n_parts for part in range(n_parts + 1)]
    ranges = list(itertools.pairwise(edges))
    tables = run_in_threads([(_count_range, words, *part) for part in ranges], n_parts)
    used = [table.keys != _EMPTY for table in tables]
    all_keys = np.concatenate([table.keys[some] for table, some in zip(tables, used, strict=True)])
    keys, pair_of = np.unique(all_keys, return_inverse=True)
    pairs_of = np.split(pair_of, np.cumsum([table.n_used[0] for table in tables])[:-1])
    counts = np.zeros(keys.shape[0], dtype=np.int64)
    n_holding = np.zeros((n_parts, keys.shape[0]), dtype=np.int64)  # rows, by thread and pair
    for part, (table, some) in enumerate(zip(tables, used, strict=True)):
        counts[pairs_of[part]] += table.counts[some]
        n_holding[part, pairs_of[part]] = table.n_rows[some]
    kept = is_kept(keys, counts)
    n_holding[:, ~kept] = 0
    offsets = offsets_from_lengths(n_holding.sum(axis=0))
    places = np.where(kept, offsets[:-1] + np.cumsum(n_holding, axis=0) - n_holding, -1)
    posting_rows = np.empty(int(offsets[-1]), dtype=np.int32)
    run_in_threads(
        [
            (_fill_range, words, *ranges[part], tables[part], places[part][pairs_of[part]], posting_rows)
            for part in range(n_parts)
        ],
        n_parts,
    )
    return FirstPairs(keys[kept], counts[kept], np.append(offsets[:-1][kept], offsets[-1]), posting_rows)
