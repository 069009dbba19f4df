"""The kernels that decode for others: all at once, into an array of the right size.

Our own way is `decode_some` in token_rows.py, which needs no pass to measure.
"""

from __future__ import annotations

from bpenb._jit import kernel

__all__ = ["gather_token_bytes", "measure_tokens"]

# mypy: disable-error-code="no-untyped-def"


@kernel
def measure_tokens(ids, token_offsets):
    """Add up the bytes of all tokens.

    ids           : int64[n], any values
    token_offsets : int64[n_vocab + 1]; an empty range is an id without a token
    Returns       : int64, bytes; or ~i of the first ids[i] that has no token
    O(n)

    Example:
        >>> import numpy as np
        >>> int(measure_tokens(np.array([1, 0, 1]), np.array([0, 1, 3])))
        5
    """
    n_vocab = token_offsets.shape[0] - 1
    n_bytes = 0
    for i in range(ids.shape[0]):
        token = ids[i]
        if token < 0 or token >= n_vocab:
            return ~i
        n = token_offsets[token + 1] - token_offsets[token]
        if n == 0:
            return ~i
        n_bytes += n
    return n_bytes


@kernel
def gather_token_bytes(ids, token_bytes, token_offsets, out):
    """Write the bytes of every token, one after the other.

    ids           : int64[n], each below n_vocab
    token_bytes   : uint8[]
    token_offsets : int64[n_vocab + 1]
    out           : uint8[], written; exactly as long as all the tokens together
    O(n_bytes)

    Example:
        >>> import numpy as np
        >>> token_bytes, out = np.frombuffer(b"abc", np.uint8).copy(), np.zeros(5, np.uint8)
        >>> gather_token_bytes(np.array([1, 0, 1]), token_bytes, np.array([0, 1, 3]), out)
        >>> out.tobytes()
        b'bcabc'
    """
    n_out = 0
    for i in range(ids.shape[0]):
        start = token_offsets[ids[i]]
        n = token_offsets[ids[i] + 1] - start
        for k in range(n):
            out[n_out + k] = token_bytes[start + k]
        n_out += n
