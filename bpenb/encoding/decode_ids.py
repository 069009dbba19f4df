"""From token ids back to bytes, at the speed of arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, Int64Array
from bpenb._jit import kernel
from bpenb.errors import UnknownTokenError

__all__ = ["as_id_array", "check_id", "decode_to_bytes", "gather_token_bytes", "measure_tokens"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"


@kernel
def measure_tokens(ids, token_offsets):
    """Add up the bytes of all tokens.

    ids           : int64[n], any values
    token_offsets : int64[n_vocab + 1]; an empty range is an id without a token
    Returns       : int64, bytes; or ~i of the first ids[i] that has no token
    O(n)

    Example:
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


def _unknown(token_id: int, n_vocab: int) -> UnknownTokenError:
    rule = f"ids go from 0 to {n_vocab - 1}"
    if 0 <= token_id < n_vocab:
        rule = "the vocab has a hole there"
    return UnknownTokenError(f"no token has the id {token_id}: {rule}")


def _as_int(token_id: Any) -> int:
    """Return a Python or NumPy integer as an int; a bool is none."""
    if not isinstance(token_id, (bool, np.bool_)):
        try:
            return operator.index(token_id)
        except TypeError:
            pass
    raise TypeError(f"token ids must be integers, not {type(token_id).__name__} ({token_id!r})")


def check_id(token_id: Any, token_offsets: Int64Array) -> int:
    """Return an id as an int.

    Args:
        token_id: a Python or NumPy integer.
        token_offsets: int64[n_vocab + 1]; an empty range is a hole.

    Raises:
        TypeError: not an integer (a bool is none).
        UnknownTokenError: no token has that id.
    """
    value = _as_int(token_id)
    n_vocab = token_offsets.shape[0] - 1
    if not 0 <= value < n_vocab or token_offsets[value] == token_offsets[value + 1]:
        raise _unknown(value, n_vocab)
    return value


def _list_to_array(ids: list[Any], n_vocab: int) -> Int64Array:
    """Convert a list, whose items may be of any type and of any size."""
    if set(map(type, ids)) <= {int}:  # NumPy would take True for 1
        try:
            return np.array(ids, dtype=np.int64)
        except OverflowError:
            pass
    values = [_as_int(token_id) for token_id in ids]
    for value in values:
        if not 0 <= value < n_vocab:
            raise _unknown(value, n_vocab)
    return np.array(values, dtype=np.int64)


def as_id_array(ids: Iterable[int] | npt.NDArray[Any], n_vocab: int) -> Int64Array:
    """Return ids as an array of our own, checked only as far as int64 asks for it.

    Args:
        ids: a list, an iterator, or a one-dimensional array of any integer dtype.
        n_vocab: highest id + 1.

    Returns:
        int64[n], C-contiguous and writable.

    Raises:
        TypeError: a single number, a str, bytes, or an item that is no integer (a bool is none).
        UnknownTokenError: an id beyond int64.
    """
    if isinstance(ids, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"token ids must be integers in a list or an array, not {type(ids).__name__}")
    if not isinstance(ids, np.ndarray):
        return _list_to_array(list(ids), n_vocab)
    if ids.ndim != 1:
        raise TypeError(f"token ids must have one dimension, not {ids.ndim}; decode one row at a time")
    if ids.size and ids.dtype.kind not in "iu":
        raise TypeError(f"token ids must be integers, not an array of {ids.dtype}")
    if ids.size and ids.dtype == np.uint64 and ids.max() >= n_vocab:
        raise _unknown(int(ids[np.argmax(ids >= n_vocab)]), n_vocab)
    return np.array(ids, dtype=np.int64, order="C")


def decode_to_bytes(
    ids: Iterable[int] | npt.NDArray[Any], token_bytes: ByteArray, token_offsets: Int64Array
) -> bytes:
    """Return the bytes of all tokens, one after the other.

    Args:
        ids: a list, an iterator, or a one-dimensional array of any integer dtype.
        token_bytes: uint8[].
        token_offsets: int64[n_vocab + 1]; an empty range is a hole.

    Raises:
        TypeError: an item that is no integer.
        UnknownTokenError: an id that no token has; the first one is named.

    Example:
        >>> decode_to_bytes([1, 0], np.frombuffer(b"abc", np.uint8).copy(), np.array([0, 1, 3]))
        b'bca'
    """
    n_vocab = token_offsets.shape[0] - 1
    own_ids = as_id_array(ids, n_vocab)
    n_bytes = measure_tokens(own_ids, token_offsets)
    if n_bytes < 0:
        raise _unknown(int(own_ids[~n_bytes]), n_vocab)
    out = np.empty(n_bytes, dtype=np.uint8)
    gather_token_bytes(own_ids, token_bytes, token_offsets, out)
    return out.tobytes()
