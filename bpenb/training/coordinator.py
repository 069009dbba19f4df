"""The coordinator of a training whose words lie in shards: rounds of merges, recounts and births.

    plan → ask all shards → add up their answers → plan …

It holds the heap of upper bounds and the bytes of the tokens, and never sees a word. A pair and its
counts mean the same as in a training on one machine, so the merges are the same, for any number of
shards: counts are added up, and ties are broken here alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bpenb._arrays import N_BYTES, ByteArray, CountArray, IdArray, Int64Array, grown
from bpenb.progress import Reporter
from bpenb.training.at_work import (
    FLOOR_STEP,
    NO_LIMIT,
    GivenMerges,
    LearningSettings,
    guessed_floor,
    may_merge,
)
from bpenb.training.driver import MergeResult
from bpenb.training.heap import heapify
from bpenb.training.round_plan import (
    PairLists,
    link_pairs,
    plan_merges,
    plan_recounts,
    take_births,
    take_counts,
)
from bpenb.training.rounds import NO_KEYS, Answer, Round, Shards, Standing, ask_all
from bpenb.training.state import HEAP_SIZE, N_MERGES, N_PAIRS, Limits, PairHeap
from bpenb.training.words import allocate_learned, allocate_pairs, byte_tokens, grown_pairs

__all__ = ["Coordinator", "learn_from_shards", "sum_by_key"]

MOST_MERGES = 64  # in a round
MOST_RECOUNTS = 64


def learn_from_shards(
    shards: Shards, byte_order: ByteArray, settings: LearningSettings, reporter: Reporter
) -> MergeResult:
    """Learn merges from words that lie in shards; everything is checked already.

    Args:
        shards: where they are, as they are before the first merge.
        byte_order: uint8[256], the byte of each learning id.
        settings: what to learn.
        reporter: told of the phase `merge`, round by round.

    Raises:
        ShardLostError: a shard was lost time and again.
    """
    reporter.start("merge", settings.n_merges, "merges")
    coordinator = Coordinator(shards, byte_order, settings)
    coordinator.start(None)
    while coordinator.run_round() or coordinator.lower_floor():
        cursor = coordinator.learned.cursor
        n_merges = int(cursor[N_MERGES])
        last_count = int(coordinator.learned.merge_counts[n_merges - 1]) if n_merges else 0
        reporter.update(n_merges, count=last_count, pairs=int(cursor[N_PAIRS]))
    made = coordinator.made()
    n_tokens_left = sum(coordinator.ask_all("n_tokens", N_BYTES + made.merges.shape[0]))
    reporter.finish(made.merges.shape[0])
    return MergeResult(*made, byte_order, n_tokens_left, coordinator.counters())


class Coordinator:
    """The state of one training; growing an array replaces it here."""

    def __init__(self, shards: Shards, byte_order: ByteArray, settings: LearningSettings) -> None:
        self._shards = shards
        self._min_count = settings.min_count
        self._tokens = byte_tokens(byte_order, settings.n_merges)
        self._limits = Limits(
            settings.n_merges,
            settings.min_count,
            settings.max_token_length,
            settings.tie_rule,
            N_BYTES,
            NO_LIMIT,
            NO_LIMIT,
        )
        self.learned = allocate_learned(settings.n_merges, 0, 0, 0)
        self._n_standing = 0  # merges that every shard has made
        self._kept = NO_KEYS
        self._asked_merges = NO_KEYS
        self._longest = 1
        self._planned: IdArray = np.empty(MOST_MERGES, dtype=np.int32)
        self._recounted: IdArray = np.empty(MOST_RECOUNTS, dtype=np.int32)
        self._aside: IdArray = np.empty(MOST_RECOUNTS, dtype=np.int32)
        self.n_rounds = self.n_bytes_out = self.n_bytes_in = 0

    def start(self, floor: int | None) -> None:
        """Have all pairs counted as they are now, and go on from there (floor: see `Training.start`)."""
        n_made = self._n_standing = int(self.learned.cursor[N_MERGES])
        self._kept = self._asked_merges = NO_KEYS
        self._open_pairs(NO_KEYS, NO_KEYS)  # what a shard that is built again has to list
        keys, counts = sum_by_key(self.ask_all("first_pairs", N_BYTES + n_made))
        guess = guessed_floor(counts, self._limits.n_merges - n_made) if floor is None else floor
        self._limits = self._limits._replace(min_count=max(self._min_count, guess))
        is_kept = may_merge(self._tokens, self._limits, keys, counts)
        self._open_pairs(keys[is_kept], counts[is_kept])
        self.ask_all("index", self._pairs.keys[: int(is_kept.sum())], N_BYTES + n_made)

    def run_round(self) -> bool:
        """Run one round; returns False if there is nothing left to do."""
        self._reserve_token_bytes()
        n_made = int(self.learned.cursor[N_MERGES])
        state = (self._heap, self._tokens, self.learned, self._limits)
        n_merges = int(plan_merges(self._pairs, self._lists, *state, self._planned))
        n_recounts = int(plan_recounts(self._pairs, *state, self._recounted, self._aside))
        if not n_merges and not n_recounts:
            return False
        self._asked_merges = self._pairs.keys[self._planned[:n_merges]]
        asked_pairs = self._recounted[:n_recounts]
        asked = Round(self._kept, self._asked_merges, N_BYTES + n_made, self._pairs.keys[asked_pairs])
        answers: list[Answer] = self.ask_all("run", asked)
        self._note_traffic(asked, answers)
        self._n_standing = n_made + n_merges
        self._asked_merges = NO_KEYS
        counts = np.sum([answer.counts for answer in answers], axis=0, dtype=np.int64)
        take_counts(self._pairs, *state, asked_pairs, counts)
        self._take_births(answers)
        return True

    def lower_floor(self) -> bool:
        """Start again with rarer pairs if there are merges to make; tell whether that is so."""
        done = self.learned.cursor[N_MERGES] >= self._limits.n_merges
        if done or self._limits.min_count == self._min_count:
            return False
        self.start(self._limits.min_count // FLOOR_STEP)
        return True

    def ask_all(self, method: str, *args: object) -> list[Any]:
        """Call a method of every shard."""
        return ask_all(self._shards, self._standing, method, *args)

    def made(self) -> GivenMerges:
        """Return the merges so far, with their counts."""
        n = int(self.learned.cursor[N_MERGES])
        return GivenMerges(self.learned.merges[:n].copy(), self.learned.merge_counts[:n].copy())

    def counters(self) -> dict[str, int]:
        """What was done so far; bytes are those of arrays, without their envelopes."""
        names = ("merges", "pairs", "postings", "heap_size", "stale_checks", "recounts", "postings_read")
        counters = dict(zip(names, self.learned.cursor.tolist(), strict=True))
        del counters["postings"], counters["postings_read"]  # the shards' own affair
        return counters | {
            "shards": len(self._shards),
            "rounds": self.n_rounds,
            "bytes_to_shards": self.n_bytes_out,
            "bytes_from_shards": self.n_bytes_in,
        }

    def _standing(self) -> Standing:
        """What a shard that was lost must be brought to, before the round that is on."""
        pairs = self._pairs.keys[: int(self.learned.cursor[N_PAIRS])]
        alive = pairs[self._pairs.counts[: pairs.shape[0]] > 0]
        keys = np.unique(np.concatenate([alive, self._asked_merges]))
        return Standing(self.learned.merges[: self._n_standing], keys)

    def _open_pairs(self, keys: Int64Array, counts: CountArray) -> None:
        """Begin with these pairs, and no others."""
        n, n_tokens = keys.shape[0], self._tokens.prefixes.shape[0]
        self._pairs, self._heap = allocate_pairs(n + n_tokens, 0)
        self._lists = _empty_lists(n_tokens, n + n_tokens)
        self._pairs.keys[:n] = keys
        self._pairs.counts[:n] = self._heap.counts[:n] = counts
        self._pairs.checked_at[:n] = self.learned.cursor[N_MERGES]
        self._heap.pair_ids[:n] = np.arange(n, dtype=np.int32)
        link_pairs(self._lists, self._pairs.keys, n)
        heapify(self._heap, n, self._limits.tie_rule, self._tokens, self._pairs.keys)
        self.learned.cursor[N_PAIRS] = self.learned.cursor[HEAP_SIZE] = n

    def _take_births(self, answers: list[Answer]) -> None:
        keys, counts = sum_by_key([(answer.born, answer.born_counts) for answer in answers])
        self._reserve_pairs(keys.shape[0])
        state = (self._heap, self._tokens, self.learned, self._limits)
        take_births(self._pairs, self._lists, *state, keys, counts)
        self._kept = keys[keys >= 0]

    def _reserve_pairs(self, n_new: int) -> None:
        n = int(self.learned.cursor[N_PAIRS]) + n_new
        if n <= self._pairs.keys.shape[0]:
            return
        self._pairs = grown_pairs(self._pairs, n)
        self._heap = PairHeap(grown(self._heap.counts, n), grown(self._heap.pair_ids, n))
        self._lists = self._lists._replace(
            next_as_left=grown(self._lists.next_as_left, n),
            next_as_right=grown(self._lists.next_as_right, n),
        )

    def _reserve_token_bytes(self) -> None:
        """Have room for a round of merges, none of which joins tokens of the same round."""
        n_tokens = N_BYTES + int(self.learned.cursor[N_MERGES])
        offsets = self._tokens.token_offsets
        recent = max(0, n_tokens - MOST_MERGES)
        self._longest = max(self._longest, int(np.diff(offsets[recent : n_tokens + 1]).max()))
        n_bytes = int(offsets[n_tokens]) + MOST_MERGES * 2 * self._longest
        if n_bytes > self._tokens.token_bytes.shape[0]:
            self._tokens = self._tokens._replace(token_bytes=grown(self._tokens.token_bytes, n_bytes))

    def _note_traffic(self, asked: Round, answers: list[Answer]) -> None:
        n_out = asked.kept.nbytes + asked.merges.nbytes + asked.recounts.nbytes
        self.n_rounds += 1
        self.n_bytes_out += n_out * len(answers)
        self.n_bytes_in += sum(part.nbytes for answer in answers for part in answer)


def _empty_lists(n_tokens: int, n_pairs: int) -> PairLists:
    sizes = (n_tokens, n_tokens, n_pairs, n_pairs)
    return PairLists(*(np.full(size, -1, dtype=np.int32) for size in sizes))


def sum_by_key(parts: list[tuple[Int64Array, CountArray]]) -> tuple[Int64Array, CountArray]:
    """Add up the counts of pairs that several shards have.

    Args:
        parts: keys and counts, int64[n] each; a key once in each part.

    Returns:
        The distinct keys, ascending, and their counts.

    Example:
        >>> keys, counts = sum_by_key([(np.array([7, 3]), np.array([1, 1])), (np.array([7]), np.array([5]))])
        >>> keys.tolist(), counts.tolist()
        ([3, 7], [1, 6])
    """
    keys, places = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.zeros(keys.shape[0], dtype=np.int64)
    np.add.at(counts, places, np.concatenate([part[1] for part in parts]))
    return keys, counts
