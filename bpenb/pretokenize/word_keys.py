"""Two numbers that stand for a word, so that most words are compared by comparing two numbers.

≤ 15 bytes   the bytes themselves, with the length in the top byte of the second number: exact
longer       a 64-bit hash, and LONG | length: on a hit the bytes must be compared
"""

from __future__ import annotations

import numpy as np

from bpenb._intrinsics import load_u64
from bpenb._jit import helper

__all__ = ["LENGTH_MASK", "LONG", "MULTIPLIER", "SECOND_MULTIPLIER", "SHORT", "same_bytes", "word_key"]

# mypy: disable-error-code="no-untyped-def"

SHORT = 15  # bytes of the longest word that is its own key
LONG = np.uint64(1 << 63)  # in the second number of a key
LENGTH_MASK = np.uint64((1 << 56) - 1)  # of a longer word
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SECOND_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_LENGTH_SHIFT = np.uint64(56)
_SHIFT_32 = np.uint64(32)
# Which bits of the first and second 8 bytes belong to a word, by its length.
_FIRST_MASK = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(SHORT + 1)], dtype=np.uint64)
_SECOND_MASK = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(SHORT + 1)], dtype=np.uint64)


@helper
def word_key(text, start, length):
    """Return the two numbers that stand for a word: exact for ≤ 15 bytes, else hash and length.

    text    : uint8[], padded with 16 bytes behind the word
    start   : int64, of the word
    length  : int64, its bytes, at least 1
    Returns : (uint64, uint64)
    O(length)

    Example:
        >>> import numba
        >>> @numba.njit
        ... def are_equal(text, a, b, length):
        ...     return word_key(text, a, length) == word_key(text, b, length)
        >>> text = np.frombuffer(b"low low " + bytes(16), np.uint8).copy()
        >>> are_equal(text, 0, 4, 3), are_equal(text, 0, 3, 3)
        (True, False)
    """
    if length <= SHORT:
        row = np.uint64(length)  # not signed: a negative index would be looked for
        first = load_u64(text, start) & _FIRST_MASK[row]
        second = load_u64(text, start + 8) & _SECOND_MASK[row]
        return first, second | (np.uint64(length) << _LENGTH_SHIFT)
    h = np.uint64(length)
    i = start
    end = start + length
    while i + 8 <= end:
        h = (h ^ load_u64(text, i)) * MULTIPLIER
        h ^= h >> _SHIFT_32
        i += 8
    h = (h ^ load_u64(text, end - 8)) * MULTIPLIER  # the tail, overlapping what was read
    return h ^ (h >> _SHIFT_32), LONG | np.uint64(length)


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
