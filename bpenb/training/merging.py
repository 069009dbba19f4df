"""The merge loop: take the best pair, merge it in its words, note the pairs that are born.

    top of the heap → stale? recount it and put it back
                    → fresh: it is the best pair: merge → births → new postings → push

A stale entry is an upper bound, so nothing is decremented when a merge destroys occurrences.
Whether an entry can have changed is decided in O(1): only a merge that used `right` as its left
part, or `left` as its right part, can have taken an occurrence of (left, right) away.
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import helper, kernel
from bpenb.training.heap import pop, push, sift_down
from bpenb.training.recount import recount_pair
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
def note_birth(births, slot, w, count, n_slots, n_events):
    """Count one new adjacency in word w; returns the slots and events in use."""
    if births.n_words[slot] == 0:
        births.slots[n_slots] = slot
        n_slots += 1
    births.counts[slot] += count
    if births.last_word[slot] != w:
        births.last_word[slot] = w
        births.n_words[slot] += 1
        births.event_slots[n_events] = slot
        births.event_words[n_events] = w
        n_events += 1
    return n_slots, n_events


@helper
def merge_word(words, births, w, left, right, new, n_slots, n_events):
    """Merge (left, right) in word w from left to right, and note every new adjacency.

    `aaaa` with (a, a) becomes `aa aa`; a word that holds no such pair is left alone.
    Returns : (int64 slots in use, int64 events in use)
    O(length of the word)
    """
    start = words.row_offsets[w]
    end = start + words.row_lengths[w]
    i = start
    while i < end - 1 and not (words.tokens[i] == left and words.tokens[i + 1] == right):
        i += 1
    if i >= end - 1:
        return n_slots, n_events
    count = words.word_counts[w]
    written = i
    while i < end:
        token = np.int64(words.tokens[i])
        if token == left and i + 1 < end and words.tokens[i + 1] == right:
            token = new
            i += 1
        i += 1
        words.tokens[written] = token
        if written > start:
            before = np.int64(words.tokens[written - 1])
            if token == new:
                n_slots, n_events = note_birth(births, 2 * before, w, count, n_slots, n_events)
            elif before == new:
                n_slots, n_events = note_birth(births, 2 * token + 1, w, count, n_slots, n_events)
        written += 1
    words.row_lengths[w] = written - start
    return n_slots, n_events


@helper
def open_births(pairs, births, tokens, new, n_slots, limits, cursor):
    """Give each new pair that may ever merge an id and room for its postings.

    `births.last_word` holds the pair id afterwards, or -1.
    """
    new_length = tokens.token_offsets[new + 1] - tokens.token_offsets[new]
    for s in range(n_slots):
        slot = np.int64(births.slots[s])
        other = slot >> 1
        length = new_length + tokens.token_offsets[other + 1] - tokens.token_offsets[other]
        births.last_word[slot] = -1
        if births.counts[slot] >= limits.min_count and length <= limits.max_token_length:
            p = cursor[N_PAIRS]
            cursor[N_PAIRS] += 1
            births.last_word[slot] = p
            pairs.keys[p] = (new << 32 | other) if slot & 1 else (other << 32 | new)
            pairs.counts[p] = births.counts[slot]
            pairs.checked_at[p] = cursor[N_MERGES] + 1
            pairs.posting_offsets[p] = cursor[N_POSTINGS]
            pairs.posting_lengths[p] = 0
            cursor[N_POSTINGS] += births.n_words[slot]


@helper
def close_births(pairs, births, heap, tokens, n_slots, n_events, rule, cursor):
    """Write the postings of the new pairs, push the pairs, and clear the scratch."""
    for e in range(n_events):
        p = births.last_word[births.event_slots[e]]
        if p >= 0:
            pairs.posting_word_ids[pairs.posting_offsets[p] + pairs.posting_lengths[p]] = births.event_words[
                e
            ]
            pairs.posting_lengths[p] += 1
    size = cursor[HEAP_SIZE]
    for s in range(n_slots):
        slot = births.slots[s]
        p = np.int64(births.last_word[slot])
        if p >= 0:
            size = push(heap, size, rule, tokens, pairs.keys, births.counts[slot], p)
        births.counts[slot] = 0
        births.n_words[slot] = 0
        births.last_word[slot] = -1
    cursor[HEAP_SIZE] = size


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
    most = 2 * min(pairs.counts[p], words.tokens.shape[0])
    length = np.int64(0)
    for part in (pairs.keys[p] >> 32, pairs.keys[p] & 0xFFFFFFFF):
        length += tokens.token_offsets[part + 1] - tokens.token_offsets[part]
    if tokens.token_bytes.shape[0] < tokens.token_offsets[new] + length:
        return NEED_TOKEN_BYTES
    if births.event_slots.shape[0] < most:
        return NEED_EVENTS
    if pairs.posting_word_ids.shape[0] < cursor[N_POSTINGS] + most:
        return NEED_POSTINGS
    if pairs.keys.shape[0] < cursor[N_PAIRS] + min(most, 2 * new + 1):
        return NEED_PAIRS
    return DONE


@helper
def merge_pair(words, pairs, heap, tokens, births, learned, limits, p):
    """Merge pair p, the best one, everywhere; its entry is off the heap already."""
    cursor = learned.cursor
    step = cursor[N_MERGES]
    left = pairs.keys[p] >> 32
    right = pairs.keys[p] & 0xFFFFFFFF
    new = step + (tokens.prefixes.shape[0] - learned.merges.shape[0])
    learned.merges[step, 0] = left
    learned.merges[step, 1] = right
    learned.merge_counts[step] = pairs.counts[p]
    mint_token(tokens, left, right, new, step)
    n_slots = np.int64(0)
    n_events = np.int64(0)
    begin = pairs.posting_offsets[p]
    for k in range(begin, begin + pairs.posting_lengths[p]):
        w = pairs.posting_word_ids[k]
        n_slots, n_events = merge_word(words, births, w, left, right, new, n_slots, n_events)
    open_births(pairs, births, tokens, new, n_slots, limits, cursor)
    close_births(pairs, births, heap, tokens, n_slots, n_events, limits.tie_rule, cursor)
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
            new = cursor[N_MERGES] + (tokens.prefixes.shape[0] - learned.merges.shape[0])
            status = missing_room(words, pairs, births, tokens, p, new, cursor)
            if status != DONE:
                return status
            budget -= pairs.posting_lengths[p]
            cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], rule, tokens, pairs.keys)
            merge_pair(words, pairs, heap, tokens, births, learned, limits, p)
        if budget < 0:
            return SLICE_ENDED
    return DONE
