"""Replaying known merges on words: word by word, each in the order of the ranks.

    word      l  o  w  e  r      nodes    next, previous: a linked list of the tokens that are left
    ranks     7  3  9  1  -               rank of the pair that starts at a token, or NO_RANK
    heap      1|3  3|1  7|0  9|2          rank << 32 | position: the lowest rank, then leftmost

The trainer goes merge by merge over all words, with an index and counts that may be stale. This
goes word by word with nothing kept between words, so that it can be held against the trainer, and
it tells for every merge how often its pair occurred and how many tokens it took away. These
differ where a pair overlaps itself: `aaaa` holds (a, a) three times, and merging takes away two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import N_BYTES, CountArray, IdArray, Int64Array
from bpenb._jit import helper, kernel

__all__ = ["MergeLookup", "ReplayScratch", "WordRows", "replay_words"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

NO_RANK = np.int32(-1)

_RANK = np.int64(32)  # of a heap entry: shift to its rank
_POSITION = np.int64(0xFFFFFFFF)


class WordRows(NamedTuple):
    """Distinct words as rows of token ids: row w is tokens[row_offsets[w] :][: row_lengths[w]].

    Attributes:
        tokens: int32[n_bytes].
        row_offsets: int64[n_words + 1].
        row_lengths: int32[n_words], shrinking.
        word_counts: int64[n_words].
    """

    tokens: IdArray
    row_offsets: Int64Array
    row_lengths: IdArray
    word_counts: CountArray


class MergeLookup(NamedTuple):
    """Every merge by its left part (CSR), the right parts ascending within it.

    Attributes:
        offsets: int64[n_tokens + 1], where the merges of each left part begin.
        rights: int32[n_merges].
        ranks: int32[n_merges].
    """

    offsets: Int64Array
    rights: IdArray
    ranks: IdArray


class ReplayScratch(NamedTuple):
    """Room for one word of up to `longest` bytes.

    Attributes:
        following, previous: int32[longest], positions of the neighbours that are left.
        ranks: int32[longest], rank of the pair that starts here.
        heap: int64[2 * longest].
    """

    following: IdArray
    previous: IdArray
    ranks: IdArray
    heap: Int64Array


@helper
def _find_rank(lookup, left, right):
    """Return the rank of a pair, or NO_RANK. O(log of the merges with this left part)."""
    low = lookup.offsets[left]
    high = end = lookup.offsets[left + 1]
    while low < high:
        middle = (low + high) >> 1
        if lookup.rights[middle] < right:
            low = middle + 1
        else:
            high = middle
    if low < end and lookup.rights[low] == right:
        return lookup.ranks[low]
    return NO_RANK


@helper
def _push(heap, size, entry):
    i = size
    while i > 0 and heap[(i - 1) >> 1] > entry:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = entry
    return size + 1


@helper
def _pop(heap, size):
    """Drop the top of a heap of `size` entries; returns the new size."""
    size -= 1
    entry = heap[size]
    i = np.int64(0)
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry
    return size


@helper
def _rank_pair(tokens, start, n, lookup, scratch, size, i):
    """Look up the pair that starts at position i of a word; returns the size of the heap."""
    after = scratch.following[i]
    rank = NO_RANK
    if after < n:
        rank = _find_rank(lookup, tokens[start + i], tokens[start + after])
    scratch.ranks[i] = rank
    if rank != NO_RANK:
        size = _push(scratch.heap, size, (np.int64(rank) << _RANK) | i)
    return size


@helper
def _close_gaps(tokens, start, n, following):
    """Move the tokens that are left to the front of their row; returns how many they are."""
    n_left = 0
    i = 0
    while i < n:
        tokens[start + n_left] = tokens[start + i]
        n_left += 1
        i = following[i]
    return n_left


@kernel
def replay_words(words, first, last, lookup, scratch, pair_counts, tokens_removed):
    """Apply all merges to the words first … last - 1, in place.

    words          : WordRows, rows of single bytes; rows and lengths are written
    first, last    : int64
    lookup         : MergeLookup; a part of a merge is a byte or made by an earlier one
    scratch        : ReplayScratch, with room for the longest of the words
    pair_counts    : int64[n_merges], added to
    tokens_removed : int64[n_merges], added to
    O(m log m) for a word of m bytes
    """
    for w in range(first, last):
        start = words.row_offsets[w]
        n = np.int64(words.row_lengths[w])
        count = words.word_counts[w]
        for i in range(n):
            scratch.following[i] = i + 1
            scratch.previous[i] = i - 1
        size = np.int64(0)
        for i in range(n):
            size = _rank_pair(words.tokens, start, n, lookup, scratch, size, i)
        while size > 0:
            rank = scratch.heap[0] >> _RANK
            at = scratch.heap[0] & _POSITION
            size = _pop(scratch.heap, size)
            if scratch.ranks[at] != rank:
                continue
            absorbed = np.int64(scratch.following[at])
            after = np.int64(scratch.following[absorbed])
            pair_counts[rank] += count
            tokens_removed[rank] += count
            if scratch.ranks[absorbed] == rank:  # an overlapping occurrence, which this one breaks
                pair_counts[rank] += count
            scratch.ranks[absorbed] = NO_RANK
            words.tokens[start + at] = N_BYTES + rank
            scratch.following[at] = after
            if after < n:
                scratch.previous[after] = at
            size = _rank_pair(words.tokens, start, n, lookup, scratch, size, at)
            before = np.int64(scratch.previous[at])
            if before >= 0:
                size = _rank_pair(words.tokens, start, n, lookup, scratch, size, before)
        words.row_lengths[w] = _close_gaps(words.tokens, start, n, scratch.following)
