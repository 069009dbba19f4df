"""One training at work: its arrays, how they grow, where it starts, and what a slice stops for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bpenb._arrays import CountArray, IdArray, Int64Array, grown
from bpenb.training import merging
from bpenb.training.heap import heapify
from bpenb.training.index import find_first_pairs
from bpenb.training.recount import RecountScratch, recount_parallel
from bpenb.training.replay import heap_counts, make_given, mint_tokens, rank_of_pair, replay_slice
from bpenb.training.state import (
    HEAP_SIZE,
    N_MERGES,
    N_POSTINGS_READ,
    N_RECOUNTS,
    N_STALE_CHECKS,
    Births,
    Learned,
    Limits,
    PairHeap,
    PairIndex,
    TokenTable,
    WordStore,
)
from bpenb.training.words import allocate_births, allocate_learned, allocate_pairs, grown_pairs

__all__ = [
    "NO_LIMIT",
    "NO_MERGES",
    "GivenMerges",
    "LearningSettings",
    "Training",
    "guessed_floor",
    "may_merge",
]

T = TypeVar("T", bound=np.generic)

SLICE_POSTINGS = 2_000_000  # about a tenth of a second: bar, Ctrl-C
PARALLEL_POSTINGS = 16_384  # below it, waking threads costs more than they gain
PARALLEL_ROWS = 4_000_000  # below it, merging ends before Numba, which runs the threads, has paid for itself
RARE = 0.005  # times pairs per merge: the count below which a pair will hardly ever merge
FLOOR_STEP = 16
PAIRS_PER_TOKEN = 6  # room at first; memory that is not written costs nothing, moving it does
NO_LIMIT = 2**62


class LearningSettings(NamedTuple):
    """What decides a training, apart from the words."""

    n_merges: int  # with those that are given
    tie_rule: int
    min_count: int
    max_token_length: int  # in bytes of `TokenTable`
    workers: int
    merges_per_step: int = 1


class GivenMerges(NamedTuple):
    """Merges that were made before: of a base, or of a training that goes on.

    Attributes:
        merges: int32[n, 2], in learning ids.
        merge_counts: int64[n]; 0 where a merge was not learned from these words.
    """

    merges: IdArray
    merge_counts: CountArray


NO_MERGES = GivenMerges(np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int64))


class Training:
    """The state of one training; growing an array replaces it here."""

    def __init__(self, words: WordStore, tokens: TokenTable, settings: LearningSettings) -> None:
        self.words = words
        self.tokens = tokens
        n_tokens = tokens.prefixes.shape[0]
        self.may_share = settings.workers > 1 and words.places.shape[0] >= PARALLEL_ROWS
        self.limits = Limits(
            settings.n_merges,
            settings.min_count,
            settings.max_token_length,
            settings.tie_rule,
            n_tokens - settings.n_merges,
            SLICE_POSTINGS,
            PARALLEL_POSTINGS if self.may_share else NO_LIMIT,
        )
        self.min_count = settings.min_count
        self.workers = settings.workers
        self.births: Births = allocate_births(n_tokens, 1024)
        self.scratch = RecountScratch()
        self.pairs: PairIndex
        self.heap: PairHeap
        self.learned: Learned

    def build_index(self, made: GivenMerges, is_kept: Callable[[Int64Array, CountArray], Any]) -> None:
        """Count the pairs that there are after merges, and list the rows that hold each."""
        n_made = made.merges.shape[0]
        first = find_first_pairs(self.words, self.workers, is_kept)
        n_pairs, n_postings = first.keys.shape[0], first.posting_rows.shape[0]
        self.pairs, self.heap = allocate_pairs(
            n_pairs + PAIRS_PER_TOKEN * self.tokens.prefixes.shape[0], 3 * n_postings + 1024
        )
        self.pairs.keys[:n_pairs] = first.keys
        self.pairs.counts[:n_pairs] = self.heap.counts[:n_pairs] = first.counts
        self.pairs.checked_at[:n_pairs] = n_made
        self.pairs.posting_offsets[:n_pairs] = first.posting_offsets[:-1]
        self.pairs.posting_lengths[:n_pairs] = np.diff(first.posting_offsets)
        self.pairs.posting_rows[:n_postings] = first.posting_rows
        self.heap.pair_ids[:n_pairs] = np.arange(n_pairs, dtype=np.int32)
        learned = allocate_learned(self.limits.n_merges, n_made, n_pairs, n_postings)
        learned.merges[:n_made], learned.merge_counts[:n_made] = made
        self.learned = learned  # whole: Ctrl-C may come at any time, and keeps what is here

    def start(self, given: GivenMerges, floor: int | None = None) -> None:
        """Make ready to learn what follows the given merges.

        Most pairs are rare, and will never merge: those below `floor` get no postings. If it proves
        too high, learning starts again behind the merges so far, with a lower one. None: a guess.
        """
        n_made = given.merges.shape[0]

        def is_kept(keys: Int64Array, counts: CountArray) -> npt.NDArray[np.bool_]:
            guess = guessed_floor(counts, self.limits.n_merges - n_made) if floor is None else floor
            self.limits = self.limits._replace(min_count=max(self.min_count, guess))
            return may_merge(self.tokens, self.limits, keys, counts)

        self.build_index(given, is_kept)
        n_pairs = int(self.learned.cursor[HEAP_SIZE])
        heapify(self.heap, n_pairs, self.limits.tie_rule, self.tokens, self.pairs.keys)

    def lower_floor(self) -> bool:
        """Start again with rarer pairs if there are merges to make; tell whether that is so."""
        done = self.learned.cursor[N_MERGES] >= self.limits.n_merges
        if done or self.limits.min_count == self.min_count:
            return False
        counters = self.learned.cursor[N_STALE_CHECKS:].copy()
        self.start(self.made(), self.limits.min_count // FLOOR_STEP)
        self.learned.cursor[N_STALE_CHECKS:] = counters
        return True

    def replay(self, given: GivenMerges) -> None:
        """Make given merges in all rows."""
        n = given.merges.shape[0]
        done = 0
        while (done := int(mint_tokens(self.tokens, given.merges, self.limits.n_base_tokens, done))) < n:
            self._grow_token_bytes(*given.merges[done].tolist())
        table = make_given(given.merges)
        self.build_index(NO_MERGES, lambda keys, counts: rank_of_pair(table, keys) >= 0)
        n_pairs = int(self.learned.cursor[HEAP_SIZE])
        self.heap.counts[:n_pairs] = heap_counts(rank_of_pair(table, self.pairs.keys[:n_pairs]))
        heapify(self.heap, n_pairs, self.limits.tie_rule, self.tokens, self.pairs.keys)
        unlimited = self.limits._replace(min_count=1, max_token_length=NO_LIMIT)
        status = merging.SLICE_ENDED
        while status != merging.DONE:
            state = (self.words, self.pairs, self.heap, self.tokens, self.births, self.learned)
            status = int(replay_slice(*state, unlimited, table))
            self._provide(status)

    def run_slice(self) -> int:
        """Run the merge loop until it stops, and do what it stopped for; returns its status."""
        state = (self.words, self.pairs, self.heap, self.tokens, self.births, self.learned)
        status = int(merging.merge_slice(*state, self.limits))
        self._provide(status)
        return status

    def _provide(self, status: int) -> None:
        """Do what a slice stopped for."""
        if status == merging.RECOUNT_LARGE:
            self._recount_top()
        elif status == merging.NEED_PAIRS:
            self._grow_pairs()
        elif status == merging.NEED_POSTINGS:
            self._grow_postings()
        elif status == merging.NEED_EVENTS:
            self._grow_events()
        elif status == merging.NEED_TOKEN_BYTES:
            key = int(self.pairs.keys[self._next_pair()])
            self._grow_token_bytes(key >> 32, key & 0xFFFFFFFF)

    def _recount_top(self) -> None:
        cursor, pair = self.learned.cursor, int(self.heap.pair_ids[0])
        cursor[N_RECOUNTS] += 1
        cursor[N_POSTINGS_READ] += self.pairs.posting_lengths[pair]
        recount_parallel(self.words, self.pairs, pair, int(cursor[N_MERGES]), self.scratch)

    def _next_pair(self) -> int:
        """Return the pair whose merge needs room."""
        return int(self.heap.pair_ids[0])

    def _most_events(self) -> int:
        return 2 * min(int(self.pairs.counts[self._next_pair()]), int(self.words.rows.shape[0]))

    def _grow_token_bytes(self, left: int, right: int) -> None:
        lengths = np.diff(self.tokens.token_offsets)
        grown = _more(self.tokens.token_bytes, int(lengths[left] + lengths[right]))
        self.tokens = self.tokens._replace(token_bytes=grown)

    def _grow_pairs(self) -> None:
        n_pairs = self.pairs.keys.shape[0] + 2 * self.tokens.prefixes.shape[0]
        self.pairs = grown_pairs(self.pairs, n_pairs)
        self.heap = PairHeap(grown(self.heap.counts, n_pairs), grown(self.heap.pair_ids, n_pairs))

    def _grow_postings(self) -> None:
        grown = _more(self.pairs.posting_rows, self._most_events())
        self.pairs = self.pairs._replace(posting_rows=grown)

    def _grow_events(self) -> None:
        n = self._most_events()  # nothing to keep between merges
        self.births = self.births._replace(
            event_slots=np.empty(n, dtype=np.int32), event_rows=np.empty(n, dtype=np.int32)
        )

    def made(self) -> GivenMerges:
        """Return the merges so far, with their counts."""
        n = int(self.learned.cursor[N_MERGES])
        return GivenMerges(self.learned.merges[:n].copy(), self.learned.merge_counts[:n].copy())

    def counters(self) -> dict[str, int]:
        """What the loop has done so far."""
        names = ("merges", "pairs", "postings", "heap_size", "stale_checks", "recounts", "postings_read")
        return dict(zip(names, self.learned.cursor.tolist(), strict=True))


def _more(array: npt.NDArray[T], room: int) -> npt.NDArray[T]:
    return grown(array, array.shape[0] + room)


def guessed_floor(counts: CountArray, n_merges: int) -> int:
    """Return the count below which a pair will hardly be among so many merges that follow."""
    return int(RARE * float(counts.sum(dtype=np.float64)) / (n_merges + 1))


def may_merge(
    tokens: TokenTable, limits: Limits, keys: Int64Array, counts: CountArray
) -> npt.NDArray[np.bool_]:
    """Tell which pairs are frequent and short enough to merge."""
    lengths = np.diff(tokens.token_offsets)
    joined = lengths[keys >> 32] + lengths[keys & 0xFFFFFFFF]
    is_frequent = counts >= limits.min_count
    allowed: npt.NDArray[np.bool_] = is_frequent & (joined <= limits.max_token_length)
    return allowed
