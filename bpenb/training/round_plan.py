"""What a coordinator asks for in a round, and what it makes of the answers.

A merge is certain, and needs no answer first, while

    1. the pair on top of the heap is fresh: its count is what it is now, and all others are bounds;
    2. nothing that this round's merges bring forth can be as frequent. A new pair (new, x) stands
       where (right, x) stood, and (x, new) where (x, left) stood: so it is at most as frequent as the
       most frequent pair with `right` on its left, or `left` on its right. What these two became of
       in this round was no more frequent than they were.

So several merges go out at once, and after them the pairs to be counted again that stand next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import IdArray
from bpenb._jit import helper, kernel
from bpenb.training.heap import pop, push
from bpenb.training.merging import is_stale, mint_token
from bpenb.training.state import (
    HEAP_SIZE,
    N_MERGES,
    N_PAIRS,
    N_RECOUNTS,
    N_STALE_CHECKS,
)

__all__ = ["PairLists", "link_pairs", "plan_merges", "plan_recounts", "take_births", "take_counts"]

# mypy: disable-error-code="no-untyped-def"


class PairLists(NamedTuple):
    """The pairs of each token, as two linked lists; −1 ends one."""

    first_as_left: IdArray  # int32[n_tokens], the last pair that was added with the token on its left
    first_as_right: IdArray
    next_as_left: IdArray  # int32[n_pairs], the next pair with the same left token
    next_as_right: IdArray


@helper
def link_pair(lists, p, key):
    """Add pair p to the lists of its tokens."""
    left = key >> 32
    right = key & 0xFFFFFFFF
    lists.next_as_left[p] = lists.first_as_left[left]
    lists.first_as_left[left] = p
    lists.next_as_right[p] = lists.first_as_right[right]
    lists.first_as_right[right] = p


@kernel
def link_pairs(lists, keys, n_pairs):
    """Add the pairs 0 … n_pairs − 1 to the lists of their tokens. O(n_pairs)."""
    for p in range(n_pairs):
        link_pair(lists, p, keys[p])


@helper
def most_born(pairs, lists, left, right):
    """Return a bound on the counts of the pairs that merging (left, right) brings forth."""
    most = np.int64(0)
    p = np.int64(lists.first_as_left[right])
    while p >= 0:
        most = max(most, pairs.counts[p])
        p = np.int64(lists.next_as_left[p])
    p = np.int64(lists.first_as_right[left])
    while p >= 0:
        most = max(most, pairs.counts[p])
        p = np.int64(lists.next_as_right[p])
    return most


@kernel
def plan_merges(pairs, lists, heap, tokens, learned, limits, planned):
    """Take the merges from the heap that are certain, and mint their tokens.

    pairs   : PairIndex without postings; the count of a pair that is merged becomes 0
    lists   : PairLists
    heap    : PairHeap            tokens : TokenTable, with room for all of their bytes
    learned : Learned             limits : Limits
    planned : int32[], pair ids, written
    Returns : int64, how many
    """
    cursor = learned.cursor
    bound = limits.min_count - 1  # of pairs that nobody keeps books of
    n = np.int64(0)
    while n < planned.shape[0] and cursor[N_MERGES] < limits.n_merges and cursor[HEAP_SIZE] > 0:
        p = np.int64(heap.pair_ids[0])
        count = heap.counts[0]
        cursor[N_STALE_CHECKS] += 1
        if is_stale(pairs, tokens, p) or (n > 0 and count <= bound):
            break
        left = pairs.keys[p] >> 32
        right = pairs.keys[p] & 0xFFFFFFFF
        cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], limits.tie_rule, tokens, pairs.keys)
        step = cursor[N_MERGES]
        learned.merges[step, 0] = left
        learned.merges[step, 1] = right
        learned.merge_counts[step] = count
        mint_token(tokens, left, right, step + limits.n_base_tokens, step)
        cursor[N_MERGES] = step + 1
        pairs.counts[p] = 0
        planned[n] = p
        n += 1
        if left == right:  # `aaaa` becomes `aa aa`: a new pair from places where (a, a) stood itself
            break
        bound = max(bound, most_born(pairs, lists, left, right))
    return n


@kernel
def plan_recounts(pairs, heap, tokens, learned, limits, asked, aside):
    """Take pairs from the top of the heap that must be counted again.

    pairs   : PairIndex
    heap    : PairHeap     tokens : TokenTable     learned : Learned     limits : Limits
    asked   : int32[], pair ids, written; they are off the heap
    aside   : int32[], scratch: as many fresh ones are passed over, and stay
    Returns : int64, how many
    """
    cursor = learned.cursor
    n, n_aside = np.int64(0), np.int64(0)
    while n < asked.shape[0] and n_aside < aside.shape[0] and cursor[HEAP_SIZE] > 0:
        p = np.int64(heap.pair_ids[0])
        cursor[N_STALE_CHECKS] += 1
        cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], limits.tie_rule, tokens, pairs.keys)
        if is_stale(pairs, tokens, p):
            asked[n] = p
            n += 1
        else:
            aside[n_aside] = p
            n_aside += 1
    size = cursor[HEAP_SIZE]
    for k in range(n_aside):
        p = np.int64(aside[k])
        size = push(heap, size, limits.tie_rule, tokens, pairs.keys, pairs.counts[p], p)
    cursor[HEAP_SIZE] = size
    cursor[N_RECOUNTS] += n
    return n


@kernel
def take_counts(pairs, heap, tokens, learned, limits, asked, counts):
    """Note what pairs count now, and put those back that are frequent enough.

    asked  : int32[n], pair ids
    counts : int64[n], of all shards together, after all merges so far
    """
    cursor = learned.cursor
    size = cursor[HEAP_SIZE]
    for k in range(asked.shape[0]):
        p = np.int64(asked[k])
        pairs.counts[p] = counts[k]
        pairs.checked_at[p] = cursor[N_MERGES]
        if counts[k] >= limits.min_count:
            size = push(heap, size, limits.tie_rule, tokens, pairs.keys, counts[k], p)
        else:
            pairs.counts[p] = 0
    cursor[HEAP_SIZE] = size


@kernel
def take_births(pairs, lists, heap, tokens, learned, limits, keys, counts):
    """Add the new pairs that may ever merge; the others get the key −1.

    pairs, lists, heap : with room for all
    keys, counts       : int64[n], each pair once, as counted when its younger token was minted
    """
    cursor = learned.cursor
    size = cursor[HEAP_SIZE]
    for k in range(keys.shape[0]):
        left = keys[k] >> 32
        right = keys[k] & 0xFFFFFFFF
        length = tokens.token_offsets[left + 1] - tokens.token_offsets[left]
        length += tokens.token_offsets[right + 1] - tokens.token_offsets[right]
        if counts[k] < limits.min_count or length > limits.max_token_length:
            keys[k] = -1
            continue
        p = cursor[N_PAIRS]
        cursor[N_PAIRS] += 1
        pairs.keys[p] = keys[k]
        pairs.counts[p] = counts[k]
        pairs.checked_at[p] = max(left, right) - limits.n_base_tokens + 1
        link_pair(lists, p, keys[k])
        size = push(heap, size, limits.tie_rule, tokens, pairs.keys, counts[k], p)
    cursor[HEAP_SIZE] = size
