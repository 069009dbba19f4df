"""The driver of training: pack → count pairs → index → heap → slices of the merge loop → result."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bpenb._arrays import N_BYTES, ByteArray, CountArray, IdArray, Int64Array
from bpenb._jit import parallel_entry_is_cheap, thread_count
from bpenb.progress import Reporter
from bpenb.training import merging
from bpenb.training.heap import heapify
from bpenb.training.index import count_byte_pairs, fill_index, open_index
from bpenb.training.recount import RecountScratch, recount_parallel
from bpenb.training.state import (
    N_MERGES,
    N_PAIRS,
    N_POSTINGS_READ,
    N_RECOUNTS,
    Births,
    Learned,
    Limits,
    PairHeap,
    PairIndex,
    TokenTable,
    WordStore,
)
from bpenb.training.words import (
    allocate_births,
    allocate_learned,
    allocate_pairs,
    allocate_tokens,
    pack_words,
)

__all__ = ["LearningSettings", "MergeResult", "learn_from_words"]

T = TypeVar("T", bound=np.generic)

N_PLACES = N_BYTES * N_BYTES
SLICE_POSTINGS = 2_000_000  # about a tenth of a second: bar, Ctrl-C
PARALLEL_POSTINGS = 16_384  # below it, waking threads costs more than they gain
NO_LIMIT = 2**62


class LearningSettings(NamedTuple):
    """What decides a training, apart from the words."""

    n_merges: int
    tie_rule: int
    byte_order: ByteArray
    min_count: int
    max_token_length: int
    workers: int


class MergeResult(NamedTuple):
    """The merges of a training.

    Attributes:
        merges: int32[n, 2], learning ids of the left and right part; row = rank.
        merge_counts: int64[n], occurrences of the pair when it was merged.
        byte_order: uint8[256], the byte that each of the learning ids 0…255 stands for.
        n_tokens_left: tokens that the training text has after the last merge.
        counters: what the loop did (stale recounts, postings read), for those who tune it.
    """

    merges: IdArray
    merge_counts: CountArray
    byte_order: ByteArray
    n_tokens_left: int
    counters: dict[str, int]


class _Training:
    """The state of one training; growing an array replaces it here."""

    def __init__(self, words: WordStore, settings: LearningSettings) -> None:
        self.words = words
        self.limits = Limits(
            settings.n_merges,
            settings.min_count,
            settings.max_token_length,
            settings.tie_rule,
            SLICE_POSTINGS,
            PARALLEL_POSTINGS if settings.workers > 1 else NO_LIMIT,
        )
        self.tokens: TokenTable = allocate_tokens(settings.byte_order, settings.n_merges)
        self.births: Births = allocate_births(N_BYTES + settings.n_merges, 1024)
        self.scratch = RecountScratch()
        self.pairs: PairIndex
        self.heap: PairHeap
        self.learned: Learned

    def build_index(self) -> None:
        """Count the first pairs, and list the words that hold each."""
        pair_counts = np.zeros(N_PLACES, dtype=np.int64)
        n_pair_words = np.zeros(N_PLACES, dtype=np.int64)
        last_word = np.full(N_PLACES, -1, dtype=np.int32)
        count_byte_pairs(self.words, pair_counts, n_pair_words, last_word)
        min_count = self.limits.min_count if self.limits.max_token_length >= 2 else NO_LIMIT
        kept = pair_counts >= min_count
        n_postings = int(n_pair_words[kept].sum())
        n_pairs = int(np.count_nonzero(kept))
        self.pairs, self.heap = allocate_pairs(n_pairs + 4 * N_PLACES, n_postings + n_postings // 2 + 1024)
        pair_of_place = np.empty(N_PLACES, dtype=np.int32)
        open_index(pair_counts, n_pair_words, min_count, pair_of_place, self.pairs)
        last_word[:] = -1
        fill_index(self.words, pair_of_place, last_word, self.pairs)
        self.heap.counts[:n_pairs] = self.pairs.counts[:n_pairs]
        self.heap.pair_ids[:n_pairs] = np.arange(n_pairs, dtype=np.int32)
        heapify(self.heap, n_pairs, self.limits.tie_rule, self.tokens, self.pairs.keys)
        self.learned = allocate_learned(self.limits.n_merges, n_pairs, n_postings)

    def run_slice(self) -> int:
        """Run the merge loop until it stops, and do what it stopped for; returns its status."""
        status = int(
            merging.merge_slice(
                self.words, self.pairs, self.heap, self.tokens, self.births, self.learned, self.limits
            )
        )
        if status == merging.RECOUNT_LARGE:
            self._recount_top()
        elif status == merging.NEED_PAIRS:
            self._grow_pairs()
        elif status == merging.NEED_POSTINGS:
            self._grow_postings()
        elif status == merging.NEED_EVENTS:
            self._grow_events()
        elif status == merging.NEED_TOKEN_BYTES:
            grown = _grow(self.tokens.token_bytes, self._next_token_length())
            self.tokens = self.tokens._replace(token_bytes=grown)
        return status

    def _recount_top(self) -> None:
        cursor, pair = self.learned.cursor, int(self.heap.pair_ids[0])
        cursor[N_RECOUNTS] += 1
        cursor[N_POSTINGS_READ] += self.pairs.posting_lengths[pair]
        recount_parallel(self.words, self.pairs, pair, int(cursor[N_MERGES]), self.scratch)

    def _most_events(self) -> int:
        return 2 * min(int(self.heap.counts[0]), int(self.words.tokens.shape[0]))

    def _next_token_length(self) -> int:
        key = int(self.pairs.keys[self.heap.pair_ids[0]])
        lengths = np.diff(self.tokens.token_offsets)
        return int(lengths[key >> 32] + lengths[key & 0xFFFFFFFF])

    def _grow_pairs(self) -> None:
        room = 2 * self.tokens.prefixes.shape[0]
        self.pairs = self.pairs._replace(
            keys=_grow(self.pairs.keys, room),
            counts=_grow(self.pairs.counts, room),
            checked_at=_grow(self.pairs.checked_at, room),
            posting_offsets=_grow(self.pairs.posting_offsets, room),
            posting_lengths=_grow(self.pairs.posting_lengths, room),
        )
        self.heap = PairHeap(_grow(self.heap.counts, room), _grow(self.heap.pair_ids, room))

    def _grow_postings(self) -> None:
        grown = _grow(self.pairs.posting_word_ids, self._most_events())
        self.pairs = self.pairs._replace(posting_word_ids=grown)

    def _grow_events(self) -> None:
        n = self._most_events()  # nothing to keep between merges
        self.births = self.births._replace(
            event_slots=np.empty(n, dtype=np.int32), event_words=np.empty(n, dtype=np.int32)
        )

    def counters(self) -> dict[str, int]:
        """What the loop has done so far."""
        names = ("merges", "pairs", "postings", "heap_size", "stale_checks", "recounts", "postings_read")
        return dict(zip(names, self.learned.cursor.tolist(), strict=True))


def _grow(array: npt.NDArray[T], room: int) -> npt.NDArray[T]:
    """Return a copy half as large again, and with `room` more places at least."""
    grown = np.empty(array.shape[0] + max(array.shape[0] // 2, room), dtype=array.dtype)
    grown[: array.shape[0]] = array
    return grown


def learn_from_words(
    word_bytes: ByteArray,
    word_offsets: Int64Array,
    word_counts: CountArray,
    settings: LearningSettings,
    reporter: Reporter,
) -> MergeResult:
    """Learn merges from words and their counts; everything is checked already.

    Args:
        word_bytes, word_offsets, word_counts: as in `WordCounts`.
        settings: what to learn.
        reporter: told of the phase `merge`, and called several times a second.
    """
    reporter.start("merge", settings.n_merges, "merges")
    with thread_count(settings.workers):
        training = _Training(pack_words(word_bytes, word_offsets, word_counts, settings.byte_order), settings)
        training.build_index()
        learned = training.learned
        status = merging.SLICE_ENDED
        while status != merging.DONE:
            status = training.run_slice()
            n_merges = int(learned.cursor[N_MERGES])
            last_count = int(learned.merge_counts[n_merges - 1]) if n_merges else 0
            reporter.update(n_merges, count=last_count, pairs=int(learned.cursor[N_PAIRS]))
            if status == merging.RECOUNT_LARGE and not parallel_entry_is_cheap():
                training.limits = training.limits._replace(parallel_postings=NO_LIMIT)
    n_merges = int(learned.cursor[N_MERGES])
    reporter.finish(n_merges)
    n_tokens_left = int((training.words.row_lengths * training.words.word_counts).sum())
    return MergeResult(
        learned.merges[:n_merges].copy(),
        learned.merge_counts[:n_merges].copy(),
        settings.byte_order,
        n_tokens_left,
        training.counters(),
    )
