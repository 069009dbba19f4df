"""From token ids back to bytes, at the speed of arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, Int64Array
from bpenb._jit import kernel
from bpenb.errors import UnknownTokenError

__all__ = ["as_id_array", "check_id", "decode_to_bytes", "gather_token_bytes"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

_INTEGERS = "iu"  # kinds of NumPy dtypes


@kernel
def gather_token_bytes(ids, token_bytes, token_offsets, out):
    """Write the bytes of every token, one after the other.

    ids           : int64[n], each below n_vocab
    token_bytes   : uint8[]
    token_offsets : int64[n_vocab + 1]
    out           : uint8[], written; exactly as long as all the tokens together
    O(n_bytes)
    """
    n_out = 0
    for i in range(ids.shape[0]):
        start = token_offsets[ids[i]]
        n = token_offsets[ids[i] + 1] - start
        for k in range(n):
            out[n_out + k] = token_bytes[start + k]
        n_out += n


def _refuse_type(value: object) -> NoReturn:
    raise TypeError(f"token ids must be integers, not {type(value).__name__} ({value!r})")


def _unknown(token_id: int, n_vocab: int) -> UnknownTokenError:
    rule = f"ids go from 0 to {n_vocab - 1}"
    if 0 <= token_id < n_vocab:
        rule = "the vocab has a hole there"
    return UnknownTokenError(f"no token has the id {token_id}: {rule}")


def check_id(token_id: Any, token_offsets: Int64Array) -> int:
    """Return an id as an int.

    Args:
        token_id: a Python or NumPy integer.
        token_offsets: int64[n_vocab + 1]; an empty range is a hole.

    Raises:
        TypeError: not an integer (a bool is none).
        UnknownTokenError: no token has that id.
    """
    if isinstance(token_id, (bool, np.bool_)):
        _refuse_type(token_id)
    try:
        value = operator.index(token_id)
    except TypeError:
        _refuse_type(token_id)
    n_vocab = token_offsets.shape[0] - 1
    if not 0 <= value < n_vocab or token_offsets[value] == token_offsets[value + 1]:
        raise _unknown(value, n_vocab)
    return value


def _list_to_array(ids: list[Any], token_offsets: Int64Array) -> Int64Array:
    """Convert a list, whose items may be of any type."""
    if set(map(type, ids)) <= {int}:  # NumPy would take True for 1
        try:
            return np.array(ids, dtype=np.int64)
        except OverflowError:
            pass
    return np.array([check_id(token_id, token_offsets) for token_id in ids], dtype=np.int64)


def as_id_array(ids: Iterable[int] | npt.NDArray[Any], token_offsets: Int64Array) -> Int64Array:
    """Check ids and return them as an array.

    Args:
        ids: a list, an iterator, or a one-dimensional array of any integer dtype.
        token_offsets: int64[n_vocab + 1]; an empty range is a hole.

    Returns:
        int64[n], each the id of a token.

    Raises:
        TypeError: a single number, a str, bytes, or an item that is no integer (a bool is none).
        UnknownTokenError: an id that no token has; the first one is named.
    """
    if isinstance(ids, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"token ids must be integers in a list or an array, not {type(ids).__name__}")
    if not isinstance(ids, np.ndarray):
        ids = _list_to_array(list(ids), token_offsets)
    if ids.ndim != 1:
        raise TypeError(f"token ids must have one dimension, not {ids.ndim}; decode one row at a time")
    if ids.size == 0:
        return np.empty(0, dtype=np.int64)
    if ids.dtype.kind not in _INTEGERS:
        raise TypeError(f"token ids must be integers, not an array of {ids.dtype}")
    n_vocab = token_offsets.shape[0] - 1
    outside = (ids < 0) | (ids >= n_vocab)
    if outside.any():
        raise _unknown(int(ids[np.argmax(outside)]), n_vocab)
    return ids.astype(np.int64, order="C")


def decode_to_bytes(
    ids: Iterable[int] | npt.NDArray[Any], token_bytes: ByteArray, token_offsets: Int64Array
) -> bytes:
    """Return the bytes of all tokens, one after the other.

    Args:
        ids: a list, an iterator, or a one-dimensional array of any integer dtype.
        token_bytes: uint8[].
        token_offsets: int64[n_vocab + 1].

    Raises:
        TypeError: an item that is no integer.
        UnknownTokenError: an id that no token has.

    Example:
        >>> decode_to_bytes([1, 0], np.frombuffer(b"abc", np.uint8).copy(), np.array([0, 1, 3]))
        b'bca'
    """
    checked = as_id_array(ids, token_offsets)
    lengths = token_offsets[checked + 1] - token_offsets[checked]
    holes = lengths == 0
    if holes.any():
        raise _unknown(int(checked[np.argmax(holes)]), token_offsets.shape[0] - 1)
    out = np.empty(int(lengths.sum()), dtype=np.uint8)
    gather_token_bytes(checked, token_bytes, token_offsets, out)
    return out.tobytes()
