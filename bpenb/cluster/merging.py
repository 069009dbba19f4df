"""Learning merges on a cluster: words are dealt out to files, a worker holds each, and here is decided.

WordCounts → words-…/0001.npz … → a `WordShard` in each worker ⇄ the coordinator of the training room → merges
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from bpenb._arrays import ByteArray, offsets_from_lengths
from bpenb._memory import format_memory
from bpenb.cluster.tasks import Stated
from bpenb.counting import WordCounts
from bpenb.errors import OutputError, TrainingError, WorkerError
from bpenb.progress import Reporter
from bpenb.training import (
    LearningOptions,
    MergeResult,
    ShardLostError,
    Shards,
    WordShard,
    learn_shared,
    load_shard_kernels,
)

__all__ = ["Holders", "build_shard", "deal_words", "learn_with"]

_PER_WORD_BYTE = 30  # bytes that a shard takes for each byte of its words: see training/memory.py
_BASE = 200_000_000  # that a worker holds without words
_SHARE = 0.8  # of what a worker states


class Holders(Protocol):
    """Who has workers that can hold shards."""

    def workers(self) -> Sequence[Stated]:
        """Return the workers that there are now."""

    def hold(
        self, paths: Sequence[Path], byte_order: ByteArray, n_merges: int
    ) -> AbstractContextManager[Shards]:
        """Have `build_shard` called for each file in a worker, and what it returns held there."""


def deal_words(counts: WordCounts, n_shards: int, folder: Path) -> list[Path]:
    """Deal words out to files, one after the other, so that all have words of every kind.

    Args:
        counts: all words.
        n_shards: files to write.
        folder: where to.

    Raises:
        OutputError: the folder cannot be written.
    """
    paths = [folder / f"{shard:04d}.npz" for shard in range(1, n_shards + 1)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for shard, path in enumerate(paths):
            _every(counts, shard, n_shards).save(path)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return paths


def _every(counts: WordCounts, first: int, step: int) -> WordCounts:
    """Return the words first, first + step, …"""
    chosen = slice(first, None, step)
    starts, lengths = counts.word_offsets[:-1][chosen], np.diff(counts.word_offsets)[chosen]
    offsets = offsets_from_lengths(lengths)
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return replace(
        counts,
        word_bytes=counts.word_bytes[places],
        word_offsets=offsets,
        word_counts=counts.word_counts[chosen].copy(),
    )


def build_shard(path: str, byte_order: ByteArray, n_merges: int) -> WordShard:
    """Build a shard from a file of words, where it will stay.

    Raises:
        BpenbError: the file is damaged, or holds more words than a training can.
        OSError: it cannot be read.
    """
    load_shard_kernels()
    counts = WordCounts.load(path)
    return WordShard((counts.word_bytes, counts.word_offsets, counts.word_counts), byte_order, n_merges)


def learn_with(
    engines: Callable[[], AbstractContextManager[Holders]],
    counts: WordCounts,
    options: LearningOptions,
    byte_order: ByteArray,
    work_folder: Path,
    reporter: Reporter,
) -> MergeResult:
    """Learn merges with the workers of an engine; they are those of one machine.

    Args:
        engines: opens the engine.
        counts, options, reporter: as of `learn`.
        byte_order: uint8[256], the byte of each of the learning ids 0…255.
        work_folder: of the words, seen by all workers; what is written there is removed.

    Raises:
        OutputError: the work folder cannot be written.
        TrainingError: the words do not fit into the memory that the workers state.
        WorkerError: the scheduler cannot be reached, or workers were lost time and again.
    """
    with engines() as engine:
        workers = engine.workers()
        if not workers:
            raise WorkerError("the scheduler has no worker; start some, and wait until they are there")
        _check_memory(counts, workers)
        folder = work_folder.absolute() / f"words-{secrets.token_hex(4)}"  # of this training alone
        try:
            paths = deal_words(counts, len(workers), folder)
            with engine.hold(paths, byte_order, options.n_merges) as shards:
                return learn_shared(shards, options, byte_order, reporter)
        except ShardLostError as error:
            raise WorkerError(
                f"{error}; the logs of the workers tell why: mostly, they have less memory than they state"
            ) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # somebody else's files
                work_folder.rmdir()


def _check_memory(counts: WordCounts, workers: Sequence[Stated]) -> None:
    needed = _BASE + _PER_WORD_BYTE * counts.word_bytes.shape[0] // len(workers)
    least = min((worker.memory for worker in workers if worker.memory is not None), default=None)
    if least is not None and needed > _SHARE * least:
        raise TrainingError(
            f"learning from {len(counts):,} words takes about {format_memory(needed)} in each of "
            f"{len(workers)} workers, of which one states {format_memory(least)}; take more workers, or "
            "drop rare words (min_word_count, --min-word-count)"
        )
