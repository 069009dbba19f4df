"""The door of the training room."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from bpenb._arrays import N_BYTES, ByteArray
from bpenb._jit import compiling_alone, is_compiled, thread_count
from bpenb.counting import WordCounts
from bpenb.errors import TrainingError
from bpenb.progress import Reporter
from bpenb.training import heap, index, merging, recount, round_plan, words
from bpenb.training.at_work import NO_LIMIT, GivenMerges, LearningSettings
from bpenb.training.coordinator import learn_from_shards
from bpenb.training.driver import Keep, MergeResult, learn_from_words
from bpenb.training.local_shards import LocalShards
from bpenb.training.replay import replay_slice
from bpenb.training.rounds import Shards
from bpenb.training.sequences import check_merges
from bpenb.training.settings import LearningOptions, check_count
from bpenb.training.shard_kernels import merge_in_shard, recount_in_shard
from bpenb.training.ties import CS336, byte_order, tie_rule
from bpenb.training.word_replay import replay_merges
from bpenb.training.word_replay_kernel import replay_words

__all__ = ["kernels_compiled", "learn", "learn_shared", "load_shard_kernels", "warmup"]

INT32_MAX = 2**31 - 1


def learn(
    counts: WordCounts,
    options: LearningOptions,
    reporter: Reporter | None = None,
    given: GivenMerges | None = None,
    keep: Keep | None = None,
    order: ByteArray | None = None,
) -> MergeResult:
    """Learn the merges of exact BPE from word counts.

    Args:
        counts: distinct words with their counts.
        options: what to learn.
        reporter: told of the phase `merge`.
        given: merges that were made before, in learning ids (of a base, or of a training that was
            broken off); learning goes on behind them, and `n_merges` counts them too.
        keep: called with the merges so far every minute, and when learning is broken off; the
            result of going on from them is the same as that of a training that never stopped.
        order: uint8[256], the byte of each of the learning ids 0…255; None: as the tie mode numbers
            them.

    Returns:
        Merges int32[n, 2] in learning ids (0…255: bytes in `byte_order`, then the merges by
        rank) and their counts int64[n].

    Raises:
        TrainingError: a setting out of its range.
        TypeError: a setting of a wrong type.

    Source: Sennrich, Haddow and Birch (2016), with byte-level words as in GPT-2.

    Example:
        >>> from bpenb.counting import WordCounts
        >>> result = learn(WordCounts.from_dict({b"aaaa": 1}), LearningOptions(n_merges=9))
        >>> result.merges.tolist(), result.merge_counts.tolist()
        ([[97, 97], [256, 256]], [3, 1])
    """
    settings = _settings(options)
    if settings.merges_per_step > 1 and keep is not None:
        raise TrainingError(
            "a checkpoint holds merges, not the steps that they were made in: merges_per_step must be 1"
        )
    _check_sizes(counts)
    words = (counts.word_bytes, counts.word_offsets, counts.word_counts)
    if order is None:
        order = byte_order(options.ties, counts.special_tokens)
    if given is not None:
        _check_given(given, settings.n_merges)
    return learn_from_words(*words, order, settings, reporter or Reporter(None), given, keep)


def learn_shared(
    shards: Shards, options: LearningOptions, order: ByteArray, reporter: Reporter | None = None
) -> MergeResult:
    """Learn the merges of words that lie in shards, wherever those are; the merges are those of `learn`.

    Args:
        shards: each with words of its own; a word that is in several counts in each.
        options: what to learn; `workers` is not used.
        order: uint8[256], the byte of each of the learning ids 0…255, as the shards number them.
        reporter: told of the phase `merge`.

    Raises:
        TrainingError: a setting out of its range.
        ShardLostError: a shard was lost time and again.
        TypeError: a setting of a wrong type.

    Source: that a count is the sum of the shards' counts, and an upper bound until it is taken again.

    Example:
        >>> from bpenb.training.local_shards import LocalShards
        >>> counts = WordCounts.from_dict({b"aaaa": 1})
        >>> words = (counts.word_bytes, counts.word_offsets, counts.word_counts)
        >>> order = byte_order("cs336", ())
        >>> result = learn_shared(LocalShards([words, words], order, 9), LearningOptions(9), order)
        >>> result.merges.tolist(), result.merge_counts.tolist()
        ([[97, 97], [256, 256]], [6, 2])
    """
    settings = _settings(options)
    if settings.merges_per_step > 1:
        raise TrainingError("words in shards are learned from exactly: merges_per_step must be 1")
    return learn_from_shards(shards, order, settings, reporter or Reporter(None))


def _settings(options: LearningOptions) -> LearningSettings:
    longest = options.max_token_length
    return LearningSettings(
        n_merges=check_count("n_merges", options.n_merges, 0),
        tie_rule=tie_rule(options.ties),
        min_count=max(1, check_count("min_frequency", options.min_frequency, 0)),
        max_token_length=NO_LIMIT if longest is None else check_count("max_token_length", longest, 1),
        workers=check_count("workers", options.workers, 1),
        merges_per_step=check_count("merges_per_step", options.merges_per_step, 1),
    )


def _check_given(given: GivenMerges, n_merges: int) -> None:
    n_given = given.merges.shape[0]
    if n_given > n_merges:
        raise TrainingError(f"{n_given} merges are given already; {n_merges} were asked for in all")
    check_merges(given.merges, N_BYTES)


def _check_sizes(counts: WordCounts) -> None:
    if len(counts) > INT32_MAX:
        raise TrainingError(
            f"{len(counts)} distinct words; a training holds {INT32_MAX} at most: drop rare words"
        )
    longest = int(np.diff(counts.word_offsets).max(initial=0))
    if longest > INT32_MAX:
        raise TrainingError(f"a word has {longest} bytes; a training holds words of {INT32_MAX} at most")
    _ = counts.n_bytes  # refuses text whose size passes int64: no pair count can overflow then


def load_shard_kernels() -> None:
    """Compile (or load) what a shard and its coordinator need; of several processes one compiles."""
    with nullcontext() if is_compiled(*_SHARD_KERNELS) else compiling_alone():
        order = np.arange(256, dtype=np.uint8)
        some = (np.array(list(b"abababab"), dtype=np.uint8), np.array([0, 8]), np.ones(1, dtype=np.int64))
        shards = LocalShards([some], order, 3)
        learn_from_shards(shards, order, LearningSettings(3, CS336, 1, NO_LIMIT, 1), Reporter(None))
        shards.ask(0, "restore", np.array([[97, 98]], dtype=np.int32), np.array([97 << 32 | 98]))


_SHARD_KERNELS = (words.fill_rows, merge_in_shard, recount_in_shard, round_plan.plan_merges, replay_slice)
_KERNELS = (
    words.fill_rows,
    index.count_pairs,
    index.move_pairs,
    index.fill_index,
    heap.heapify,
    merging.merge_slice,
    recount.recount_blocks,
    recount.close_blocks,
    replay_words,
)


def kernels_compiled() -> bool:
    """Tell whether a training can start without compiling."""
    return is_compiled(*_KERNELS)


def warmup() -> None:
    """Compile (or load) every kernel of this room by a tiny training."""
    order = np.arange(256, dtype=np.uint8)
    settings = LearningSettings(4, CS336, 1, NO_LIMIT, 1)
    tiny = np.array(list(b"abababab"), dtype=np.uint8)
    offsets, ones = np.array([0, 8], dtype=np.int64), np.ones(1, dtype=np.int64)
    learn_from_words(tiny, offsets, ones, order, settings, Reporter(None))
    index.move_pairs(index.make_table(2), index.make_table(4))
    replay_merges(WordCounts.from_dict({b"abab": 1}), np.array([[97, 98]], dtype=np.int32), order)
    training_words = words.pack_words(tiny, offsets, ones, order)
    pairs, _ = words.allocate_pairs(1, 1)
    pairs.keys[0], pairs.posting_offsets[0], pairs.posting_lengths[0] = 97 << 32 | 98, 0, 1
    pairs.posting_rows[0] = 0
    for threads in (1, 2):
        with thread_count(threads):
            recount.recount_parallel(training_words, pairs, 0, 0, recount.RecountScratch())
