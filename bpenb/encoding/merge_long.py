"""Merge a long word in O(n log n): a linked list of its tokens and a heap of its pairs.

    nodes   row = position of the token's first byte     heap   rank << 38 | position
            token, value, previous, next                        the least on top: lowest rank,
                                                                then leftmost

A merge leaves old entries in the heap. An entry is taken only if the pair that starts at its
position still has its rank; what was absorbed has NO_MERGE there.
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import helper, kernel
from bpenb.encoding.pair_table import NO_MERGE, find_merge

__all__ = ["NODE_FIELDS", "merge_long"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

NODE_FIELDS = 4  # one row is half a cache line: a merge touches three or four rows
_TOKEN, _VALUE, _PREVIOUS, _NEXT = range(NODE_FIELDS)

_ID = np.int64(0xFFFFFFFF)
_RANK = np.int64(32)  # of a value: shift to its rank
_POSITION_BITS = np.int64(38)  # of a heap entry; 24 bits of rank above: words up to 256 GB
_POSITION = np.int64((1 << 38) - 1)


@helper
def _sift_down(heap, size, entry):
    """Put `entry` into a heap of `size` whose top is free. O(log size)."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry


@helper
def _push(heap, size, entry):
    """Put `entry` into a heap of `size`; returns the new size. O(log size)."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = entry
    return size + 1


@helper
def _refresh(pairs, nodes, heap, size, i, n):
    """Look up the pair that starts at token i, and push it if it merges; returns the heap's size."""
    value = NO_MERGE
    after = nodes[i, _NEXT]
    if after < n:
        value = find_merge(pairs, nodes[i, _TOKEN], nodes[after, _TOKEN])
    nodes[i, _VALUE] = value
    if value != NO_MERGE:
        size = _push(heap, size, ((value >> _RANK) << _POSITION_BITS) | i)
    return size


@kernel
def merge_long(pairs, nodes, heap, ids, start, n):
    """Merge the word ids[start : start + n] in place.

    pairs   : PairTable
    nodes   : int64[>= n, NODE_FIELDS], scratch
    heap    : int64[>= 2 n], scratch: n - 1 pairs, and each merge takes one and adds at most two
    ids     : int32[], the ids of the word's bytes at `start`; read and written
    Returns : int64, how many ids are left, from `start`
    O(n log n)
    """
    for i in range(n):
        nodes[i, _TOKEN] = ids[start + i]
        nodes[i, _PREVIOUS] = i - 1
        nodes[i, _NEXT] = i + 1
    size = np.int64(0)  # a literal 0 would be another type, and compile everything twice
    for i in range(n):
        size = _refresh(pairs, nodes, heap, size, i, n)
    while size > 0:
        entry = heap[0]
        size -= 1
        _sift_down(heap, size, heap[size])
        at = entry & _POSITION
        if nodes[at, _VALUE] >> _RANK != entry >> _POSITION_BITS:
            continue
        absorbed = nodes[at, _NEXT]
        after = nodes[absorbed, _NEXT]
        nodes[at, _TOKEN] = nodes[at, _VALUE] & _ID
        nodes[at, _NEXT] = after
        nodes[absorbed, _VALUE] = NO_MERGE
        if after < n:
            nodes[after, _PREVIOUS] = at
        size = _refresh(pairs, nodes, heap, size, at, n)
        if nodes[at, _PREVIOUS] >= 0:
            size = _refresh(pairs, nodes, heap, size, nodes[at, _PREVIOUS], n)
    n_left = 0
    i = 0
    while i < n:
        ids[start + n_left] = nodes[i, _TOKEN]
        n_left += 1
        i = nodes[i, _NEXT]
    return n_left
