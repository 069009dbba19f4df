"""A shard of the words in a training that is shared out: its rows, and which of them hold each pair.

It knows nothing of other shards: it merges what it is told to, tells which pairs that brought forth,
and counts pairs again. The kernels are those of every training; only the books are its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bpenb._arrays import N_BYTES, ByteArray, CountArray, IdArray, Int64Array, grown, offsets_from_lengths
from bpenb.counting import Words
from bpenb.training.at_work import NO_LIMIT, GivenMerges, LearningSettings, Training
from bpenb.training.index import distinct_pairs, find_first_pairs
from bpenb.training.pair_lookup import PairLookup
from bpenb.training.rounds import NO_KEYS, Answer, Round, ShardLostError
from bpenb.training.shard_kernels import Born, merge_in_shard, recount_in_shard
from bpenb.training.ties import SMALLEST_IDS
from bpenb.training.words import (
    allocate_births,
    allocate_pairs,
    byte_tokens,
    grown_pairs,
    pack_words,
    row_lengths,
)

__all__ = ["WordShard"]

_FIRST_BORN = 1024


class WordShard:
    """The words of one shard.

    Args:
        words: bytes, offsets and counts, as in `WordCounts` (in any order), before the first merge.
        byte_order: uint8[256], the byte of each learning id.
        n_merges: most merges that will be made.

    Raises:
        TrainingError: more words than a training holds.
    """

    def __init__(self, words: Words, byte_order: ByteArray, n_merges: int) -> None:
        self._byte_order = byte_order
        self._words = pack_words(*words, byte_order)
        self._births = allocate_births(N_BYTES + n_merges, 1024)
        self._n_ids = N_BYTES  # with those of the merges made
        self._is_indexed = False
        self._list_rows(NO_KEYS)

    def first_pairs(self, n_ids: int) -> tuple[Int64Array, CountArray]:
        """Return the distinct pairs there are now, ascending, and how often each occurs.

        Args:
            n_ids: that there are, with those of the merges made.

        Raises:
            ShardLostError: as of `run`.
        """
        self._check_standing(n_ids)
        return distinct_pairs(self._words)

    def index(self, keys: Int64Array, n_ids: int) -> None:
        """List the rows that hold these pairs (ascending), and forget all others; else as `first_pairs`."""
        self._check_standing(n_ids)
        self._list_rows(keys)
        self._is_indexed = True

    def restore(self, merges: IdArray, keys: Int64Array) -> None:
        """Make merges that were made before this shard was built again, and list rows of these pairs."""
        n_merges = merges.shape[0]
        settings = LearningSettings(n_merges, SMALLEST_IDS, 1, NO_LIMIT, 1)
        given = GivenMerges(merges, np.zeros(n_merges, dtype=np.int64))
        Training(self._words, byte_tokens(self._byte_order, n_merges), settings).replay(given)
        self._n_ids = N_BYTES + n_merges
        self.index(keys, self._n_ids)

    def run(self, asked: Round) -> Answer:
        """Do a round; see `Round`.

        Raises:
            ShardLostError: this shard does not stand where the round begins: it was built again by
                somebody who knew nothing of merges.
        """
        self._check_standing(asked.first_new)
        if not self._is_indexed:
            raise ShardLostError("knows of no pairs")
        self._n_ids += asked.merges.shape[0]
        self._keep(asked.kept)
        self._merge(self._lookup.find(asked.merges), asked.first_new)
        counts = np.empty(asked.recounts.shape[0], dtype=np.int64)
        recount_in_shard(self._words, self._pairs, self._lookup.find(asked.recounts), counts)
        n_born = int(self._born.used[0])
        return Answer(self._born.keys[:n_born].copy(), self._born.counts[:n_born].copy(), counts)

    def n_tokens(self, n_ids: int) -> int:
        """Return how many tokens the text of this shard has now; else as `first_pairs`."""
        self._check_standing(n_ids)
        return int((row_lengths(self._words) * self._words.counts[self._words.places]).sum())

    def n_array_bytes(self) -> int:
        """Return what the arrays of this shard take, in bytes."""
        arrays = (*self._words[::2], *self._pairs, *self._births)
        return sum(array.nbytes for array in arrays) + self._lookup.n_array_bytes()

    def _check_standing(self, n_ids: int) -> None:
        if n_ids != self._n_ids:
            raise ShardLostError(f"stands at id {self._n_ids}, not at {n_ids}")

    def _list_rows(self, keys: Int64Array) -> None:
        found = find_first_pairs(self._words, 1, lambda some, counts: np.isin(some, keys))
        lengths = np.diff(found.posting_offsets)
        self._pairs, _ = allocate_pairs(0, 0)
        self._lookup = PairLookup()
        self._n_postings = 0
        self._born = _nothing_born()
        self._append(found.keys, found.counts, lengths, found.posting_rows)

    def _merge(self, places: IdArray, first_new: int) -> None:
        """Merge pairs in their order; what they bring forth is in `_born` then."""
        self._born.used[:] = 0
        done = 0
        while done < places.shape[0]:
            state = (self._words, self._pairs, self._births)
            done = int(merge_in_shard(*state, places, done, first_new, self._born))
            if done < places.shape[0]:
                self._make_room(2 * min(int(self._pairs.counts[places[done]]), self._words.rows.shape[0]))

    def _make_room(self, most: int) -> None:
        """Have room for so many more new pairs and events."""
        if self._births.event_slots.shape[0] < most:
            room = (np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32))  # nothing to keep
            self._births = self._births._replace(event_slots=room[0], event_rows=room[1])
        n_pairs, n_events = self._born.used.tolist()
        self._born = self._born._replace(
            keys=grown(self._born.keys, n_pairs + most),
            counts=grown(self._born.counts, n_pairs + most),
            event_keys=grown(self._born.event_keys, n_events + most),
            event_rows=grown(self._born.event_rows, n_events + most),
        )

    def _keep(self, kept: Int64Array) -> None:
        """Write the postings of those pairs that were born in the last round and may ever merge."""
        if not kept.shape[0]:
            return
        n_pairs, n_events = self._born.used.tolist()
        keys, counts = self._born.keys[:n_pairs], self._born.counts[:n_pairs]
        is_kept = _are_among(kept, keys)
        keys, counts = keys[is_kept], counts[is_kept]
        ascending = np.argsort(keys)
        keys, counts = keys[ascending], counts[ascending]
        event_keys, rows = self._born.event_keys[:n_events], self._born.event_rows[:n_events]
        is_kept = _are_among(keys, event_keys)
        event_places = np.searchsorted(keys, event_keys[is_kept])
        rows = rows[is_kept][np.argsort(event_places, kind="stable")]
        self._append(keys, counts, np.bincount(event_places, minlength=keys.shape[0]), rows)

    def _append(self, keys: Int64Array, counts: CountArray, lengths: Int64Array, rows: IdArray) -> None:
        """Add pairs with their postings, which stand one behind the other."""
        first, last = len(self._lookup), len(self._lookup) + keys.shape[0]
        begin, end = self._n_postings, self._n_postings + rows.shape[0]
        self._reserve(last, end)
        self._lookup.add(keys)
        self._pairs.keys[first:last] = keys
        self._pairs.counts[first:last] = counts
        self._pairs.posting_offsets[first:last] = begin + offsets_from_lengths(lengths)[:-1]
        self._pairs.posting_lengths[first:last] = lengths
        self._pairs.posting_rows[begin:end] = rows
        self._n_postings = end

    def _reserve(self, n_pairs: int, n_postings: int) -> None:
        pairs = self._pairs
        if pairs.keys.shape[0] < n_pairs:
            self._pairs = pairs = grown_pairs(pairs, n_pairs)
        if pairs.posting_rows.shape[0] < n_postings:
            self._pairs = pairs._replace(posting_rows=grown(pairs.posting_rows, n_postings))


def _nothing_born() -> Born:
    keys, rows = np.empty(_FIRST_BORN, dtype=np.int64), np.empty(_FIRST_BORN, dtype=np.int32)
    return Born(keys, keys.copy(), keys.copy(), rows, np.zeros(2, dtype=np.int64))


def _are_among(ascending: Int64Array, keys: Int64Array) -> npt.NDArray[np.bool_]:
    """Tell which keys are among those that ascend."""
    if not ascending.shape[0]:
        return np.zeros(keys.shape[0], dtype=np.bool_)
    places = np.minimum(np.searchsorted(ascending, keys), ascending.shape[0] - 1)
    found: npt.NDArray[np.bool_] = ascending[places] == keys
    return found
