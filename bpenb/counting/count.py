"""Counting the words of files or documents: in this process if they are small, else in a pool.

    ranges or documents → tasks → words of each task → one word table → WordCounts

Every step is lazy, so memory holds the distinct words and a few tasks, however large the corpus.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bpenb.corpus import (
    CutFinder,
    FileRange,
    Files,
    SpecialScanner,
    TextBlock,
    batch_documents,
    plan_ranges,
    resolve_files,
)
from bpenb.counting.table import WordTable
from bpenb.counting.word_counts import WordCounts
from bpenb.patterns import SplitPattern
from bpenb.pretokenize import (
    DocumentBatch,
    RangeBatch,
    TextTask,
    Utf8Errors,
    WordArrays,
    WordCountJob,
    WorkerPool,
    resolve_workers,
)
from bpenb.progress import Reporter

__all__ = ["CountResult", "CountSettings", "count_documents", "count_files"]

# Below this a pool is not worth its start (5 MB of prose: 0.42 s in this process, 0.45 s in two).
_SMALL_INPUT = 4 << 20
# Memory decides, for a document's pretokens are one list: two workers peak at 221 MB with tasks of 4 MB
# of prose, 106 MB with 1 MB, 85 MB with 0.5 MB. The time per byte is the same within 5 %.
_TASK_BYTES = 1 << 20
_LEAST_TASK_BYTES = 1 << 18
_TASKS_PER_WORKER = 8  # at least, where the size is known: the last one to finish keeps the others waiting


@dataclass(frozen=True)
class CountSettings:
    """What decides the words of a text.

    Attributes:
        pattern: the split pattern.
        special_tokens: cut out before the pattern sees the text.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
    """

    pattern: SplitPattern
    special_tokens: tuple[str, ...]
    errors: Utf8Errors = "strict"


class CountResult(NamedTuple):
    """The counts, the bytes of text read, and the peak memory of all worker processes together."""

    counts: WordCounts
    n_bytes: int
    workers_peak_rss_bytes: int


def count_files(
    files: Files,
    settings: CountSettings,
    workers: int | None = None,
    reporter: Reporter | None = None,
    *,
    task_bytes: int | None = None,
    small_input: int = _SMALL_INPUT,
    start_method: str | None = None,
) -> CountResult:
    """Count the words of files; the result depends on nothing but their text and `settings`.

    Args:
        files: a path, or several; each begins a new document.
        settings: pattern, special tokens, treatment of bytes that are not UTF-8.
        workers: processes; None: as many as there are processors; 1: this process.
        reporter: told of bytes done.
        task_bytes: bytes of text per task; None: by the size of the input, 1 MB at most.
        small_input: below this many bytes no process is started.
        start_method: of the processes.

    Raises:
        CorpusError: a file that cannot be read, or is not UTF-8.
        WorkerError: a worker failed or died.
    """
    paths = resolve_files(files)
    n_workers = resolve_workers(workers)
    total = _total_bytes(paths)
    if task_bytes is None:
        wanted = (total or _TASK_BYTES) // (_TASKS_PER_WORKER * n_workers)
        task_bytes = max(_LEAST_TASK_BYTES, min(wanted, _TASK_BYTES))
    finder = CutFinder(settings.pattern, SpecialScanner(settings.special_tokens))
    tasks = _range_tasks(plan_ranges(paths, finder, task_bytes), task_bytes)
    pool = _PoolSettings(n_workers, small_input, start_method)
    return _count(tasks, total, settings, pool, reporter or Reporter(None))


def count_documents(
    documents: Iterable[str | bytes],
    settings: CountSettings,
    workers: int | None = None,
    reporter: Reporter | None = None,
    *,
    task_bytes: int = _LEAST_TASK_BYTES,
    small_input: int = _SMALL_INPUT,
    start_method: str | None = None,
) -> CountResult:
    """Count the words of documents; arguments as for `count_files`.

    Args:
        documents: an iterable of whole documents, `str` or `bytes`; an exception of it passes
            through.

    Raises:
        CorpusError: a document that is not UTF-8, or that UTF-8 cannot spell.
        TypeError: a document of another type.
        WorkerError: a worker failed or died.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> settings = CountSettings(resolve_pattern("gpt2"), ("<s>",))
        >>> count_documents(["low low", "low<s>"], settings).counts.to_dict()
        {b' low': 1, b'low': 2}
    """
    n_workers = resolve_workers(workers)
    finder = CutFinder(settings.pattern, SpecialScanner(settings.special_tokens))
    tasks = _document_tasks(batch_documents(documents, task_bytes), finder, task_bytes)
    pool = _PoolSettings(n_workers, small_input, start_method)
    return _count(tasks, None, settings, pool, reporter or Reporter(None))


# --- tasks ----------------------------------------------------------------------------------------


def _total_bytes(paths: list[Path]) -> int | None:
    """Return the size of all files, or None if one has none to tell (a pipe)."""
    if not all(path.is_file() for path in paths):
        return None
    return sum(path.stat().st_size for path in paths)


def _range_tasks(ranges: Iterable[FileRange | TextBlock], task_bytes: int) -> Iterator[TextTask]:
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


def _document_tasks(batches: Iterable[list[bytes]], finder: CutFinder, task_bytes: int) -> Iterator[TextTask]:
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


class _PoolSettings(NamedTuple):
    workers: int
    small_input: int
    start_method: str | None


def _count(
    tasks: Iterator[TextTask],
    total: int | None,
    settings: CountSettings,
    pool_settings: _PoolSettings,
    reporter: Reporter,
) -> CountResult:
    """Count all tasks and add up their words, reporting the bytes done."""
    reporter.start("count", total, "bytes")
    job = WordCountJob(settings.pattern, settings.special_tokens, settings.errors)
    first, is_small = _take(tasks, pool_settings.small_input)
    pool = None if is_small or not _may_start(pool_settings) else _start(job, pool_settings)
    sizes: deque[int] = deque()  # of the tasks taken and not done, oldest first
    remaining = _noting_sizes(chain(first, tasks), sizes)
    table = WordTable()
    done = 0
    with pool or nullcontext():
        for words in pool.map(remaining) if pool else map(job, remaining):
            table.add(*words)
            done += sizes.popleft()
            reporter.update(done, words=len(table))
    engine = job.engine.name, job.engine.unicode_version
    counts = WordCounts(*table.to_arrays(), settings.pattern, settings.special_tokens, *engine)
    reporter.finish(done, words=len(counts), pretokens=counts.n_pretokens)
    return CountResult(counts, done, pool.peak_rss_bytes if pool else 0)


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


def _may_start(pool_settings: _PoolSettings) -> bool:
    """Tell whether worker processes are wanted, and allowed: a daemonic process may have no children."""
    return pool_settings.workers > 1 and not multiprocessing.current_process().daemon


def _start(job: WordCountJob, pool_settings: _PoolSettings) -> WorkerPool[TextTask, WordArrays]:
    return WorkerPool(job, pool_settings.workers, start_method=pool_settings.start_method)
