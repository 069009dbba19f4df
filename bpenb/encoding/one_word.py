"""Encoding one word, for others."""

from __future__ import annotations

import numpy as np

from bpenb._arrays import NO_TOKEN
from bpenb._jit import kernel
from bpenb.encoding.merge_long import merge_long
from bpenb.encoding.merge_short import merge_short
from bpenb.encoding.pair_table import find_merge

__all__ = ["encode_word"]

# mypy: disable-error-code="no-untyped-def"


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
    if n > scratch.values.shape[0]:
        return np.int64(merge_long(pairs, scratch.nodes, scratch.heap, ids, np.int64(0), n))
    for i in range(n - 1):
        scratch.values[i] = find_merge(pairs, ids[i], ids[i + 1])
    return np.int64(merge_short(pairs, scratch.values, ids, np.int64(0), n))
