"""Tokens that merges do not make of their own bytes, for tokenizers that take a whole word before they merge.

    slots  ┌──────┬─────────┬──────┐   numbers of tokens; a word stands behind the first row of its set,
           │ 3    │ NO_TOKEN│ 0    │   or as far on as there was no room
           └──────┴─────────┴──────┘

All other tokens come out of merging anyway, so the table is small, and empty for most tokenizers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bpenb._arrays import NO_TOKEN, ByteArray, IdArray, Int64Array, offsets_from_lengths
from bpenb._jit import helper, kernel, numbers_may_wrap
from bpenb.encoding.word_cache import first_row
from bpenb.pretokenize import PADDING, word_key

__all__ = ["WholeWords", "fill_whole_words", "find_whole_word", "make_whole_words"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

LEAST_SLOTS = 4  # a set of rows


class WholeWords(NamedTuple):
    """Tokens by their bytes.

    Attributes:
        slots: int32[capacity], numbers of tokens, or NO_TOKEN; capacity is a power of two.
        token_bytes, token_offsets: uint8[], padded, and int64[n + 1], their bytes.
        ids: int32[n].
    """

    slots: IdArray
    token_bytes: ByteArray
    token_offsets: Int64Array
    ids: IdArray


@helper
def find_whole_word(whole, text, start, length, key):
    """Return the id of the token that is a word, or NO_TOKEN."""
    first, second = key
    slots, offsets = whole.slots, whole.token_offsets
    mask = np.int64(slots.shape[0]) - 1
    slot = first_row(first, second, np.int64(slots.shape[0]))
    while slots[slot] != NO_TOKEN:
        number = slots[slot]
        begin = offsets[number]
        if offsets[number + 1] - begin == length:
            i = 0
            while i < length and whole.token_bytes[begin + i] == text[start + i]:
                i += 1
            if i == length:
                return np.int64(whole.ids[number])
        slot = (slot + 1) & mask
    return np.int64(NO_TOKEN)


@kernel
def fill_whole_words(slots, token_bytes, token_offsets):
    """Insert every token into empty slots.

    slots         : int32[capacity], written; all NO_TOKEN before; capacity > 2 n, a power of two from 4 on
    token_bytes   : uint8[], padded; no token twice
    token_offsets : int64[n + 1]
    O(n)
    """
    mask = np.int64(slots.shape[0]) - 1
    for number in range(token_offsets.shape[0] - 1):
        start = token_offsets[number]
        first, second = word_key(token_bytes, start, token_offsets[number + 1] - start)
        slot = first_row(first, second, np.int64(slots.shape[0]))
        while slots[slot] != NO_TOKEN:
            slot = (slot + 1) & mask
        slots[slot] = number


def make_whole_words(tokens: Mapping[int, bytes]) -> WholeWords:
    """Return the table of some tokens, by id.

    Example:
        >>> whole = make_whole_words({300: b"xyz", 7: b"x"})
        >>> whole.slots.shape, whole.ids.tolist()
        ((8,), [300, 7])
    """
    capacity = max(LEAST_SLOTS, 1 << (2 * len(tokens)).bit_length())
    lengths = np.fromiter(map(len, tokens.values()), dtype=np.int64, count=len(tokens))
    joined = np.frombuffer(b"".join(tokens.values()) + bytes(PADDING), dtype=np.uint8).copy()
    whole = WholeWords(
        np.full(capacity, NO_TOKEN, dtype=np.int32),
        joined,
        offsets_from_lengths(lengths),
        np.fromiter(tokens, dtype=np.int32, count=len(tokens)),
    )
    if tokens:
        with numbers_may_wrap():
            fill_whole_words(whole.slots, whole.token_bytes, whole.token_offsets)
    return whole
