"""The word cache: words met before, with their ids ready to be written.

    slots   uint64[n_rows, 4], a row in half a cache line; four rows are a set
      0, 1  key    of the word (bpenb/pretokenize/word_keys.py); 0 in column 1: the row is free
      2, 3  ids    in place: their bytes, those of column 3 above its low byte, which is their number
                   in the arena: where they are; their number << 8
    arena   a word longer than 15 bytes, filled up to a multiple of eight, and its ids; or the ids of a
            shorter word that are too many for a row

A word may stand in any row of its set. A new one takes the first free row, else the third or fourth by
turns: half of a full cache keeps what came first, which are the frequent words. The cache grows as
words come in, up to MAX_ROWS and MAX_ARENA; when its arena is full then, it is emptied.
docs/decisions/0018-word-cache.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, Int64Array, zeros_on_lines
from bpenb._intrinsics import load_u64, store_u64
from bpenb._jit import helper, kernel, numbers_may_wrap
from bpenb.pretokenize import LENGTH_MASK, LONG, MULTIPLIER, SECOND_MULTIPLIER, same_bytes

__all__ = ["COUNT", "COUNT_BITS", "WordCache", "find_row", "first_row", "grow_word_cache", "has_room",
           "keep_word", "make_word_cache", "write_ids"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

N_WAYS = 4  # rows of a set
LEAST_ROWS, MAX_ROWS = 1 << 14, 1 << 20  # of 32 bytes
LEAST_ARENA, MAX_ARENA = 1 << 16, 1 << 24
GROWTH = 4
LONGEST_KEPT = 256  # bytes of a word
IN_PLACE = 15  # bytes of ids that a row holds
BEHIND = 16  # bytes behind the arena, to read and write eight at a time
ARENA_USED, WORDS, TURNS, EMPTIED = range(4)  # of the cursor

COUNT_BITS = np.uint64(8)
COUNT = np.uint64(255)
_ZERO = np.uint64(0)
_SHIFT_32 = np.uint64(32)
_HASH_SHIFT = np.uint64(7)


class WordCache(NamedTuple):
    """The cache of one thread.

    Attributes:
        slots: uint64[n_rows, 4], n_rows a power of two.
        arena: uint8[].
        cursor: int64[4], bytes of the arena in use, words held, rows taken by turns, times emptied.
    """

    slots: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    arena: ByteArray
    cursor: Int64Array


def make_word_cache(n_rows: int = LEAST_ROWS, arena_bytes: int = LEAST_ARENA) -> WordCache:
    """Return an empty cache."""
    return WordCache(
        zeros_on_lines((n_rows, 4), np.uint64),
        np.zeros(arena_bytes, dtype=np.uint8),
        zeros_on_lines((4,), np.int64),
    )


def grow_word_cache(cache: WordCache, max_rows: int = MAX_ROWS, max_arena: int = MAX_ARENA) -> WordCache:
    """Return the cache with room for more, or emptied if it has grown as far as it may."""
    slots, arena, cursor = cache
    n_rows, arena_bytes = slots.shape[0], arena.shape[0]
    if 2 * cursor[WORDS] >= n_rows < max_rows:
        larger = zeros_on_lines((min(GROWTH * n_rows, max_rows), 4), np.uint64)
        with numbers_may_wrap():
            cursor[WORDS] = move_rows(slots, larger)
        slots = larger
    elif arena_bytes < max_arena:
        larger_arena = np.zeros(min(GROWTH * arena_bytes, max_arena), dtype=np.uint8)
        larger_arena[: cursor[ARENA_USED]] = arena[: cursor[ARENA_USED]]
        arena = larger_arena
    else:
        slots[:, 1] = 0
        cursor[ARENA_USED] = cursor[WORDS] = 0
        cursor[EMPTIED] += 1
    return WordCache(slots, arena, cursor)


@helper
def first_row(first, second, n_rows):
    """Return the first row of a word's set."""
    h = (first ^ (second * SECOND_MULTIPLIER)) * MULTIPLIER
    return (np.int64((h ^ (h >> _SHIFT_32)) >> _HASH_SHIFT) & (n_rows // N_WAYS - 1)) * N_WAYS


@helper
def find_row(cache, text, start, length, key):
    """Return the row of a word, or −1."""
    first, second = key
    row = first_row(first, second, np.int64(cache.slots.shape[0]))
    for r in range(row, row + N_WAYS):
        if cache.slots[r, 0] == first and cache.slots[r, 1] == second:
            place = np.int64(cache.slots[r, 2])
            if not second & LONG or same_bytes(text, start, cache.arena, place, length):
                return r
    return np.int64(-1)


@helper
def write_ids(cache, row, out, at, width):
    """Write the ids of a row; returns the byte of `out` behind them.

    out, at : uint8[], with 16 bytes of room behind the ids; where to write
    width   : 1 for ids of two bytes, 2 for four: what a number of ids is shifted by
    """
    n = cache.slots[row, 3]
    if n & COUNT:
        store_u64(out, at, cache.slots[row, 2])
        store_u64(out, at + 8, n >> COUNT_BITS)
        return at + (np.int64(n & COUNT) << width)
    place = np.int64(cache.slots[row, 2])
    second = cache.slots[row, 1]
    if second & LONG:
        place += _whole_eights(np.int64(second & LENGTH_MASK))
    n_bytes = np.int64(n >> COUNT_BITS) << width
    _copy_eights(cache.arena, place, out, at, n_bytes)
    return at + n_bytes


@helper
def has_room(cache, max_rows):
    """Tell whether one more word can be kept, or the cache should grow first."""
    n_rows = cache.slots.shape[0]
    fits = cache.cursor[ARENA_USED] + 6 * LONGEST_KEPT <= cache.arena.shape[0]
    return fits and (2 * cache.cursor[WORDS] < n_rows or n_rows >= max_rows)


@helper
def keep_word(cache, text, start, key, out, at, n_ids, width):
    """Put a word that is not there into the cache, which has room, unless it is a very long one.

    text, start : where the word begins
    key         : of the word
    out, at     : uint8[], where its ids begin
    n_ids       : int64, how many there are
    width       : as in `write_ids`
    """
    first, second = key
    length = np.int64(second & LENGTH_MASK) if second & LONG else np.int64(0)
    if length > LONGEST_KEPT:
        return
    row = _free_row(cache, first_row(first, second, np.int64(cache.slots.shape[0])))
    n_bytes = n_ids << width
    if n_bytes <= IN_PLACE and length == 0:
        cache.slots[row, 2] = load_u64(out, at)
        cache.slots[row, 3] = load_u64(out, at + 8) << COUNT_BITS | np.uint64(n_ids)
    else:
        place = cache.cursor[ARENA_USED]
        cache.slots[row, 2] = np.uint64(place)
        cache.slots[row, 3] = np.uint64(n_ids) << COUNT_BITS
        _copy_eights(text, start, cache.arena, place, length)
        place += _whole_eights(length)
        _copy_eights(out, at, cache.arena, place, n_bytes)
        cache.cursor[ARENA_USED] = place + _whole_eights(n_bytes)
    cache.slots[row, 0] = first
    cache.slots[row, 1] = second


@helper
def _free_row(cache, row):
    """Return the row of a set that a new word takes."""
    for r in range(row, row + N_WAYS):
        if cache.slots[r, 1] == _ZERO:
            cache.cursor[WORDS] += 1
            return r
    cache.cursor[TURNS] += 1
    return row + 2 + (cache.cursor[TURNS] & 1)


@helper
def _whole_eights(n_bytes):
    return (n_bytes + 7) & ~np.int64(7)


@helper
def _copy_eights(source, i, target, k, n_bytes):
    """Copy bytes, eight at a time: up to seven more are read and written."""
    for step in range(0, n_bytes, 8):
        store_u64(target, k + step, load_u64(source, i + step))


@kernel
def move_rows(old_slots, new_slots):
    """Put every used row of a cache into a larger, empty one. Returns how many are there. O(rows)."""
    n_words = np.int64(0)
    for i in range(old_slots.shape[0]):
        if old_slots[i, 1] != _ZERO:
            row = first_row(old_slots[i, 0], old_slots[i, 1], np.int64(new_slots.shape[0]))
            for r in range(row, row + N_WAYS):
                if new_slots[r, 1] == _ZERO:
                    for column in range(4):
                        new_slots[r, column] = old_slots[i, column]
                    n_words += 1
                    break
    return n_words
