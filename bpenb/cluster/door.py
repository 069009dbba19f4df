"""The door and the driver: a corpus in, its counts out, counted by whoever an `Engine` speaks for.

plan → count the shards that are missing → merge, level by level, what is missing → join the partitions

Nothing here knows the engine; `on_dask.py` is one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from bpenb._memory import format_memory
from bpenb.cluster.partial_file import check_plan, open_partial
from bpenb.cluster.plan import CountPlan, plan_counting
from bpenb.cluster.summing import sum_up
from bpenb.cluster.tasks import CountTask, Done, Job, MergeTask, Stated, Task
from bpenb.cluster.work_folder import WorkFolder, open_work_folder
from bpenb.corpus import InputOptions, Mixture, Source, WeightedFiles, plan_shares
from bpenb.counting import (
    CountResult,
    CountSettings,
    RunBlock,
    WordCounts,
    WordTable,
    merge_blocks,
    nothing_counted,
    shard_of,
    sources_to_count,
)
from bpenb.errors import CountsError
from bpenb.progress import Reporter

__all__ = ["ClusterResult", "Engine", "Event", "count_with", "join_partitions"]

_JOIN_BLOCK = 1 << 18  # bytes of each partition that are in memory while they are joined


class Event(NamedTuple):
    """Something to tell: a task is done, or (None) time has passed.

    Attributes:
        number: of the task among those that were given.
        done: what came of it; of None nothing.
        n_running_bytes: counted by the tasks that are not done yet.
        n_workers: that there are now.
    """

    number: int | None
    done: Done
    n_running_bytes: int
    n_workers: int


class Engine(Protocol):
    """Who has workers."""

    def workers(self) -> Sequence[Stated]:
        """Return the workers that there are now."""

    def run(self, tasks: Sequence[Task]) -> Generator[Event, None, None]:
        """Let workers `perform` tasks, in any order; the iterator ends with the last one's event."""


class ClusterResult(NamedTuple):
    """What counting on a cluster hands out.

    Attributes:
        result: as of any counting.
        folder: to be removed when the counts are in good hands.
        report: shards, partitions, workers, and the most memory that one of them held.
    """

    result: CountResult
    folder: WorkFolder
    report: dict[str, Any]


def count_with(
    engines: Callable[[], AbstractContextManager[Engine]],
    files: WeightedFiles,
    settings: CountSettings,
    work_folder: Path,
    reporter: Reporter,
    *,
    mixture: Mixture | None = None,
    options: InputOptions | None = None,
    shard_bytes: int | None = None,
    resume: bool = False,
    force: bool = False,
) -> ClusterResult:
    """Count the words of files with the workers of an engine; the counts are those of `count_files`.

    Args:
        engines: opens the engine, when the inputs are known to be there.
        files, settings, reporter, mixture, options: as of `count_files`.
        work_folder: of the plan and partial counts, seen by all workers.
        shard_bytes: about as many in a unit of work; None: what suits the workers.
        resume, force: go on with an earlier run, or begin anew.

    Raises:
        BpenbError: as of `count_files`; of workers the first that was told.
        OutputError: the work folder holds something else, or cannot be written.
        WorkerError: the engine cannot be reached, or has lost the task.
    """
    mixture, options = mixture or Mixture(), options or InputOptions()
    settings, sources = sources_to_count(files, settings, mixture, options)
    corpus = shard_of(sources, settings, mixture, (1, 1), options)
    sources = [_seen_by_all(source) for source in sources]
    nothing = nothing_counted(settings)
    with engines() as engine:
        reporter.start("plan", None, "shards")
        workers = engine.workers()
        n_threads = sum(worker.n_threads for worker in workers)
        plan = plan_counting(corpus, nothing.made_by, n_threads, shard_bytes)
        folder = open_work_folder(work_folder, plan, corpus, nothing.made_by, resume=resume, force=force)
        plan = folder.plan
        reporter.finish(plan.n_shards, **_describe(plan, corpus.total_bytes, workers))
        job = Job(folder.path, plan.name, plan.n_partitions, settings, mixture, options)
        crew = _Crew(engine, folder, job, reporter)
        try:
            reports = crew.count(sources, corpus.total_bytes)
            crew.merge()
            reporter.start("join", plan.n_partitions, "partitions")
            counts = join_partitions(folder.path, plan, nothing)
        except BaseException as error:
            error.add_note(
                f"the partial counts that are complete stay in {folder.path}; the same command with --resume "
                "(resume=True of Cluster) goes on from them"
            )
            raise
    reporter.finish(plan.n_partitions, words=len(counts), pretokens=counts.n_pretokens)
    told = {"shards": plan.n_shards, "partitions": plan.n_partitions, "workers": len(workers)}
    told |= {"resumed": folder.is_resumed, "worker_peak_memory_bytes": crew.peak_rss_bytes}
    return ClusterResult(sum_up(counts, reports, sources, mixture, options), folder, told)


