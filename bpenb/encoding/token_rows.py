"""Token bytes in rows of two machine words, and the kernel that decodes with them.

    row of token i, 16 bytes     t o k e n · · · · · · · · · · 5     up to 15 bytes, then how many
    an id without a token        · · · · · · · · · · · · · · · 0
    a token of more bytes        · · · · · · · · · · · · · · · 255   its bytes are in `token_bytes`

A short token is two loads and two stores, whatever its length: what it writes too much, the next one
overwrites. So `out` has room for a row behind the last byte (docs/decisions/0017-decoding.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, Int64Array, zeros_on_lines
from bpenb._intrinsics import load_u64, store_u64
from bpenb._jit import kernel

__all__ = ["ROOM_BEHIND", "ROW_BYTES", "TokenRows", "decode_some", "make_token_rows", "measure_rows"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

ROW_BYTES = 16
ROOM_BEHIND = ROW_BYTES  # bytes of `out` behind the last one that counts
SHORT = ROW_BYTES - 1  # bytes that a row holds
LONG = 255
TOP_BYTE = np.uint64(56)


class TokenRows(NamedTuple):
    """The bytes of every token, in two forms.

    rows          : uint8[16 * n_vocab], see above
    token_bytes   : uint8[]
    token_offsets : int64[n_vocab + 1]
    """

    rows: ByteArray
    token_bytes: ByteArray
    token_offsets: Int64Array


def make_token_rows(token_bytes: ByteArray, token_offsets: Int64Array) -> TokenRows:
    """Return the rows of a vocab.

    Args:
        token_bytes: uint8[], all tokens one after the other.
        token_offsets: int64[n_vocab + 1]; an empty range is an id without a token.

    Example:
        >>> made = make_token_rows(np.frombuffer(b"abc", np.uint8), np.array([0, 1, 1, 3]))
        >>> made.rows.reshape(-1, ROW_BYTES)[:, [0, 1, 15]].tolist()
        [[97, 0, 1], [0, 0, 0], [98, 99, 2]]
    """
    starts, lengths = token_offsets[:-1], np.diff(token_offsets)
    table = zeros_on_lines((lengths.shape[0], ROW_BYTES), np.uint8)
    for k in range(SHORT):
        (tokens,) = np.nonzero((lengths > k) & (lengths <= SHORT))
        table[tokens, k] = token_bytes[starts[tokens] + k]
    table[:, SHORT] = np.where(lengths <= SHORT, lengths, LONG)
    return TokenRows(
        table.reshape(-1),
        np.array(token_bytes, dtype=np.uint8, order="C"),
        np.array(token_offsets, dtype=np.int64, order="C"),
    )


@kernel
def measure_rows(ids, tokens):
    """Add up the bytes of all tokens; an id without one counts nothing.

    ids     : as in `decode_some`
    tokens  : TokenRows
    Returns : int64, bytes
    O(n)
    """
    rows, token_offsets = tokens.rows, tokens.token_offsets
    n_vocab = np.uint64(token_offsets.shape[0] - 1)
    n_bytes = np.int64(0)
    for i in range(ids.shape[0]):
        token = np.int64(ids[i])
        if np.uint64(token) < n_vocab:
            length = np.int64(rows[ROW_BYTES * token + SHORT])
            n_bytes += length if length != LONG else token_offsets[token + 1] - token_offsets[token]
    return n_bytes


@kernel
def decode_some(ids, first, tokens, out, n_written):
    """Write the bytes of the tokens from ids[first] on, as many tokens as `out` has room for.

    ids       : any integer dtype, read-only [n], any values; of uint64 only those below 2⁶³ are right
    first     : where to begin
    tokens    : TokenRows
    out       : uint8[], written; its last ROOM_BEHIND bytes are scratch
    n_written : int64[1], written: bytes of `out` that count
    Returns   : int64, where to go on, n when all is done; or ~i of the first ids[i] without a token
    O(n_bytes)
    """
    rows, token_bytes, token_offsets = tokens.rows, tokens.token_bytes, tokens.token_offsets
    n_vocab = np.uint64(token_offsets.shape[0] - 1)
    n = np.int64(ids.shape[0])
    room = np.int64(out.shape[0] - ROOM_BEHIND)
    n_out = np.int64(0)
    i = np.int64(first)
    while i < n:
        token = np.int64(ids[i])
        if np.uint64(token) >= n_vocab:  # a negative one is a large one
            i = ~i
            break
        high = load_u64(rows, ROW_BYTES * token + 8)
        length = np.int64(high >> TOP_BYTE)
        if length == LONG:
            start = token_offsets[token]
            length = token_offsets[token + 1] - start
            if n_out + length > room:
                break
            for k in range(length):
                out[n_out + k] = token_bytes[start + k]
        else:
            if length == 0:
                i = ~i
                break
            if n_out + length > room:
                break
            store_u64(out, n_out, load_u64(rows, ROW_BYTES * token))
            store_u64(out, n_out + 8, high)
        n_out += length
        i += 1
    n_written[0] = n_out
    return i
