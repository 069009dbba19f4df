"""The defined order of words: ascending by their bytes, as Python sorts `bytes`.

Sorting goes by the first eight bytes as one big-endian number; only words that agree there are
compared further, by heapsort (no input makes it quadratic).
"""

from __future__ import annotations

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array, offsets_from_lengths
from bpenb._intrinsics import load_u64
from bpenb._jit import helper, kernel

__all__ = ["PADDING", "sort_words"]

# mypy: disable-error-code="no-untyped-def"

PADDING = 16  # bytes behind every text and arena, so that two numbers can be read anywhere


@helper
def big_endian_prefix(text, start, length):
    """Return the first 8 bytes of a word as a big-endian number, zeros behind a shorter one."""
    value = load_u64(text, start)
    if length < 8:
        value = value & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))
    swapped = np.uint64(0)
    for _ in range(8):
        swapped = (swapped << np.uint64(8)) | (value & np.uint64(255))
        value = value >> np.uint64(8)
    return swapped


@kernel
def write_prefixes(arena, starts, lengths, prefixes):
    """Write the sort key of every word. arena is padded; prefixes: uint64[n], written. O(n)."""
    for w in range(starts.shape[0]):
        prefixes[w] = big_endian_prefix(arena, starts[w], lengths[w])


@helper
def is_less(arena, starts, lengths, a, b):
    """Tell whether word a sorts before word b; their first 8 bytes are known to agree."""
    i = starts[a] + min(np.int64(8), lengths[a])
    k = starts[b] + min(np.int64(8), lengths[b])
    end_a = starts[a] + lengths[a]
    end_b = starts[b] + lengths[b]
    while i < end_a and k < end_b:
        if arena[i] != arena[k]:
            return arena[i] < arena[k]
        i += 1
        k += 1
    return lengths[a] < lengths[b]


@helper
def sift(arena, starts, lengths, order, begin, root, size):
    """Let order[begin + root] sink in a max-heap of `size` words at order[begin:]."""
    moving = order[begin + root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and is_less(arena, starts, lengths, order[begin + child], order[begin + child + 1]):
            child += 1
        if not is_less(arena, starts, lengths, moving, order[begin + child]):
            break
        order[begin + root] = order[begin + child]
        root = child
    order[begin + root] = moving


@kernel
def sort_groups(arena, starts, lengths, prefixes, order):
    """Finish the order of words whose prefixes agree.

    order : int64[n], already ascending by prefix; rewritten
    O(n + g log g) comparisons for groups of g words
    """
    n = order.shape[0]
    begin = 0
    while begin < n:
        end = begin + 1
        while end < n and prefixes[order[end]] == prefixes[order[begin]]:
            end += 1
        size = end - begin
        if size > 1:
            for root in range(size // 2 - 1, -1, -1):
                sift(arena, starts, lengths, order, begin, root, size)
            for last in range(size - 1, 0, -1):
                top = order[begin]
                order[begin] = order[begin + last]
                order[begin + last] = top
                sift(arena, starts, lengths, order, begin, 0, last)
        begin = end


@kernel
def gather_words(arena, starts, lengths, order, word_bytes, word_offsets):
    """Copy words into one array in the order given. word_bytes, word_offsets: written by range."""
    for k in range(order.shape[0]):
        w = order[k]
        out = word_offsets[k]
        for i in range(lengths[w]):
            word_bytes[out + i] = arena[starts[w] + i]


def sort_words(
    arena: ByteArray, starts: Int64Array, lengths: Int64Array, counts: CountArray
) -> tuple[ByteArray, Int64Array, CountArray]:
    """Return (word_bytes, word_offsets, word_counts) of distinct words, ascending by their bytes.

    Args:
        arena: uint8[], padded with PADDING bytes; starts, lengths, counts: int64[n].
    """
    prefixes = np.empty(starts.shape[0], dtype=np.uint64)
    write_prefixes(arena, starts, lengths, prefixes)
    order = np.argsort(prefixes)
    sort_groups(arena, starts, lengths, prefixes, order)
    word_offsets = offsets_from_lengths(lengths[order])
    word_bytes = np.empty(int(word_offsets[-1]), dtype=np.uint8)
    gather_words(arena, starts, lengths, order, word_bytes, word_offsets)
    return word_bytes, word_offsets, counts[order]
