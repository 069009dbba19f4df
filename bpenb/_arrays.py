"""Dtypes, sentinels and the packing of pair keys: the words that all kernels share."""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "NO_TOKEN",
    "N_BYTES",
    "ByteArray",
    "CountArray",
    "IdArray",
    "Int64Array",
    "grown",
    "offsets_from_lengths",
    "ranges_to_bytes",
    "zeros_on_lines",
]

ByteArray: TypeAlias = npt.NDArray[np.uint8]
IdArray: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
CountArray: TypeAlias = npt.NDArray[np.int64]

T = TypeVar("T", bound=np.generic)

N_BYTES = 256
CACHE_LINE = 64
NO_TOKEN = -1  # in an array of token ids: there is none


def offsets_from_lengths(lengths: npt.NDArray[Any]) -> Int64Array:
    """Return int64[n+1] offsets of consecutive ranges from their n lengths."""
    offsets = np.zeros(lengths.shape[0] + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def grown(array: npt.NDArray[T], least: int) -> npt.NDArray[T]:
    """Return a copy with `least` places at least, and half as many again as before."""
    larger = np.empty(max(least, array.shape[0] + array.shape[0] // 2), dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger


def ranges_to_bytes(data: ByteArray, offsets: Int64Array) -> list[bytes]:
    """Return every range of `data` that `offsets` (int64[n+1]) delimits, as `bytes`."""
    raw = data.tobytes()
    bounds = offsets.tolist()
    return [raw[a:b] for a, b in itertools.pairwise(bounds)]


def zeros_on_lines(shape: tuple[int, ...], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return zeros that begin at a cache line and share none with other arrays.

    For tables whose rows fill a half or a whole line, and for small arrays that a thread writes often:
    two threads whose arrays are on one line would wait for each other.
    """
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(n_bytes + 2 * CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + n_bytes].view(dtype).reshape(shape)
