"""Making merges that are given: those of a base, or of a training that goes on where it stopped.

Only the given pairs are followed, each with its postings from its birth, as in learning; the heap
holds ranks instead of counts. A pair that comes up has the lowest rank of all that exist, and what
it brings forth has a higher one: so this is one merge after the other, and pairs that the words do
not hold cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import IdArray, Int64Array
from bpenb._jit import helper, kernel
from bpenb.training.births import N_SLOTS, close_births, open_births
from bpenb.training.heap import pop
from bpenb.training.index import find_slot
from bpenb.training.merging import DONE, SLICE_ENDED, merge_rows, mint_token, missing_room
from bpenb.training.state import HEAP_SIZE, N_MERGES

__all__ = ["Given", "heap_counts", "make_given", "mint_tokens", "rank_of_pair", "replay_slice"]

# mypy: disable-error-code="no-untyped-def"

_LAST_RANK = 1 << 40  # a heap entry's count is this less the rank


class Given(NamedTuple):
    """The given merges, by pair: open addressing as in `PairTable`."""

    keys: Int64Array
    ranks: IdArray


@kernel
def fill_given(merges, keys, ranks):
    """Write the rank of every pair. merges: int32[n, 2]; keys: int64[n_slots], −1; ranks: int32[n_slots]."""
    for rank in range(merges.shape[0]):
        key = np.int64(merges[rank, 0]) << 32 | np.int64(merges[rank, 1])
        s = find_slot(keys, key)
        keys[s] = key
        ranks[s] = rank


def make_given(merges: IdArray) -> Given:
    """Return a table of merges, int32[n, 2]."""
    n_slots = 1 << int(2 * merges.shape[0] + 2).bit_length()
    given = Given(np.full(n_slots, -1, dtype=np.int64), np.full(n_slots, -1, dtype=np.int32))
    fill_given(merges, *given)
    return given


@kernel
def find_ranks(given, keys, ranks):
    """Write the rank of each key, or −1. keys: int64[n]; ranks: int64[n]. O(n)."""
    for i in range(keys.shape[0]):
        ranks[i] = given.ranks[find_slot(given.keys, keys[i])]


def rank_of_pair(given: Given, keys: Int64Array) -> Int64Array:
    """Return int64[n], the rank of each pair (left << 32 | right), or −1."""
    ranks = np.empty(keys.shape[0], dtype=np.int64)
    find_ranks(given, keys, ranks)
    return ranks


def heap_counts(ranks: Int64Array) -> Int64Array:
    """Return what stands in the heap for pairs of these ranks."""
    return _LAST_RANK - ranks


@kernel
def mint_tokens(tokens, merges, n_base_tokens, first):
    """Write the bytes of the tokens that merges[first:] make, until there is no room for one.

    tokens  : TokenTable
    Returns : int64, the merge to go on with
    O(bytes of the tokens)
    """
    for rank in range(first, merges.shape[0]):
        left = np.int64(merges[rank, 0])
        right = np.int64(merges[rank, 1])
        new = n_base_tokens + rank
        length = tokens.token_offsets[left + 1] - tokens.token_offsets[left]
        length += tokens.token_offsets[right + 1] - tokens.token_offsets[right]
        if tokens.token_offsets[new] + length > tokens.token_bytes.shape[0]:
            return np.int64(rank)
        mint_token(tokens, left, right, np.int64(new), np.int64(-1))
    return np.int64(merges.shape[0])


@helper
def birth_rank(given, slot, new):
    """Return the rank of a new pair, or −1 if it is not given."""
    other = slot >> 1
    key = (new << 32 | other) if slot & 1 else (other << 32 | new)
    return np.int64(given.ranks[find_slot(given.keys, key)])


@helper
def open_given_births(pairs, births, tokens, given, new, limits, cursor):
    """Open the given ones among new pairs, and leave their ranks in place of their counts."""
    for s in range(births.used[N_SLOTS]):
        slot = np.int64(births.slots[s])
        if birth_rank(given, slot, new) < 0:
            births.counts[slot] = 0
    open_births(pairs, births, tokens, new, limits, cursor)
    for s in range(births.used[N_SLOTS]):
        slot = np.int64(births.slots[s])
        births.counts[slot] = _LAST_RANK - birth_rank(given, slot, new)


@kernel
def replay_slice(words, pairs, heap, tokens, births, learned, limits, given):
    """Make given merges until all are made, the slice is used up, or something is too small.

    As `merge_slice`; `tokens` holds all tokens already.
    given   : Given
    Returns : a status of merging.py
    """
    cursor = learned.cursor
    budget = limits.slice_postings
    while cursor[HEAP_SIZE] > 0:
        p = np.int64(heap.pair_ids[0])
        rank = _LAST_RANK - heap.counts[0]
        new = rank + limits.n_base_tokens
        status = missing_room(words, pairs, births, tokens, p, new, cursor)
        if status != DONE:
            return status
        cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], limits.tie_rule, tokens, pairs.keys)
        merge_rows(words, pairs, births, p, pairs.keys[p] >> 32, pairs.keys[p] & 0xFFFFFFFF, new)
        open_given_births(pairs, births, tokens, given, new, limits, cursor)
        close_births(pairs, births, heap, tokens, limits.tie_rule, cursor)
        cursor[N_MERGES] = rank + 1
        budget -= pairs.posting_lengths[p]
        if budget < 0:
            return SLICE_ENDED
    return DONE
