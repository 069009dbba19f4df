"""A heap of pairs on plain arrays, for others: the highest count on top, then the smallest pair.

   0            children of i: 2 i + 1, 2 i + 2
 1   2          entry i: heap_counts[i], heap_keys[i]
3 4 5 6         a sift moves a hole and writes once

A key is left << 32 | right, so equal counts are decided as `huggingface` and `rustbpe` decide them.
(Training has the rules of all tie modes in heap.py.)
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import helper, kernel

__all__ = ["pop_pair", "push_pair"]

# mypy: disable-error-code="no-untyped-def"


@helper
def belongs_above(count_a, key_a, count_b, key_b):
    """Tell whether entry a belongs above entry b."""
    return count_a > count_b or (count_a == count_b and key_a < key_b)


@kernel
def push_pair(heap_counts, heap_keys, size, count, key):
    """Put a pair into a heap.

    heap_counts : int64[capacity > size]
    heap_keys   : int64[capacity > size], left << 32 | right
    size        : entries in use
    count, key  : the pair
    Returns     : int64, the new size
    O(log size)

    Example:
        >>> heap_counts, heap_keys = np.zeros(4, np.int64), np.zeros(4, np.int64)
        >>> size = 0
        >>> for count, key in ((3, 7 << 32 | 7), (9, 1 << 32 | 2), (3, 5 << 32 | 7)):
        ...     size = int(push_pair(heap_counts, heap_keys, size, count, key))
        >>> size, int(heap_counts[0]), int(heap_keys[0]) >> 32
        (3, 9, 1)
    """
    i = np.int64(size)
    while i > 0:
        parent = (i - 1) >> 1
        if not belongs_above(count, key, heap_counts[parent], heap_keys[parent]):
            break
        heap_counts[i] = heap_counts[parent]
        heap_keys[i] = heap_keys[parent]
        i = parent
    heap_counts[i] = count
    heap_keys[i] = key
    return np.int64(size) + 1


@kernel
def pop_pair(heap_counts, heap_keys, size):
    """Take the top pair out of a heap; read it at place 0 before.

    heap_counts, heap_keys : as of `push_pair`
    size    : entries in use, at least 1
    Returns : int64, the new size
    O(log size)

    Example:
        >>> heap_counts, heap_keys = np.array([9, 3, 3]), np.array([5, 1, 2])
        >>> int(pop_pair(heap_counts, heap_keys, 3)), int(heap_keys[0])
        (2, 1)
    """
    last = np.int64(size) - 1
    count = heap_counts[last]
    key = heap_keys[last]
    i = np.int64(0)
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and belongs_above(
            heap_counts[child + 1], heap_keys[child + 1], heap_counts[child], heap_keys[child]
        ):
            child += 1
        if not belongs_above(heap_counts[child], heap_keys[child], count, key):
            break
        heap_counts[i] = heap_counts[child]
        heap_keys[i] = heap_keys[child]
        i = child
    heap_counts[i] = count
    heap_keys[i] = key
    return last
