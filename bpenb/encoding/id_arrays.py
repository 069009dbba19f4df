"""Token ids of any kind, as arrays that the decoding kernel takes.

An array of a dtype that ids have in files is taken as it is; all else is converted block by block, so
that what is converted is still in the cache when it is read.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array

__all__ = ["CheckedIds", "Ids", "as_arrays", "as_int", "checked_ids", "read_only"]

Ids: TypeAlias = Iterable[int] | npt.NDArray[Any]
CheckedIds: TypeAlias = list[int] | npt.NDArray[Any]

BLOCK = 1 << 14  # ids at a time, where they have to be converted
AS_THEY_ARE = tuple(map(np.dtype, (np.uint16, np.uint32, np.int32, np.int64)))  # a compiled kernel for each


def as_int(token_id: Any) -> int:
    """Return a Python or NumPy integer as an int; a bool is none."""
    if not isinstance(token_id, (bool, np.bool_)):
        try:
            return operator.index(token_id)
        except TypeError:
            pass
    raise TypeError(f"token ids must be integers, not {type(token_id).__name__} ({token_id!r})")


def checked_ids(ids: Ids) -> CheckedIds:
    """Return ids as an array of integers of one dimension, or as a list of ints.

    Raises:
        TypeError: a single number, a str, bytes, or an item that is no integer (a bool is none).
    """
    if isinstance(ids, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"token ids must be integers in a list or an array, not {type(ids).__name__}")
    if not isinstance(ids, np.ndarray):
        items = ids if isinstance(ids, list) else list(ids)
        if set(map(type, items)) <= {int}:  # NumPy would take True for 1
            return items
        return [as_int(token_id) for token_id in items]
    if ids.ndim != 1:
        raise TypeError(f"token ids must have one dimension, not {ids.ndim}; decode one row at a time")
    if ids.size and ids.dtype.kind not in "iu":
        raise TypeError(f"token ids must be integers, not an array of {ids.dtype}")
    return np.asarray(ids)


def read_only(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that is read-only whatever the array is: Numba compiles the two apart."""
    view = ids.view()
    view.flags.writeable = False
    return view


def _int64_from_list(ids: list[int]) -> Int64Array:
    """Convert ints of any size; −1, which has no token either, stands for what int64 cannot hold."""
    try:
        return np.array(ids, dtype=np.int64)
    except OverflowError:
        return np.array([i if 0 <= i < 1 << 63 else -1 for i in ids], dtype=np.int64)


def as_arrays(ids: CheckedIds) -> Iterator[npt.NDArray[Any]]:
    """Yield ids as arrays that the kernel takes: as they are, or converted block by block."""
    if isinstance(ids, list):
        for start in range(0, len(ids), BLOCK):
            yield read_only(_int64_from_list(ids[start : start + BLOCK]))
        return
    if ids.dtype == np.uint64:
        ids = ids.view(np.int64)  # from 2⁶³ on negative: no token has such an id
    # (Numba would take an array that is not aligned for one that is.)
    if ids.dtype in AS_THEY_ARE and ids.flags.c_contiguous and ids.flags.aligned:
        yield read_only(ids)
        return
    dtype = ids.dtype.newbyteorder("=") if ids.dtype.newbyteorder("=") in AS_THEY_ARE else np.dtype(np.int64)
    for start in range(0, len(ids), BLOCK):
        yield read_only(np.array(ids[start : start + BLOCK], dtype=dtype, order="C"))
