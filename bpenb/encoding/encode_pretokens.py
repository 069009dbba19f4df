"""The kernel that turns pretokens into token ids, and the scratch that it works in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import NO_TOKEN, Int64Array
from bpenb._jit import kernel
from bpenb.encoding.merge_long import NODE_FIELDS, merge_long
from bpenb.encoding.merge_short import SHORT_WORD, merge_short

__all__ = ["EncodeScratch", "encode_pretokens", "make_scratch"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"


class EncodeScratch(NamedTuple):
    """Room to merge one pretoken in; its sizes decide which way a pretoken goes.

    Attributes:
        values: int64[short_word]; pretokens up to that many bytes are merged by scanning.
        nodes: int64[longest, 4], for the longer ones.
        heap: int64[2 * longest], for the longer ones.
    """

    values: Int64Array
    nodes: Int64Array
    heap: Int64Array


def make_scratch(longest: int, short_word: int = SHORT_WORD) -> EncodeScratch:
    """Return scratch for pretokens of at most `longest` bytes: 48 bytes per byte of a long one."""
    n = longest if longest > short_word else 0
    return EncodeScratch(
        np.empty(short_word, dtype=np.int64),
        np.empty((n, NODE_FIELDS), dtype=np.int64),
        np.empty(2 * n, dtype=np.int64),
    )


@kernel
def encode_pretokens(text, ends, special_ids, byte_ids, pairs, scratch, out):
    """Encode consecutive pretokens.

    text        : uint8[n_bytes], read-only
    ends        : int64[n], where each pretoken ends in `text`; the first starts at 0
    special_ids : int32[n], the id of a pretoken that is a special token, else NO_TOKEN
    byte_ids    : int32[256], the id of each single byte, or NO_TOKEN
    pairs       : PairTable
    scratch     : EncodeScratch, with room for the longest pretoken
    out         : int32[>= n_bytes], written
    Returns     : int64, ids written; or ~position of a byte that has no id
    O(n_bytes) for short pretokens, O(m log m) for one of m bytes
    """
    n_out = np.int64(0)  # a literal 0 would be another type: everything called would be compiled twice
    position = np.int64(0)
    for w in range(ends.shape[0]):
        end = ends[w]
        if special_ids[w] != NO_TOKEN:
            out[n_out] = special_ids[w]
            n_out += 1
            position = end
            continue
        n = end - position
        for i in range(n):
            token = byte_ids[text[position + i]]
            if token == NO_TOKEN:
                return ~(position + i)
            out[n_out + i] = token
        if n <= scratch.values.shape[0]:
            n_out += merge_short(pairs.slots, scratch.values, out, n_out, n)
        else:
            n_out += merge_long(pairs.slots, scratch.nodes, scratch.heap, out, n_out, n)
        position = end
    return n_out
