"""Encoding one word, and merging words of ids, for others."""

from __future__ import annotations

import numpy as np

from bpenb._arrays import NO_TOKEN
from bpenb._jit import helper, kernel
from bpenb.encoding.merge_long import merge_long
from bpenb.encoding.merge_short import merge_short
from bpenb.encoding.pair_table import find_merge

__all__ = ["encode_word", "merge_words"]

# mypy: disable-error-code="no-untyped-def"


@helper
def merge_one(pairs, scratch, ids, start, n):
    """Merge the word ids[start : start + n] in place; returns how many ids are left."""
    if n > scratch.values.shape[0]:
        return np.int64(merge_long(pairs, scratch.nodes, scratch.heap, ids, start, n))
    for i in range(n - 1):
        scratch.values[i] = find_merge(pairs, ids[start + i], ids[start + i + 1])
    return np.int64(merge_short(pairs, scratch.values, ids, start, n))


@kernel
def encode_word(text, start, end, byte_ids, pairs, scratch, ids):
    """Encode the word text[start:end]: its bytes' ids, merged by rank.

    text       : uint8[]
    start, end : of the word
    byte_ids   : int32[256], the id of each byte, or −1
    pairs      : PairTable, of `make_pair_table`
    scratch    : EncodeScratch, of `make_scratch`, with room for the word
    ids        : int32[≥ end − start], written from the front
    Returns    : int64, how many ids; or ~i if the byte at i has no id
    O(n²) for a word of up to 32 bytes, O(n log n) for a longer one

    Example:
        >>> from bpenb.kernels import make_pair_table, make_scratch
        >>> pairs = make_pair_table(np.array([[97, 98], [256, 99]], np.int32), np.array([256, 257], np.int32))
        >>> text, ids = np.frombuffer(b"abcab", np.uint8), np.zeros(5, np.int32)
        >>> n = int(encode_word(text, 0, 5, np.arange(256, dtype=np.int32), pairs, make_scratch(5), ids))
        >>> ids[:n].tolist()
        [257, 256]
    """
    first = np.int64(start)
    n = np.int64(end) - first
    for i in range(n):
        token = byte_ids[text[first + i]]
        if token == NO_TOKEN:
            return ~(first + i)
        ids[i] = token
    return np.int64(merge_one(pairs, scratch, ids, np.int64(0), n))


@kernel
def merge_words(pairs, scratch, ids, offsets, lengths):
    """Merge words by rank, each in place, whatever their first ids stand for.

    pairs   : PairTable, of `make_pair_table`
    scratch : EncodeScratch, of `make_scratch`, with room for the longest word
    ids     : int32[], of all words one behind the other; each is left at the front of its place
    offsets : int64[n_words + 1], where each word begins
    lengths : int64[n_words], written: how many ids each has then
    O(n²) for a word of up to 32 ids, O(n log n) for a longer one
    """
    for w in range(lengths.shape[0]):
        lengths[w] = merge_one(pairs, scratch, ids, offsets[w], offsets[w + 1] - offsets[w])
