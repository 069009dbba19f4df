"""Kernels on whole documents in memory: their hashes, and putting them into another order."""

from __future__ import annotations

import numpy as np

from bpenb._jit import kernel

__all__ = ["gather_documents", "hash_documents"]

# mypy: disable-error-code="no-untyped-def"

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)
_ONE = np.uint64(1)


@kernel
def hash_documents(ids, starts, ends, seed, hashes):
    """Hash the ids of documents.

    ids          : uint16[] or uint32[]
    starts, ends : int64[n], of what is hashed of each document
    seed         : uint64
    hashes       : uint64[n], written
    O(ids)

    Example:
        >>> ids, hashes = np.array([7, 8, 7, 8, 9], np.uint16), np.zeros(3, np.uint64)
        >>> hash_documents(ids, np.array([0, 2, 4]), np.array([2, 4, 5]), np.uint64(1), hashes)
        >>> bool(hashes[0] == hashes[1]), bool(hashes[1] == hashes[2])
        (True, False)
    """
    for d in range(starts.shape[0]):
        h = seed
        for i in range(starts[d], ends[d]):
            h = (h ^ (np.uint64(ids[i]) + _ONE)) * _MULTIPLIER
            h ^= h >> _SHIFT
        h = (h ^ np.uint64(ends[d] - starts[d])) * _SECOND
        hashes[d] = h ^ (h >> _SHIFT)


@kernel
def gather_documents(ids, starts, ends, order, out):
    """Write documents one after the other, in another order.

    ids          : uint16[] or uint32[]
    starts, ends : int64[n], of each document
    order        : int64[m], which of them
    out          : as ids, written from the front
    Returns      : int64, ids written
    O(ids)

    Example:
        >>> ids, out = np.array([1, 2, 3, 4], np.uint16), np.zeros(4, np.uint16)
        >>> n = gather_documents(ids, np.array([0, 3]), np.array([3, 4]), np.array([1, 0]), out)
        >>> int(n), out.tolist()
        (4, [4, 1, 2, 3])
    """
    n = np.int64(0)
    for k in range(order.shape[0]):
        for i in range(starts[order[k]], ends[order[k]]):
            out[n] = ids[i]
            n += 1
    return n
