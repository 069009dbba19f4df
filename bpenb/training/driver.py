"""The driver of training: pack → [make given merges] → index → slices of the merge loop → result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from bpenb._arrays import ByteArray, CountArray, IdArray, Int64Array
from bpenb._jit import parallel_entry_is_cheap, thread_count
from bpenb.progress import Reporter
from bpenb.training import merging
from bpenb.training.at_work import NO_LIMIT, NO_MERGES, GivenMerges, LearningSettings, Training
from bpenb.training.state import N_MERGES, N_PAIRS
from bpenb.training.steps import training_for
from bpenb.training.words import byte_tokens, pack_words, row_lengths

__all__ = ["Keep", "MergeResult", "learn_from_words", "learn_rest", "merge_result"]

KEEP_SECONDS = 60.0  # what a crash may cost

Keep: TypeAlias = Callable[[GivenMerges], None]


class MergeResult(NamedTuple):
    """The merges of a training.

    Attributes:
        merges: int32[n, 2], learning ids of the left and right part; row = rank.
        merge_counts: int64[n], occurrences of the pair when it was merged.
        byte_order: uint8[256], the byte that each of the learning ids 0…255 stands for (of words);
            empty where they are characters.
        n_tokens_left: tokens that the training text has after the last merge.
        counters: what the loop did (stale recounts, postings read), for those who tune it.
    """

    merges: IdArray
    merge_counts: CountArray
    byte_order: ByteArray
    n_tokens_left: int
    counters: dict[str, int]


def learn_from_words(
    word_bytes: ByteArray,
    word_offsets: Int64Array,
    word_counts: CountArray,
    byte_order: ByteArray,
    settings: LearningSettings,
    reporter: Reporter,
    given: GivenMerges | None = None,
    keep: Keep | None = None,
) -> MergeResult:
    """Learn merges from words and their counts; everything is checked already.

    Args:
        word_bytes, word_offsets, word_counts: as in `WordCounts`.
        byte_order: uint8[256], the byte of each learning id.
        settings: what to learn.
        reporter: told of the phase `merge`, and called several times a second.
        given: merges to make first.
        keep: as in `learn_rest`.
    """
    reporter.start("merge", settings.n_merges, "merges")
    words = pack_words(word_bytes, word_offsets, word_counts, byte_order)
    training = training_for(words, byte_tokens(byte_order, settings.n_merges), settings)
    learn_rest(training, given, reporter, keep)
    return merge_result(training, byte_order)


def merge_result(training: Training, byte_order: ByteArray) -> MergeResult:
    """Return what a training has learned; of characters, there is no byte order: it is empty."""
    words = training.words
    n_tokens_left = int((row_lengths(words) * words.counts[words.places]).sum())
    return MergeResult(*training.made(), byte_order, n_tokens_left, training.counters())


def learn_rest(
    training: Training, given: GivenMerges | None, reporter: Reporter, keep: Keep | None = None
) -> None:
    """Make the given merges, then learn what follows, slice by slice.

    Args:
        training: its rows and tokens.
        given: merges to make first.
        reporter: called several times a second.
        keep: called with the merges so far every minute, and when learning is broken off (Ctrl-C).
    """
    n_given = 0 if given is None else given.merges.shape[0]
    with thread_count(training.workers):
        if given is not None and n_given:
            training.replay(given)
        training.start(given if given is not None else NO_MERGES)
        try:
            _run_slices(training, reporter, keep)
        except BaseException:
            if keep is not None:
                keep(training.made())
            raise
    reporter.finish(int(training.learned.cursor[N_MERGES]))


def _run_slices(training: Training, reporter: Reporter, keep: Keep | None) -> None:
    kept_at = time.monotonic()
    status = merging.SLICE_ENDED
    while status != merging.DONE or training.lower_floor():
        status = training.run_slice()
        learned = training.learned
        n_merges = int(learned.cursor[N_MERGES])
        last_count = int(learned.merge_counts[n_merges - 1]) if n_merges else 0
        reporter.update(n_merges, count=last_count, pairs=int(learned.cursor[N_PAIRS]))
        if status == merging.RECOUNT_LARGE and not parallel_entry_is_cheap():
            training.limits = training.limits._replace(parallel_postings=NO_LIMIT)
        if keep is not None and time.monotonic() - kept_at > KEEP_SECONDS:
            keep(training.made())
            kept_at = time.monotonic()