def join_partitions(folder: Path, plan: CountPlan, nothing: WordCounts) -> WordCounts:
    """Return the words of all partitions together; memory holds them and a little of each partition.

    Args:
        folder: where the merged partitions are.
        plan: whose.
        nothing: counts without words that were made so.

    Raises:
        CountsError: a partition is missing, damaged, or of another plan.
    """
    partials = [open_partial(folder / name) for name in plan.results()]
    check_plan(partials, plan.name)
    parts = [partial.partition(number) for number, partial in enumerate(partials)]
    n_words, n_bytes = sum(part.n_words for part in parts), sum(part.n_bytes for part in parts)
    word_bytes = np.empty(n_bytes, dtype=np.uint8)
    word_offsets = np.zeros(n_words + 1, dtype=np.int64)
    word_counts = np.empty(n_words, dtype=np.int64)
    word = byte = 0
    for some_bytes, some_offsets, some_counts in merge_blocks(
        [RunBlock(part, _JOIN_BLOCK) for part in parts], WordTable()
    ):
        n = some_counts.shape[0]
        word_bytes[byte : byte + some_bytes.shape[0]] = some_bytes
        word_offsets[word + 1 : word + n + 1] = some_offsets[1:] + byte
        word_counts[word : word + n] = some_counts
        word, byte = word + n, byte + some_bytes.shape[0]
    assert (word, byte) == (n_words, n_bytes)  # no word is in two partitions
    return replace(nothing, word_bytes=word_bytes, word_offsets=word_offsets, word_counts=word_counts)


# --- behind the door ------------------------------------------------------------------------------


def _seen_by_all(source: Source) -> Source:
    """Return a source by the name that workers in other folders know it by."""
    return source._replace(path=source.path.absolute()) if isinstance(source.path, Path) else source


class _Crew:
    """Has the tasks of a plan done, phase by phase, those alone whose files are missing.

    Attributes:
        peak_rss_bytes: the most that a worker was seen to hold.
    """

    def __init__(self, engine: Engine, folder: WorkFolder, job: Job, reporter: Reporter) -> None:
        self._engine, self._folder, self._job, self._reporter = engine, folder, job, reporter
        self.peak_rss_bytes = 0

    def count(self, sources: Sequence[Source], n_bytes: int) -> list[dict[str, Any]]:
        """Count every shard; returns what there is to tell of each, in order."""
        plan = self._folder.plan
        reports: dict[int, dict[str, Any]] = {}
        tasks: list[Task] = []
        sizes = []
        for number, parts in enumerate(plan_shares(sources, plan.n_shards), 1):
            report = self._report_of(number)
            if report is not None:
                reports[number] = report
                continue
            tasks.append(CountTask(self._job, number, tuple(parts), plan.partial(number)))
            sizes.append(sum(part.end - part.start for part in parts))
        self._reporter.start("count", n_bytes, "bytes")
        told = self._do(tasks, sizes, n_bytes)
        reports |= {task.number: told[k] for k, task in enumerate(tasks) if isinstance(task, CountTask)}
        self._reporter.finish(n_bytes, shards=plan.n_shards)
        return [reports[number] for number in range(1, plan.n_shards + 1)]

    def merge(self) -> None:
        """Merge the partials, level after level."""
        levels = self._folder.plan.levels()
        n_merges = sum(map(len, levels))
        self._reporter.start("add up", n_merges, "files")
        left = n_merges
        for level in levels:
            left -= len(level)
            tasks: list[Task] = [
                MergeTask(self._job, merge) for merge in level if not self._folder.has(merge.output)
            ]
            self._do(tasks, [1] * len(tasks), n_merges - left)
        self._reporter.finish(n_merges)

    def _report_of(self, number: int) -> dict[str, Any] | None:
        """Return what an earlier run told of a shard, if it is complete; else make way for its file."""
        path = self._folder.path / self._folder.plan.partial(number)
        if not self._folder.is_resumed or not path.exists():
            return None
        try:
            partial = open_partial(path)
            if partial.plan == self._folder.plan.name:
                return partial.report
        except CountsError:
            pass
        path.unlink()
        return None

    def _do(self, tasks: Sequence[Task], sizes: Sequence[int], upto: int) -> list[dict[str, Any]]:
        """Have tasks done, after which there will be `upto`; returns their reports."""
        done = shown = upto - sum(sizes)
        reports: list[dict[str, Any]] = [{}] * len(tasks)
        if not tasks:
            return reports
        with closing(self._engine.run(tasks)) as events:
            for event in events:
                if event.number is not None:
                    if event.done.error is not None:
                        raise event.done.error
                    self.peak_rss_bytes = max(self.peak_rss_bytes, event.done.peak_rss_bytes)
                    reports[event.number] = event.done.report
                    done += sizes[event.number]
                shown = max(shown, min(done + event.n_running_bytes, upto))  # what dies is counted again
                self._reporter.update(shown, workers=event.n_workers)
        return reports


def _describe(plan: CountPlan, n_bytes: int, workers: Sequence[Stated]) -> dict[str, int | str]:
    """Return the plan, for people."""
    told: dict[str, int | str] = {"bytes": n_bytes, "partitions": plan.n_partitions, "workers": len(workers)}
    told["threads"] = sum(worker.n_threads for worker in workers)
    limits = [worker.memory for worker in workers if worker.memory is not None]
    if limits:
        least, most = format_memory(min(limits)), format_memory(max(limits))
        told["memory_per_worker"] = least if least == most else f"{least} to {most}"
    return told
