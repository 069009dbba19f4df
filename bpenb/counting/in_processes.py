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

from bpenb._arrays import ByteArray, CountArray, Int64Array
from bpenb.corpus import CutFinder, FileRange, TextBlock
from bpenb.counting.table import WordTable
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
) -> tuple[tuple[ByteArray, Int64Array, CountArray], int, int]:
    """Count all tasks and add up their words, reporting the bytes done.

    Args:
        tasks: lazy; each with the bytes of its text.
        job: counts the words of a task; can be pickled.
        workers: processes; 1 counts in this one.
        small_input: below this many bytes no process is started.
        start_method: of the processes.
        reporter: in the phase `count`.

    Returns:
        (word_bytes, word_offsets, word_counts) in order; bytes counted; peak memory of all workers.
    """
    first, is_small = _take(tasks, small_input)
    in_pool = not is_small and workers > 1 and not multiprocessing.current_process().daemon
    pool = WorkerPool(job, workers, start_method=start_method) if in_pool else None
    sizes: deque[int] = deque()  # of the tasks taken and not done, oldest first
    remaining = _noting_sizes(chain(first, tasks), sizes)
    table = WordTable()
    done = 0
    with pool or nullcontext():
        for words in pool.map(remaining) if pool else map(job, remaining):
            table.add(*words)
            done += sizes.popleft()
            reporter.update(done, words=len(table))
    return table.to_arrays(), done, pool.peak_rss_bytes if pool else 0


def _take(tasks: Iterator[TextTask], n_bytes: int) -> tuple[list[TextTask], bool]:
    """Take tasks until they hold `n_bytes`; tell whether that was all of them."""
    taken: list[TextTask] = []
    for task in tasks:
        taken.append(task)
        n_bytes -= task.n_bytes
        if n_bytes <= 0:
            return taken, False
    return taken, True


def _noting_sizes(tasks: Iterable[TextTask], sizes: deque[int]) -> Iterator[TextTask]:
    for task in tasks:
        sizes.append(task.n_bytes)
        yield task
