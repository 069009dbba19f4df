"""Recounting one stale pair over its postings, and dropping the rows that no longer hold it.

Two forms with one result: `recount_pair` inside the merge loop, and `recount_blocks`, where
threads take blocks of a long list of postings (the pairs with more than a few thousand
postings hold most of the work).
"""

from __future__ import annotations

import numpy as np

from bpenb._arrays import CountArray
from bpenb._intrinsics import prefetch
from bpenb._jit import helper, kernel, parallel_kernel, prange
from bpenb.training.rows import count_in_row
from bpenb.training.state import PairIndex, WordStore

__all__ = ["BLOCK_POSTINGS", "RecountScratch", "prefetch_row", "recount_pair", "recount_parallel"]

# mypy: disable-error-code="no-untyped-def,assignment"

BLOCK_POSTINGS = 4096
_AHEAD = 12  # postings: a row is in the cache when it is its turn


@helper
def prefetch_row(rows, posting_rows, k, end):
    """Ask for the row of a posting a little behind posting k."""
    if k + _AHEAD < end:
        prefetch(rows, 2 * np.int64(posting_rows[k + _AHEAD]) + 2)


@helper
def recount_postings(words, posting_rows, begin, end, left, right):
    """Count a pair over postings [begin, end) and move those that still hold it to the front.

    Returns : (int64 postings kept, int64 count)
    """
    kept = begin
    count = np.int64(0)
    for k in range(begin, end):
        prefetch_row(words.rows, posting_rows, k, end)
        r = posting_rows[k]
        n = count_in_row(words.rows, np.int64(r), left, right)
        posting_rows[kept] = r  # overwritten if the row no longer holds the pair
        kept += np.int64(n > 0)
        count += n * words.counts[r]
    return kept - begin, count


@helper
def recount_pair(words, pairs, p, n_merges):
    """Recount pair p after `n_merges` merges, in place; returns its count."""
    left = pairs.keys[p] >> 32
    right = pairs.keys[p] & 0xFFFFFFFF
    begin = pairs.posting_offsets[p]
    end = begin + pairs.posting_lengths[p]
    kept, count = recount_postings(words, pairs.posting_rows, begin, end, left, right)
    pairs.posting_lengths[p] = kept
    pairs.counts[p] = count
    pairs.checked_at[p] = n_merges
    return count


@parallel_kernel
def recount_blocks(words, pairs, p, n_blocks, block_kept, block_counts):
    """Recount pair p block by block; each block keeps its postings at its own front.

    block_kept, block_counts : int64[n_blocks], written
    """
    left = pairs.keys[p] >> 32
    right = pairs.keys[p] & 0xFFFFFFFF
    begin = pairs.posting_offsets[p]
    end = begin + pairs.posting_lengths[p]
    for b in prange(n_blocks):
        b = np.int64(b)
        first = begin + b * BLOCK_POSTINGS
        last = min(first + BLOCK_POSTINGS, end)
        kept, count = recount_postings(words, pairs.posting_rows, first, last, left, right)
        block_kept[b] = kept
        block_counts[b] = count


@kernel
def close_blocks(pairs, p, n_merges, n_blocks, block_kept, block_counts):
    """Move the kept postings of all blocks together and store the count of pair p."""
    begin = pairs.posting_offsets[p]
    kept = np.int64(0)
    count = np.int64(0)
    for b in range(n_blocks):
        first = begin + b * BLOCK_POSTINGS
        if begin + kept != first:
            for k in range(block_kept[b]):
                pairs.posting_rows[begin + kept + k] = pairs.posting_rows[first + k]
        kept += block_kept[b]
        count += block_counts[b]
    pairs.posting_lengths[p] = kept
    pairs.counts[p] = count
    pairs.checked_at[p] = n_merges


class RecountScratch:
    """Work arrays of the parallel recount, grown as needed."""

    def __init__(self) -> None:
        self.kept: CountArray = np.zeros(64, dtype=np.int64)
        self.counts: CountArray = np.zeros(64, dtype=np.int64)

    def reserve(self, n_blocks: int) -> None:
        """Have room for `n_blocks` blocks."""
        if self.kept.shape[0] < n_blocks:
            self.kept = np.zeros(2 * n_blocks, dtype=np.int64)
            self.counts = np.zeros(2 * n_blocks, dtype=np.int64)


def recount_parallel(
    words: WordStore, pairs: PairIndex, p: int, n_merges: int, scratch: RecountScratch
) -> None:
    """Recount pair p with all threads that are free; the same result as `recount_pair`."""
    n_blocks = -(-int(pairs.posting_lengths[p]) // BLOCK_POSTINGS)
    scratch.reserve(n_blocks)
    recount_blocks(words, pairs, p, n_blocks, scratch.kept, scratch.counts)
    close_blocks(pairs, p, n_merges, n_blocks, scratch.kept, scratch.counts)
