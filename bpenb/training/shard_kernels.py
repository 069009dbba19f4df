"""What a shard of the words does in a round: merge a pair, tell what that brings forth, count again."""

from __future__ import annotations

import numpy as np

from bpenb._jit import kernel
from bpenb.training.merging import merge_rows
from bpenb.training.recount import recount_pair

__all__ = ["merge_in_shard", "recount_in_shard", "take_born"]

# mypy: disable-error-code="no-untyped-def"


@kernel
def merge_in_shard(words, pairs, births, p, new):
    """Merge pair p in every row that holds it, and leave what that brings forth in the scratch.

    words  : WordStore
    pairs  : PairIndex
    births : Births, cleared, with room for two events at every occurrence
    p, new : the pair, and the id that takes its place
    O(tokens of these rows)
    """
    merge_rows(words, pairs, births, p, pairs.keys[p] >> 32, pairs.keys[p] & 0xFFFFFFFF, new)


@kernel
def take_born(births, new, born, counts, event_keys, event_rows):
    """Write the pairs that a merge brought forth, and the rows they are in; clear the scratch.

    births       : Births
    new          : int64, the id of the merge
    born, counts : int64[n_slots], written
    event_keys   : int64[n_events], written: the pair of each event
    event_rows   : int32[n_events], written; ascending for each pair
    O(n_slots + n_events)
    """
    for e in range(event_keys.shape[0]):
        slot = np.int64(births.event_slots[e])
        event_keys[e] = (new << 32 | slot >> 1) if slot & 1 else (slot >> 1 << 32 | new)
        event_rows[e] = births.event_rows[e]
    for s in range(born.shape[0]):
        slot = np.int64(births.slots[s])
        born[s] = (new << 32 | slot >> 1) if slot & 1 else (slot >> 1 << 32 | new)
        counts[s] = births.counts[slot]
        births.counts[slot] = 0
        births.n_rows[slot] = 0
        births.last_row[slot] = -1
    births.used[:] = 0


@kernel
def recount_in_shard(words, pairs, places, counts):
    """Count pairs again, and drop the rows that no longer hold them.

    places : int32[n], of the pairs; −1 for one that is not here
    counts : int64[n], written
    O(tokens of the rows that held them)
    """
    for k in range(places.shape[0]):
        counts[k] = recount_pair(words, pairs, np.int64(places[k]), 0) if places[k] >= 0 else 0
