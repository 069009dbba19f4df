"""The word table: distinct words and their counts, by open addressing.

    slots   uint64[n_slots, 4], one row in half a cache line
      0, 1  key     a word of ≤ 15 bytes: the bytes themselves, with the length in the top byte of
                    the second number: exact, nothing else is looked at
                    longer: a 64-bit hash, and LONG | length; the bytes are compared on a hit
      2     count   0: the slot is free
      3     offset  of a longer word in the arena
    arena   the words longer than 15 bytes, each behind its length

A slot is found by the mixed key, then by linear probing; at most 5/8 are in use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array, zeros_on_lines
from bpenb._intrinsics import store_u64
from bpenb._jit import helper, kernel, numbers_may_wrap
from bpenb.counting.gather import gather_tables
from bpenb.counting.order import HEADER, PADDING
from bpenb.errors import CountsError
from bpenb.pretokenize import MULTIPLIER, SECOND_MULTIPLIER, SHORT, same_bytes, word_key

__all__ = ["TableArrays", "WordTable", "add_keyed_word", "add_short_word", "first_slot"]

# mypy: disable-error-code="no-untyped-def"

_QUICK_GROWTH = 1 << 18
_SHIFT_32 = np.uint64(32)
_ZERO = np.uint64(0)


class TableArrays(NamedTuple):
    """The arrays of a word table, and its cursor (words in use, bytes of arena in use)."""

    slots: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    arena: ByteArray
    cursor: Int64Array


@helper
def first_slot(first, second, n_slots):
    """Return the slot to look at first; `n_slots` is a power of two."""
    h = (first ^ (second * SECOND_MULTIPLIER)) * MULTIPLIER
    return np.int64((h ^ (h >> _SHIFT_32)) >> np.uint64(7)) & (n_slots - 1)


@helper
def add_keyed_word(table, text, start, length, count, key):
    """Add `count` to a word, which is put into the table if it is new.

    table   : TableArrays, with room for one more word
    key     : what `word_key` returns for text[start : start + length], length ≥ 1
    Returns : bool, whether the count fits into an int64
    """
    slots = table.slots
    first, second = key
    s = first_slot(first, second, slots.shape[0])
    while slots[s, 2] != _ZERO:
        stored = np.int64(slots[s, 3]) + HEADER
        alike = slots[s, 0] == first and slots[s, 1] == second
        if alike and (length <= SHORT or same_bytes(text, start, table.arena, stored, length)):
            slots[s, 2] += np.uint64(count)  # signed, LLVM takes it for granted that a sum does not overflow
            return np.int64(slots[s, 2]) > 0
        s = (s + 1) & (slots.shape[0] - 1)
    slots[s, 0] = first
    slots[s, 1] = second
    slots[s, 2] = np.uint64(count)
    table.cursor[0] += 1
    if length > SHORT:
        offset = table.cursor[1]
        store_u64(table.arena, offset, np.uint64(length))
        for i in range(length):
            table.arena[offset + HEADER + i] = text[start + i]
        slots[s, 3] = np.uint64(offset)
        table.cursor[1] = offset + HEADER + length
    return True


@helper
def add_short_word(table, first, second, count):
    """Add `count` to the word of ≤ 15 bytes whose key this is, as `add_keyed_word` does."""
    slots = table.slots
    s = first_slot(first, second, slots.shape[0])
    while slots[s, 2] != _ZERO:
        if slots[s, 0] == first and slots[s, 1] == second:
            slots[s, 2] += count
            return np.int64(slots[s, 2]) > 0
        s = (s + 1) & (slots.shape[0] - 1)
    slots[s, 0] = first
    slots[s, 1] = second
    slots[s, 2] = count
    table.cursor[0] += 1
    return True


@kernel
def add_words(table, text, offsets, counts, first):
    """Add words[first:] until the table has no room for one more.

    table   : TableArrays
    text    : uint8[], padded with PADDING bytes
    offsets : int64[n+1], of the words in `text`; none is empty
    counts  : int64[n]
    Returns : int64, the word to go on with (n: all are in), or −1 − w if the count of w overflows
    O(bytes of the words)
    """
    most = table.slots.shape[0] // 8 * 5
    for w in range(first, counts.shape[0]):
        length = offsets[w + 1] - offsets[w]
        if table.cursor[0] >= most or table.cursor[1] + HEADER + length + PADDING > table.arena.shape[0]:
            return w
        key = word_key(text, offsets[w], length)
        if not add_keyed_word(table, text, offsets[w], length, counts[w], key):
            return -1 - w
    return counts.shape[0]


@kernel
def move_slots(old_slots, new_slots):
    """Put every used slot of a table into a larger, empty one. O(slots)."""
    n_slots = new_slots.shape[0]
    for i in range(old_slots.shape[0]):
        if old_slots[i, 2] != _ZERO:
            s = first_slot(old_slots[i, 0], old_slots[i, 1], n_slots)
            while new_slots[s, 2] != _ZERO:
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
            zeros_on_lines((n_slots, 4), np.uint64),
            np.zeros(arena_bytes, dtype=np.uint8),
            zeros_on_lines((2,), np.int64),
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
            with numbers_may_wrap():
                done = int(add_words(self.arrays, text, offsets, counts, done))
            if done < 0:
                word = text[offsets[-1 - done] : offsets[-done]].tobytes()
                raise CountsError(f"the count of word {word[:40]!r} passes 2**63 - 1")
            if done < counts.shape[0]:
                self.reserve(1, int(offsets[done + 1] - offsets[done]))

    def _sizes_with(self, n_words: int, n_bytes: int) -> tuple[int, int]:
        """Return the slots and bytes of arena that `reserve` would leave."""
        slots, arena, cursor = self.arrays
        n_bytes += HEADER * n_words
        n_slots, arena_bytes = slots.shape[0], arena.shape[0]
        while cursor[0] + n_words > n_slots // 8 * 5:
            n_slots *= 4 if n_slots < _QUICK_GROWTH else 2  # moving words costs as much as adding them
        if cursor[1] + n_bytes + PADDING > arena_bytes:
            arena_bytes += max(arena_bytes, n_bytes + PADDING)
        return n_slots, arena_bytes

    def nbytes_with(self, n_words: int, n_bytes: int) -> int:
        """Return the memory in bytes that the table would hold after `reserve(n_words, n_bytes)`."""
        n_slots, arena_bytes = self._sizes_with(n_words, n_bytes)
        return 32 * n_slots + arena_bytes

    def reserve(self, n_words: int, n_bytes: int) -> None:
        """Make room for `n_words` more words with `n_bytes` bytes together."""
        slots, arena, cursor = self.arrays
        n_slots, arena_bytes = self._sizes_with(n_words, n_bytes)
        if n_slots > slots.shape[0]:
            larger = zeros_on_lines((n_slots, 4), np.uint64)
            with numbers_may_wrap():
                move_slots(slots, larger)
            slots = larger
        if arena_bytes > arena.shape[0]:
            larger_arena = np.zeros(arena_bytes, dtype=np.uint8)
            larger_arena[: cursor[1]] = arena[: cursor[1]]
            arena = larger_arena
        self.arrays = TableArrays(slots, arena, cursor)

    def clear(self, *, release: bool = False) -> None:
        """Take all words out; the memory is kept for others, or released but for a little."""
        if release:
            self.arrays = WordTable().arrays
        else:
            self.arrays.slots.fill(0)
            self.arrays.cursor.fill(0)

    def to_arrays(self) -> tuple[ByteArray, Int64Array, CountArray]:
        """Return (word_bytes, word_offsets, word_counts), words ascending by their bytes."""
        return gather_tables([self.arrays], 1)
