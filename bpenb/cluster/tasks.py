"""What a worker does: count one shard, or merge one partition of some files; each leaves one file.

Tasks know paths, not words. One that runs twice (its worker died behind the last line) finds its file, or
writes the same bytes once more.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import bpenb
from bpenb._memory import LEAST_MEMORY, format_memory, peak_rss_bytes, release_free_memory, rss_bytes
from bpenb.cluster.partial_file import Partial, check_plan, open_partial, write_partial
from bpenb.cluster.partitions import partitions_of, words_of_partition
from bpenb.cluster.plan import Merge
from bpenb.cluster.work_folder import PLAN
from bpenb.corpus import InputOptions, Mixture, Part
from bpenb.counting import (
    CountResult,
    CountSettings,
    RunBlock,
    WordTable,
    Workforce,
    count_sources,
    load_kernels,
    merge_blocks,
    settle_shard,
)
from bpenb.errors import BpenbError, OutputError, WorkerError
from bpenb.progress import Progress, Reporter

__all__ = ["CountTask", "Done", "Job", "MergeTask", "Stated", "Task", "perform", "task_memory"]

# Of what a worker states: above 0.8 of it, Dask gives it nothing more to do, above 0.95 it is killed.
_SHARE = 0.65
_MOST_MERGING = 64_000_000  # bytes; with more, the table of a portion falls out of the caches
_PER_BLOCK_BYTE = 16  # memory that merging takes for each byte of the blocks (bpenb/counting/spill.py)
_LEAST_BLOCK = 1 << 12


class Stated(NamedTuple):
    """What a worker says of itself.

    Attributes:
        name: for messages.
        memory: bytes that its process may hold; None: no limit.
        n_threads: tasks that it runs at once.
    """

    name: str
    memory: int | None
    n_threads: int


@dataclass(frozen=True)
class Job:
    """What all tasks have in common."""

    folder: Path
    plan: str
    n_partitions: int
    settings: CountSettings
    mixture: Mixture
    options: InputOptions
    version: str = bpenb.__version__


class CountTask(NamedTuple):
    """Count a shard: these parts of the inputs, into the file of that name."""

    job: Job
    number: int
    parts: tuple[Part, ...]
    output: str


class MergeTask(NamedTuple):
    """Merge one partition of some files."""

    job: Job
    merge: Merge


Task: TypeAlias = CountTask | MergeTask


class Done(NamedTuple):
    """What came of a task.

    Attributes:
        report: what there is to tell of it.
        error: what went wrong; a value, since what a worker raises would be tried again elsewhere.
        peak_rss_bytes: of the worker so far.
    """

    report: dict[str, Any]
    error: BpenbError | None
    peak_rss_bytes: int


def perform(task: Task, stated: Stated, report: Callable[[int], None]) -> Done:
    """Do a task; whatever goes wrong is a value.

    Args:
        task: what is to be done.
        stated: by the worker that does it.
        report: is told of bytes counted.
    """
    found: dict[str, Any] = {}
    error: BpenbError | None = None
    try:
        _check_place(task.job, stated)
        found = _count(task, stated, report) if isinstance(task, CountTask) else _merge(task, stated)
    except BpenbError as wrong:
        error = wrong
    except Exception as wrong:
        error = WorkerError(f"worker {stated.name} failed: {type(wrong).__name__}: {wrong}")
        error.add_note(traceback.format_exc())
    return Done(found, error, peak_rss_bytes())


def _check_place(job: Job, stated: Stated) -> None:
    if job.version != bpenb.__version__:
        raise WorkerError(
            f"worker {stated.name} has bpenb {bpenb.__version__}, this is bpenb {job.version}; install one "
            "version everywhere"
        )
    if not (job.folder / PLAN).exists():
        raise OutputError(
            f"worker {stated.name} does not see {job.folder}; take a work folder on storage that all workers "
            "see (Cluster(work_folder=…), --work-folder)"
        )


def _count(task: CountTask, stated: Stated, report: Callable[[int], None]) -> dict[str, Any]:
    """Count a shard; returns what there is to tell of it."""
    job, path = task.job, task.job.folder / task.output
    if (earlier := _made_for(path, job.plan)) is not None:
        return earlier.report
    with _memory_of(stated) as (budget, base):
        sources = settle_shard(task.parts, job.settings, job.mixture)
        result = count_sources(
            sources,
            job.settings,
            Workforce(1, max_memory=budget, base_memory=base),
            Reporter(_summed(report)),
            job.mixture,
            job.options,
        )
        counts = result.counts
        told = {"n_bytes": result.n_bytes, "inputs": dict(result.inputs or {}), "weights": _weights(result)}
        partitions = partitions_of(counts, job.n_partitions)
        with write_partial(path, job.plan, (task.number, task.number), told) as writer:
            for number in range(job.n_partitions):
                writer.add(number, words_of_partition(counts, partitions, number))
    return told


def _made_for(path: Path, plan: str) -> Partial | None:
    """Return a file that is there, and complete; one of another plan is in the way, and is replaced.

    It came late: a task that the scheduler had given up was not over when the folder was begun anew.
    """
    if not path.exists():
        return None
    partial = open_partial(path)
    return partial if partial.plan == plan else None


def _weights(result: CountResult) -> list[tuple[int, int]]:
    """Return (weight, bytes of text) for each weight."""
    weights = (result.mixture or {}).get("weights", [{"weight": 1, "text_bytes": result.n_bytes}])
    return [(one["weight"], one["text_bytes"]) for one in weights]


def _merge(task: MergeTask, stated: Stated) -> dict[str, Any]:
    """Merge one partition of some files."""
    merge, folder = task.merge, task.job.folder
    path = folder / merge.output
    if _made_for(path, task.job.plan) is not None:
        return {}
    partials = [open_partial(folder / name) for name in merge.inputs]
    check_plan(partials, task.job.plan)
    with _memory_of(stated) as (budget, base):
        memory = _MOST_MERGING if budget is None else min(_MOST_MERGING, (budget - base) // 2)
        block_bytes = max(_LEAST_BLOCK, memory // _PER_BLOCK_BYTE // len(partials))
        blocks = [RunBlock(partial.partition(merge.partition), block_bytes) for partial in partials]
        with write_partial(path, task.job.plan, merge.shards, {}) as writer:
            writer.add(merge.partition, merge_blocks(blocks, WordTable()))
    return {}


# --- memory ---------------------------------------------------------------------------------------

_lock = threading.Lock()
_n_running = 0  # tasks of this process
_base = 0  # bytes that it held when none was running


@contextmanager
def _memory_of(stated: Stated) -> Iterator[tuple[int | None, int]]:
    """Give (budget, base) to a task, as one of several that may run in this process at once."""
    global _n_running, _base
    with _lock:
        if not _n_running:
            load_kernels()  # they stay, so they are part of the base
            release_free_memory()
            _base = rss_bytes()
        _n_running += 1
        base = _base
    try:
        yield task_memory(stated, base), base
    finally:
        with _lock:
            _n_running -= 1
        release_free_memory()


def task_memory(stated: Stated, base: int) -> int | None:
    """Return the memory that a task may plan with, what the process holds without tasks included.

    Raises:
        WorkerError: it is too little to count with.

    Example:
        >>> task_memory(Stated("a", 4_000_000_000, 4), 200_000_000)
        800000000
    """
    if stated.memory is None:
        return None
    budget = base + int(_SHARE * stated.memory - base) // stated.n_threads
    if budget < max(LEAST_MEMORY, base):
        needed = (max(LEAST_MEMORY - base, 0) * stated.n_threads + base) / _SHARE
        raise WorkerError(
            f"worker {stated.name} states {format_memory(stated.memory)} for {stated.n_threads} threads, of "
            f"which counting takes {_SHARE:.0%}; that is too little: start workers with at least "
            f"{format_memory(int(needed))} (--memory-limit), or with fewer threads (--nthreads)"
        )
    return budget


def _summed(report: Callable[[int], None]) -> Callable[[Progress], None]:
    """Return a callable for progress that tells the bytes of all phases together."""
    before = 0

    def show(progress: Progress) -> None:
        nonlocal before
        report(before + progress.done)
        before += progress.done if progress.finished else 0

    return show
