"""Counting in worker processes: tasks go out, words of each task come back, one table adds them up.

Every step is lazy, so memory holds the distinct words and a few tasks, however large the corpus.
Small inputs are counted in this process.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import chain

from bpenb.corpus import CutFinder, FileRange, TextBlock
from bpenb.counting.spill import Spill, gather_or_merge
from bpenb.counting.stages import Counted, StageClock, add_seconds
from bpenb.counting.table import WordTable
from bpenb.errors import CorpusError
from bpenb.pretokenize import DocumentBatch, RangeBatch, TextTask, WordArrays, WorkerPool
from bpenb.progress import Reporter

__all__ = ["count_in_processes", "document_tasks", "range_tasks"]

# --- tasks ----------------------------------------------------------------------------------------


def range_tasks(ranges: Iterable[FileRange | TextBlock], task_bytes: int) -> Iterator[TextTask]:
    """Put ranges of small files together, so that a task is worth its way to a worker."""
    batch: list[FileRange | TextBlock] = []
    n_bytes = 0
    for range in ranges:
        batch.append(range)
        n_bytes += range.n_bytes
        if n_bytes >= task_bytes:
            yield RangeBatch(tuple(batch))
            batch, n_bytes = [], 0
    if batch:
        yield RangeBatch(tuple(batch))


def document_tasks(batches: Iterable[list[bytes]], finder: CutFinder, task_bytes: int) -> Iterator[TextTask]:
    """Make tasks of documents; a large one is cut at safe places, so that several workers share it."""
    number = 0
    for batch in batches:
        large = batch.pop() if len(batch[-1]) > 2 * task_bytes else None  # only the last can be
        if batch:
            yield DocumentBatch(number, batch)
            number += len(batch)
        if large is not None:
            for start, end in finder.spans(large, task_bytes):
                yield RangeBatch((TextBlock(f"document {number}", start, large[start:end]),))
            number += 1


# --- the run --------------------------------------------------------------------------------------


def count_in_processes(
    tasks: Iterator[TextTask],
    job: Callable[[TextTask], WordArrays],
    workers: int,
    small_input: int,
    start_method: str | None,
    reporter: Reporter,
    spill: Spill | None = None,
) -> Counted:
    """Count all tasks and add up their words, reporting the bytes done on disk.

    Args:
        tasks: lazy; each with the bytes of its text.
        job: counts the words of a task; can be pickled.
        workers: processes; 1 counts in this one.
        small_input: below this many bytes no process is started.
        start_method: of the processes.
        reporter: in the phase `count`.
        spill: holds the table to a memory budget.

    Raises:
        CorpusError: a text without a place to cut, too large for the budget.
        CountsError: a count passes 2⁶³ − 1, or the words do not fit into the budget.
    """
    if spill is not None:
        tasks = _no_larger_than(tasks, spill.plan.largest_text)
    clock = StageClock()
    first, is_small = _take(tasks, small_input)
    in_pool = not is_small and workers > 1 and not multiprocessing.current_process().daemon
    pool = WorkerPool(job, workers, start_method=start_method) if in_pool else None
    sizes: deque[tuple[int, int]] = (
        deque()
    )  # of the text and on disk, of the tasks taken and not done, oldest first
    remaining = _noting_sizes(chain(first, tasks), sizes, clock)
    table = WordTable()
    n_bytes = done = n_pretokens = 0
    worker_seconds: dict[str, float] = {}
    with pool or nullcontext():
        results = iter(pool.map(remaining) if pool else map(job, remaining))
        while (result := clock.wait_for(results)) is not None:
            words = result[:3]
            if spill is not None:
                spill.make_room(table, words[2].shape[0], words[0].shape[0])
            with clock.stage("gather"):
                table.add(*words)
            worker_seconds = add_seconds(worker_seconds, result.stage_seconds)
            of_text, on_disk = sizes.popleft()
            n_bytes, done = n_bytes + of_text, done + on_disk
            n_pretokens += int(words[2].sum())
            n_counting = min(len(sizes), workers)
            reporter.update(
                done,
                words=len(table) + (spill.n_words if spill else 0),
                pretokens=n_pretokens,
                tasks_waiting=len(sizes) - n_counting,
                tasks_counting=n_counting,
                waits=clock.who_waits(),
            )
    ordered = gather_or_merge([table], 1, spill, clock)
    peak = pool.peak_rss_bytes if pool else 0
    return Counted(ordered, n_bytes, peak, add_seconds(worker_seconds, clock.seconds), done)


def _no_larger_than(tasks: Iterator[TextTask], n_bytes: int) -> Iterator[TextTask]:
    """Refuse a task that no memory was planned for."""
    for task in tasks:
        if task.n_bytes > n_bytes:
            raise CorpusError(
                f"{task}: holds no place to cut for {task.n_bytes:,} bytes, of which {n_bytes:,} fit into "
                "max_memory with so many workers; raise it, take fewer workers, or separate documents with "
                "a special token"
            )
        yield task


def _take(tasks: Iterator[TextTask], n_bytes: int) -> tuple[list[TextTask], bool]:
    """Take tasks until they hold `n_bytes`; tell whether that was all of them."""
    taken: list[TextTask] = []
    for task in tasks:
        taken.append(task)
        n_bytes -= task.n_bytes
        if n_bytes <= 0:
            return taken, False
    return taken, True


def _noting_sizes(
    tasks: Iterator[TextTask], sizes: deque[tuple[int, int]], clock: StageClock
) -> Iterator[TextTask]:
    while (task := clock.read(tasks)) is not None:
        sizes.append((task.n_bytes, task.n_disk_bytes))
        yield task
