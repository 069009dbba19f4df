"""The pairs that one merge brings forth: noted slot by slot, then given an id, postings and a heap entry.

Every new pair holds the new token, so its neighbour's id says which it is: slot 2 t is (t, new),
slot 2 t + 1 is (new, t). No hash table is needed.
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import helper
from bpenb.training.heap import push
from bpenb.training.state import HEAP_SIZE, N_MERGES, N_PAIRS, N_POSTINGS

__all__ = ["N_EVENTS", "N_SLOTS", "close_births", "note_birth", "open_births"]

# mypy: disable-error-code="no-untyped-def"

N_SLOTS, N_EVENTS = 0, 1  # places in `Births.used`


@helper
def note_birth(births, slot, r, count):
    """Count one new adjacency in row r; rows come in ascending order."""
    used = births.used
    if births.n_rows[slot] == 0:
        births.slots[used[N_SLOTS]] = slot
        used[N_SLOTS] += 1
    births.counts[slot] += count
    if births.last_row[slot] != r:
        births.last_row[slot] = r
        births.n_rows[slot] += 1
        births.event_slots[used[N_EVENTS]] = slot
        births.event_rows[used[N_EVENTS]] = r
        used[N_EVENTS] += 1


@helper
def open_births(pairs, births, tokens, new, limits, cursor):
    """Give each new pair that may ever merge an id and room for its postings.

    `births.last_row` holds the pair id afterwards, or −1.
    """
    new_length = tokens.token_offsets[new + 1] - tokens.token_offsets[new]
    for s in range(births.used[N_SLOTS]):
        slot = np.int64(births.slots[s])
        other = slot >> 1
        length = new_length + tokens.token_offsets[other + 1] - tokens.token_offsets[other]
        births.last_row[slot] = -1
        if births.counts[slot] >= limits.min_count and length <= limits.max_token_length:
            p = cursor[N_PAIRS]
            cursor[N_PAIRS] += 1
            births.last_row[slot] = p
            pairs.keys[p] = (new << 32 | other) if slot & 1 else (other << 32 | new)
            pairs.counts[p] = births.counts[slot]
            pairs.checked_at[p] = cursor[N_MERGES] + 1
            pairs.posting_offsets[p] = cursor[N_POSTINGS]
            pairs.posting_lengths[p] = 0
            cursor[N_POSTINGS] += births.n_rows[slot]


@helper
def close_births(pairs, births, heap, tokens, rule, cursor):
    """Write the postings of the new pairs, push the pairs, and clear the scratch."""
    for e in range(births.used[N_EVENTS]):
        p = births.last_row[births.event_slots[e]]
        if p >= 0:
            pairs.posting_rows[pairs.posting_offsets[p] + pairs.posting_lengths[p]] = births.event_rows[e]
            pairs.posting_lengths[p] += 1
    size = cursor[HEAP_SIZE]
    for s in range(births.used[N_SLOTS]):
        slot = births.slots[s]
        p = np.int64(births.last_row[slot])
        if p >= 0:
            size = push(heap, size, rule, tokens, pairs.keys, births.counts[slot], p)
        births.counts[slot] = 0
        births.n_rows[slot] = 0
        births.last_row[slot] = -1
    cursor[HEAP_SIZE] = size
    births.used[:] = 0
