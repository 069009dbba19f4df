"""The array-backed binary heap of pairs: the highest count on top, ties by the tie rule.

   0            children of i: 2 i + 1, 2 i + 2
 1   2          entry i: counts[i], pair_ids[i]
3 4 5 6         a sift moves a hole and writes once
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import helper, kernel
from bpenb.training.ties import precedes

__all__ = ["heapify", "pop", "push", "sift_down"]

# mypy: disable-error-code="no-untyped-def"


@helper
def _beats(rule, tokens, keys, count_a, pair_a, count_b, pair_b):
    """Tell whether entry a belongs above entry b."""
    if count_a != count_b:
        return count_a > count_b
    return precedes(rule, tokens, keys[pair_a], keys[pair_b])


@helper
def push(heap, size, rule, tokens, keys, count, pair):
    """Put a pair into a heap of `size` entries with room for one more.

    heap    : PairHeap
    rule    : CS336 or SMALLEST_IDS
    tokens  : TokenTable
    keys    : int64[n_pairs]
    Returns : int64, the new size
    O(log size)
    """
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        p = np.int64(heap.pair_ids[parent])
        if not _beats(rule, tokens, keys, count, pair, heap.counts[parent], p):
            break
        heap.counts[i] = heap.counts[parent]
        heap.pair_ids[i] = heap.pair_ids[parent]
        i = parent
    heap.counts[i] = count
    heap.pair_ids[i] = pair
    return size + 1


@helper
def sift_down(heap, start, size, rule, tokens, keys, count, pair):
    """Put a pair at `start` or below, where the entry at `start` is free.

    Assumes both subtrees of `start` are heaps.
    O(log size)
    """
    i = start
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        p = np.int64(heap.pair_ids[child])
        if child + 1 < size:
            q = np.int64(heap.pair_ids[child + 1])
            if _beats(rule, tokens, keys, heap.counts[child + 1], q, heap.counts[child], p):
                child += 1
                p = q
        if not _beats(rule, tokens, keys, heap.counts[child], p, count, pair):
            break
        heap.counts[i] = heap.counts[child]
        heap.pair_ids[i] = heap.pair_ids[child]
        i = child
    heap.counts[i] = count
    heap.pair_ids[i] = pair


@helper
def pop(heap, size, rule, tokens, keys):
    """Remove the top entry of a heap of `size` > 0 entries; returns the new size. O(log size)."""
    last = size - 1
    if last > 0:
        p = np.int64(heap.pair_ids[last])
        sift_down(heap, np.int64(0), last, rule, tokens, keys, heap.counts[last], p)
    return last


@kernel
def heapify(heap, size, rule, tokens, keys):
    """Make a heap of the first `size` entries, in any order before. O(size)."""
    for start in range((size >> 1) - 1, -1, -1):
        p = np.int64(heap.pair_ids[start])
        sift_down(heap, start, size, rule, tokens, keys, heap.counts[start], p)
