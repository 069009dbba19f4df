"""What a shard of the words does in a round: merge a pair, tell what that brings forth, count again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import CountArray, IdArray, Int64Array
from bpenb._jit import helper, kernel
from bpenb.training.births import N_EVENTS, N_SLOTS
from bpenb.training.merging import merge_rows
from bpenb.training.recount import recount_pair

__all__ = ["Born", "merge_in_shard", "recount_in_shard"]

# mypy: disable-error-code="no-untyped-def"


class Born(NamedTuple):
    """What the merges of a round bring forth, one merge after the other."""

    keys: Int64Array  # the new pairs, each once
    counts: CountArray
    event_keys: Int64Array  # a pair for each row that it is in; rows ascend for each pair
    event_rows: IdArray
    used: Int64Array  # int64[2], pairs and events that are there


@helper
def _key_of(slot, new):
    """Return the pair of a slot of `Births`."""
    return (new << 32 | slot >> 1) if slot & 1 else (slot >> 1 << 32 | new)


@helper
def _take_born(births, new, born):
    """Write what a merge has left in the scratch, and clear that."""
    n_pairs, n_events = born.used[0], born.used[1]
    for e in range(births.used[N_EVENTS]):
        born.event_keys[n_events + e] = _key_of(np.int64(births.event_slots[e]), new)
        born.event_rows[n_events + e] = births.event_rows[e]
    for s in range(births.used[N_SLOTS]):
        slot = np.int64(births.slots[s])
        born.keys[n_pairs + s] = _key_of(slot, new)
        born.counts[n_pairs + s] = births.counts[slot]
        births.counts[slot] = 0
        births.n_rows[slot] = 0
        births.last_row[slot] = -1
    born.used[0] += births.used[N_SLOTS]
    born.used[1] += births.used[N_EVENTS]
    births.used[:] = 0


@helper
def _most_events(words, pairs, p):
    """Return a bound on the new adjacencies of merging pair p: two for each occurrence."""
    return 2 * min(pairs.counts[p], np.int64(words.rows.shape[0]))


@kernel
def merge_in_shard(words, pairs, births, places, done, first_new, born):
    """Merge pairs one after the other, until all are merged or there is no room for what one brings forth.

    words     : WordStore
    pairs     : PairIndex
    births    : Births, cleared
    places    : int32[n], of the pairs; −1 for one that is not here
    done      : how many of them are merged
    first_new : id of the first; the others follow
    born      : Born, added to
    Returns   : int64, how many are merged now
    O(tokens of the rows that hold them)
    """
    for k in range(done, places.shape[0]):
        p = np.int64(places[k])
        if p < 0:
            continue
        most = _most_events(words, pairs, p)
        room = min(born.event_keys.shape[0] - born.used[1], np.int64(births.event_slots.shape[0]))
        if room < most or born.keys.shape[0] - born.used[0] < most:
            return np.int64(k)
        new = np.int64(first_new) + k
        merge_rows(words, pairs, births, p, pairs.keys[p] >> 32, pairs.keys[p] & 0xFFFFFFFF, new)
        _take_born(births, new, born)
    return np.int64(places.shape[0])


@kernel
def recount_in_shard(words, pairs, places, counts):
    """Count pairs again, and drop the rows that no longer hold them.

    places : int32[n], of the pairs; −1 for one that is not here
    counts : int64[n], written
    O(tokens of the rows that held them)
    """
    for k in range(places.shape[0]):
        counts[k] = recount_pair(words, pairs, np.int64(places[k]), 0) if places[k] >= 0 else 0
