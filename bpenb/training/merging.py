"""The merge loop: take the best pair, merge it in its rows, note the pairs that are born.

    top of the heap → stale? recount it and put it back
                    → fresh: it is the best pair: merge → births → new postings → push

A stale entry is an upper bound, so nothing is decremented when a merge destroys occurrences.
Whether an entry can have changed is decided in O(1): only a merge that used `right` as its left
part, or `left` as its right part, can have taken an occurrence of (left, right) away.
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import helper, kernel
from bpenb.training.births import close_births, open_births
from bpenb.training.heap import pop, sift_down
from bpenb.training.recount import prefetch_row, recount_pair
from bpenb.training.rows import merge_row
from bpenb.training.state import (
    HEAP_SIZE,
    N_MERGES,
    N_PAIRS,
    N_POSTINGS,
    N_POSTINGS_READ,
    N_RECOUNTS,
    N_STALE_CHECKS,
)

__all__ = [
    "DONE",
    "NEED_EVENTS",
    "NEED_PAIRS",
    "NEED_POSTINGS",
    "NEED_TOKEN_BYTES",
    "RECOUNT_LARGE",
    "SLICE_ENDED",
    "merge_slice",
]

# mypy: disable-error-code="no-untyped-def"

# Why a slice stopped.
DONE = 0  # all merges made, or no pair is frequent enough
SLICE_ENDED = 1  # its share of work is used up
RECOUNT_LARGE = 2  # the pair on top is stale and has many postings
NEED_PAIRS = 3  # room for pairs and heap entries
NEED_POSTINGS = 4  # room for postings
NEED_EVENTS = 5  # room for birth events
NEED_TOKEN_BYTES = 6  # room for the bytes of the next token


@helper
def is_stale(pairs, tokens, p):
    """Tell whether pair p may have lost occurrences since it was counted."""
    left = pairs.keys[p] >> 32
    right = pairs.keys[p] & 0xFFFFFFFF
    since = pairs.checked_at[p]
    return tokens.last_as_left[right] >= since or tokens.last_as_right[left] >= since


@helper
def mint_token(tokens, left, right, new, step):
    """Write the bytes of token `new` = left + right, and that merge `step` used its parts."""
    end = tokens.token_offsets[new]
    for part in (left, right):
        for i in range(tokens.token_offsets[part], tokens.token_offsets[part + 1]):
            tokens.token_bytes[end] = tokens.token_bytes[i]
            end += 1
    tokens.token_offsets[new + 1] = end
    start = tokens.token_offsets[new]
    prefix = np.uint64(0)
    for i in range(8):
        prefix = prefix << np.uint64(8)
        if start + i < end:
            prefix = prefix | np.uint64(tokens.token_bytes[start + i])
    tokens.prefixes[new] = prefix
    tokens.last_as_left[left] = step
    tokens.last_as_right[right] = step


@helper
def missing_room(words, pairs, births, tokens, p, new, cursor):
    """Tell which array is too small for the merge of pair p into token `new`, or DONE if none is.

    A merge of count c makes at most 2 c new adjacencies, and never more than there are tokens.
    """
    most = 2 * min(pairs.counts[p], words.rows.shape[0])
    length = np.int64(0)
    for part in (pairs.keys[p] >> 32, pairs.keys[p] & 0xFFFFFFFF):
        length += tokens.token_offsets[part + 1] - tokens.token_offsets[part]
    if tokens.token_bytes.shape[0] < tokens.token_offsets[new] + length:
        return NEED_TOKEN_BYTES
    if births.event_slots.shape[0] < most:
        return NEED_EVENTS
    if pairs.posting_rows.shape[0] < cursor[N_POSTINGS] + most:
        return NEED_POSTINGS
    if pairs.keys.shape[0] < cursor[N_PAIRS] + min(most, 2 * new + 1):
        return NEED_PAIRS
    return DONE


@helper
def merge_rows(words, pairs, births, p, left, right, new):
    """Merge pair p = (left, right) in every row that holds it."""
    begin = pairs.posting_offsets[p]
    end = begin + pairs.posting_lengths[p]
    for k in range(begin, end):
        prefetch_row(words.rows, pairs.posting_rows, k, end)
        merge_row(words, births, np.int64(pairs.posting_rows[k]), left, right, new)


@helper
def merge_pair(words, pairs, heap, tokens, births, learned, limits, p):
    """Merge pair p, the best one, everywhere; its entry is off the heap already."""
    cursor = learned.cursor
    step = cursor[N_MERGES]
    left = pairs.keys[p] >> 32
    right = pairs.keys[p] & 0xFFFFFFFF
    new = step + limits.n_base_tokens
    learned.merges[step, 0] = left
    learned.merges[step, 1] = right
    learned.merge_counts[step] = pairs.counts[p]
    mint_token(tokens, left, right, new, step)
    merge_rows(words, pairs, births, p, left, right, new)
    open_births(pairs, births, tokens, new, limits, cursor)
    close_births(pairs, births, heap, tokens, limits.tie_rule, cursor)
    cursor[N_MERGES] = step + 1


@kernel
def merge_slice(words, pairs, heap, tokens, births, learned, limits):
    """Merge until all is done, the slice is used up, or something must be done outside.

    words   : WordStore            heap   : PairHeap      births  : Births, cleared
    pairs   : PairIndex            tokens : TokenTable    learned : Learned
    limits  : Limits
    Returns : a status (above);
              called again, it goes on where it stopped.
    """
    cursor = learned.cursor
    rule = limits.tie_rule
    budget = limits.slice_postings
    while cursor[N_MERGES] < limits.n_merges and cursor[HEAP_SIZE] > 0:
        p = np.int64(heap.pair_ids[0])
        cursor[N_STALE_CHECKS] += 1
        if is_stale(pairs, tokens, p):
            if pairs.posting_lengths[p] > limits.parallel_postings:
                return RECOUNT_LARGE
            cursor[N_RECOUNTS] += 1
            cursor[N_POSTINGS_READ] += pairs.posting_lengths[p]
            budget -= pairs.posting_lengths[p]
            recount_pair(words, pairs, p, cursor[N_MERGES])
        if pairs.counts[p] < heap.counts[0]:  # recounted, here or outside
            if pairs.counts[p] >= limits.min_count:
                size = cursor[HEAP_SIZE]
                sift_down(heap, np.int64(0), size, rule, tokens, pairs.keys, pairs.counts[p], p)
            else:
                cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], rule, tokens, pairs.keys)
        else:
            new = cursor[N_MERGES] + limits.n_base_tokens
            status = missing_room(words, pairs, births, tokens, p, new, cursor)
            if status != DONE:
                return status
            budget -= pairs.posting_lengths[p]
            cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], rule, tokens, pairs.keys)
            merge_pair(words, pairs, heap, tokens, births, learned, limits, p)
        if budget < 0:
            return SLICE_ENDED
    return DONE
