"""The word table: distinct words and their counts, by open addressing.

    slots   uint64[n_slots, 4], one row in half a cache line     arena   the bytes of all words
      0  key     word of ≤ 7 bytes: the bytes, with the length 1…7 in the top byte: exact
                 longer: a hash whose top byte is ≥ 8; compared byte for byte on a hit
      1  count   0: the slot is free
      2  offset  of the word in the arena
      3  length  in bytes

A slot is found by the folded key times a constant, then by linear probing; at most 5/8 are in use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array
from bpenb._intrinsics import load_u64
from bpenb._jit import helper, kernel
from bpenb.counting.order import PADDING, sort_words
from bpenb.errors import CountsError

__all__ = ["WordTable", "add_words"]

# mypy: disable-error-code="no-untyped-def"

_LOW_56 = np.uint64((1 << 56) - 1)
_TOP_SHIFT = np.uint64(56)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT_32 = np.uint64(32)
_LONG_FLAG = np.uint64(0x80 << 56)


class TableArrays(NamedTuple):
    """The arrays of a word table, and its cursor (words in use, bytes of arena in use)."""

    slots: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    arena: ByteArray
    cursor: Int64Array


@helper
def word_key(text, start, length):
    """Return the uint64 key of a word: exact for ≤ 7 bytes, else a hash with its top bit set.

    text : uint8[], padded with 8 bytes behind the word
    """
    first = load_u64(text, start)
    if length <= 7:
        kept = first & (_LOW_56 >> np.uint64(8 * (7 - length)))
        return kept | (np.uint64(length) << _TOP_SHIFT)
    h = np.uint64(length)
    i = start
    end = start + length
    while i + 8 <= end:
        h = (h ^ load_u64(text, i)) * _MULTIPLIER
        h ^= h >> _SHIFT_32
        i += 8
    h = (h ^ load_u64(text, end - 8)) * _MULTIPLIER  # the tail, overlapping what was read
    h ^= h >> _SHIFT_32
    return h | _LONG_FLAG


@helper
def slot_of_key(key, n_slots):
    """Return the first slot to look at; `n_slots` is a power of two."""
    h = (key ^ (key >> _SHIFT_32)) * _MULTIPLIER
    return np.int64(h >> _SHIFT_32) & (n_slots - 1)


@helper
def same_bytes(a, i, b, k, length):
    """Tell whether `length` > 7 bytes at a[i] and b[k] are the same; both arrays are padded."""
    end = i + length - 8
    while i < end:
        if load_u64(a, i) != load_u64(b, k):
            return False
        i += 8
        k += 8
    back = i - end
    return load_u64(a, end) == load_u64(b, k - back)


@helper
def add_word(table, text, start, length, count):
    """Add `count` to a word of length ≥ 1, which is put into the table if it is new.

    Assumes room for one more word and its bytes.
    Returns : bool, whether the count fits into an int64
    """
    slots = table.slots
    n_slots = slots.shape[0]
    key = word_key(text, start, length)
    s = slot_of_key(key, n_slots)
    while slots[s, 1] != np.uint64(0):
        if slots[s, 0] == key and (
            length <= 7
            or (
                np.int64(slots[s, 3]) == length
                and same_bytes(text, start, table.arena, np.int64(slots[s, 2]), length)
            )
        ):
            total = np.int64(slots[s, 1]) + count
            slots[s, 1] = np.uint64(total)
            return total > 0
        s = (s + 1) & (n_slots - 1)
    offset = table.cursor[1]
    for i in range(length):
        table.arena[offset + i] = text[start + i]
    slots[s, 0] = key
    slots[s, 1] = np.uint64(count)
    slots[s, 2] = np.uint64(offset)
    slots[s, 3] = np.uint64(length)
    table.cursor[0] += 1
    table.cursor[1] = offset + length
    return True


@kernel
def add_words(table, text, offsets, counts, first):
    """Add words[first:] until the table has no room for one more.

    table   : TableArrays
    text    : uint8[], padded with 8 bytes
    offsets : int64[n+1], of the words in `text`; none is empty
    counts  : int64[n]
    Returns : int64, the word to go on with (n: all are in), or −1 − w if the count of w overflows
    O(bytes of the words)
    """
    most = table.slots.shape[0] // 8 * 5
    for w in range(first, counts.shape[0]):
        length = offsets[w + 1] - offsets[w]
        if table.cursor[0] >= most or table.cursor[1] + length + PADDING > table.arena.shape[0]:
            return w
        if not add_word(table, text, offsets[w], length, counts[w]):
            return -1 - w
    return counts.shape[0]


@kernel
def move_slots(old_slots, new_slots):
    """Put every used slot of a table into a larger, empty one. O(slots)."""
    n_slots = new_slots.shape[0]
    for i in range(old_slots.shape[0]):
        if old_slots[i, 1] != np.uint64(0):
            s = slot_of_key(old_slots[i, 0], n_slots)
            while new_slots[s, 1] != np.uint64(0):
                s = (s + 1) & (n_slots - 1)
            for column in range(4):
                new_slots[s, column] = old_slots[i, column]


class WordTable:
    """Distinct words with int64 counts; grows as words come in, and knows them in one order.

    Example:
        >>> table = WordTable()
        >>> table.add(np.frombuffer(b"hithe", dtype=np.uint8), np.array([0, 2, 5]), np.array([4, 1]))
        >>> table.add(np.frombuffer(b"hi", dtype=np.uint8), np.array([0, 2]), np.array([3]))
        >>> word_bytes, word_offsets, word_counts = table.to_arrays()
        >>> word_bytes.tobytes(), word_offsets.tolist(), word_counts.tolist()
        (b'hithe', [0, 2, 5], [7, 1])
    """

    def __init__(self, n_slots: int = 1 << 12, arena_bytes: int = 1 << 15) -> None:
        self.arrays = TableArrays(
            np.zeros((n_slots, 4), dtype=np.uint64),
            np.zeros(arena_bytes, dtype=np.uint8),
            np.zeros(2, dtype=np.int64),
        )

    def __len__(self) -> int:
        return int(self.arrays.cursor[0])

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self.arrays.slots.nbytes + self.arrays.arena.nbytes

    def add(self, word_bytes: ByteArray, word_offsets: Int64Array, word_counts: CountArray) -> None:
        """Add words with their counts.

        Args:
            word_bytes: uint8[n_bytes]; word_offsets: int64[n+1]; word_counts: int64[n], each ≥ 1.

        Raises:
            CountsError: a count passes 2⁶³ − 1.
        """
        text = np.concatenate([word_bytes, np.zeros(PADDING, dtype=np.uint8)])
        offsets = np.ascontiguousarray(word_offsets, dtype=np.int64)
        counts = np.ascontiguousarray(word_counts, dtype=np.int64)
        done = 0
        while done < counts.shape[0]:
            with np.errstate(over="ignore"):  # hashes wrap; only plain Python says so
                done = int(add_words(self.arrays, text, offsets, counts, done))
            if done < 0:
                word = text[offsets[-1 - done] : offsets[-done]].tobytes()
                raise CountsError(f"the count of word {word[:40]!r} passes 2**63 - 1")
            if done < counts.shape[0]:
                self.reserve(int(offsets[done + 1] - offsets[done]))

    def reserve(self, length: int) -> None:
        """Make room for one more word of `length` bytes at least."""
        slots, arena, cursor = self.arrays
        if cursor[0] >= slots.shape[0] // 8 * 5:
            larger = np.zeros((2 * slots.shape[0], 4), dtype=np.uint64)
            with np.errstate(over="ignore"):
                move_slots(slots, larger)
            slots = larger
        if cursor[1] + length + PADDING > arena.shape[0]:
            larger_arena = np.zeros(arena.shape[0] + max(arena.shape[0], length + PADDING), dtype=np.uint8)
            larger_arena[: arena.shape[0]] = arena
            arena = larger_arena
        self.arrays = TableArrays(slots, arena, cursor)

    def to_arrays(self) -> tuple[ByteArray, Int64Array, CountArray]:
        """Return (word_bytes, word_offsets, word_counts), words ascending by their bytes."""
        slots, arena, cursor = self.arrays
        used = slots[slots[:, 1] != 0]
        return sort_words(arena, used[:, 2].astype(np.int64), used[:, 3].astype(np.int64), used[:, 1].astype(np.int64))
