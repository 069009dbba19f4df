"""Counting with the compiled engine: buffers of text go to threads, each with a word table of its own.

    buffer → [a free thread: segments → planes → starts → word table] → one table → words in order

A few buffers go round, so memory holds them and the tables, however large the corpus.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from typing import Self

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array
from bpenb._jit import is_compiled
from bpenb.corpus import CutFinder, FilledRoom, SpecialScanner, TakeRoom, fill_from_documents
from bpenb.counting.gather import gather_tables
from bpenb.counting.order import sort_buckets
from bpenb.counting.spill import Spill
from bpenb.counting.table import WordTable, add_words
from bpenb.counting.tally import (
    BATCH,
    FRONT_ROWS,
    OVERFLOW,
    TALLIED,
    flush_front,
    make_tally_scratch,
    tally_pretokens,
)
from bpenb.errors import CountsError, InvalidUtf8Error
from bpenb.patterns import PATTERNS, SplitPattern, resolve_pattern
from bpenb.pretokenize import (
    START,
    CompiledEngine,
    ScanBuffer,
    TextTask,
    Utf8Errors,
    WordArrays,
    first_invalid,
)
from bpenb.progress import Reporter

__all__ = ["CompiledCountJob", "count_in_threads", "kernels_compiled", "warmup"]

BUFFER_BYTES = 1 << 19  # text and planes stay in the second-level cache, beside the front table


class _TallyWorker:
    """What one thread counts with.

    Attributes:
        seconds: of work so far, by stage.
    """

    def __init__(self, engine: CompiledEngine, errors: Utf8Errors, spill: Spill | None = None) -> None:
        self.engine = engine
        self.errors = errors
        self.spill = spill
        self.table = WordTable()
        self.scratch = make_tally_scratch()
        self.n_pretokens = 0
        self.seconds = {"scan": 0.0, "tally": 0.0, "spill": 0.0}

    def count(self, filled: FilledRoom) -> None:
        """Count the pretokens of a buffer."""
        buffer, ranges = filled.room, filled.ranges
        assert isinstance(buffer, ScanBuffer)
        started = time.perf_counter()
        segments = self.engine.find_segments(buffer, ranges)
        if not self.engine.mark(buffer, segments):
            if self.errors == "strict":
                raise _invalid_utf8(buffer, filled, ranges)
            buffer, segments = _replaced(buffer, segments)
            assert self.engine.mark(buffer, segments)
        marked = time.perf_counter()
        self.seconds["scan"] += marked - started
        self._tally(buffer, segments)
        self.seconds["tally"] += time.perf_counter() - marked

    def _tally(self, buffer: ScanBuffer, segments: Int64Array) -> None:
        scratch = self.scratch
        scratch.position[:] = 0
        starts = buffer.planes[START]
        with np.errstate(over="ignore"):
            while True:
                status = tally_pretokens(self.table.arrays, buffer.text, starts, segments, scratch)
                if status == TALLIED:
                    break
                _check_overflow(status)
                self._make_room(2 * BATCH, 2 * buffer.n_bytes)
        self.n_pretokens += int(scratch.position[2])

    def _make_room(self, n_words: int, n_bytes: int) -> None:
        """Make room in the table, or empty it if it has its share of the memory."""
        if self.spill is None:
            self.table.reserve(n_words, n_bytes)
            return
        started = time.perf_counter()
        self.spill.make_room(self.table, n_words, n_bytes)
        taken = time.perf_counter() - started
        self.seconds["spill"] += taken
        self.seconds["tally"] -= taken

    def finish(self) -> WordTable:
        """Return the table with everything that was counted."""
        self._make_room(FRONT_ROWS, 0)
        with np.errstate(over="ignore"):
            _check_overflow(flush_front(self.table.arrays, self.scratch.front))
        return self.table


def _check_overflow(status: int) -> None:
    if status == OVERFLOW:
        raise CountsError("the count of a word passes 2**63 - 1")


def _invalid_utf8(buffer: ScanBuffer, filled: FilledRoom, ranges: Int64Array) -> InvalidUtf8Error:
    """Find where the text is not UTF-8; slow, and done once."""
    for number, (start, end) in enumerate(ranges.tolist()):
        at = first_invalid(buffer.text[start:end].tobytes())
        if at >= 0:
            source, base = filled.label(number)
            return InvalidUtf8Error(source, base + at)
    raise AssertionError("the text is valid UTF-8")


def _replaced(buffer: ScanBuffer, segments: Int64Array) -> tuple[ScanBuffer, Int64Array]:
    """Return the plain stretches with U+FFFD where they are not UTF-8, in a buffer of their own."""
    texts = [buffer.text[a:b].tobytes().decode(errors="replace").encode() for a, b in segments.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    replaced = ScanBuffer(int(ends[-1]) if texts else 0)
    replaced.fill(b"".join(texts))
    return replaced, np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1).astype(np.int64)


class _Crew:
    """Counts filled buffers in threads; the words do not depend on how many, nor on the buffers.

    Args:
        engine: of the pattern and special tokens.
        errors: `strict` or `replace`.
        workers: threads; 1 counts in the calling thread.

    Attributes:
        n_bytes: bytes counted.
    """

    def __init__(
        self, engine: CompiledEngine, errors: Utf8Errors, workers: int, buffer_bytes: int = BUFFER_BYTES
    ) -> None:
        self._workers = [_TallyWorker(engine, errors) for _ in range(workers)]
        self._idle: SimpleQueue[_TallyWorker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._free = [ScanBuffer(buffer_bytes) for _ in range(workers + 1 if workers > 1 else 1)]
        self._running: dict[Future[None], FilledRoom] = {}
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="bpenb-count") if workers > 1 else None
        self.n_bytes = 0

    def take_room(self) -> ScanBuffer:
        """Return a free buffer, waiting for a thread to be done with one if need be."""
        while not self._free:
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                self._take_back(self._running.pop(future), future)
        return self._free.pop()

    def _take_back(self, filled: FilledRoom, future: Future[None]) -> None:
        future.result()  # an error of the thread is raised here
        assert isinstance(filled.room, ScanBuffer)
        self.n_bytes += filled.n_bytes
        self._free.append(filled.room)

    def add(self, filled: FilledRoom) -> None:
        """Count a buffer: now, or in the next thread that is free."""
        if self._pool is None:
            self._workers[0].count(filled)
            assert isinstance(filled.room, ScanBuffer)
            self.n_bytes += filled.n_bytes
            self._free.append(filled.room)
        else:
            self._running[self._pool.submit(self._count, filled)] = filled

    def _count(self, filled: FilledRoom) -> None:
        worker = self._idle.get()
        try:
            worker.count(filled)
        finally:
            self._idle.put(worker)

    @property
    def n_words(self) -> int:
        """Distinct words so far, those that several threads met counted more than once."""
        return sum(len(worker.table) for worker in self._workers)

    @property
    def n_pretokens(self) -> int:
        """Pretokens counted so far."""
        return sum(worker.n_pretokens for worker in self._workers)

    def finish(self) -> tuple[ByteArray, Int64Array, CountArray]:
        """Wait for the threads, and return (word_bytes, word_offsets, word_counts) in order."""
        for future, filled in self._running.items():
            self._take_back(filled, future)
        self._running.clear()
        tables = [worker.finish().arrays for worker in self._workers]
        return gather_tables(tables, len(tables))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the threads end; what they have not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def count_in_threads(
    fill: Callable[[TakeRoom], Iterator[FilledRoom]],
    engine: CompiledEngine,
    errors: Utf8Errors,
    workers: int,
    buffer_bytes: int | None,
    reporter: Reporter,
) -> tuple[tuple[ByteArray, Int64Array, CountArray], int]:
    """Count everything that `fill` puts into buffers, reporting the bytes done.

    Args:
        fill: takes a function that returns a free buffer, and yields filled ones.
        engine: of the pattern and special tokens.
        errors: `strict` or `replace`.
        workers: threads; 1 counts in this one.
        buffer_bytes: text per buffer; None: what measured best.
        reporter: in the phase `count`.

    Returns:
        (word_bytes, word_offsets, word_counts) in order, and the bytes counted.

    Raises:
        CountsError: the count of a word passes 2⁶³ − 1.
        InvalidUtf8Error: text that is not UTF-8, if `errors` is `strict`.
    """
    with _Crew(engine, errors, workers, buffer_bytes or BUFFER_BYTES) as crew:
        for filled in fill(crew.take_room):
            crew.add(filled)
            reporter.update(crew.n_bytes, words=crew.n_words, pretokens=crew.n_pretokens)
        words = crew.finish()
    return words, crew.n_bytes


@dataclass(frozen=True)
class CompiledCountJob:
    """Counts the words of a task with the compiled engine, for processes.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> job = CompiledCountJob(resolve_pattern("gpt2"), ("<s>",), "strict")
        >>> words = job(DocumentBatch(0, [b"hi hi", b"hi<s>"]))
        >>> words.word_bytes.tobytes(), words.word_counts.tolist()
        (b' hihi', [1, 2])
    """

    pattern: SplitPattern
    special_tokens: tuple[str, ...]
    errors: Utf8Errors

    @cached_property
    def engine(self) -> CompiledEngine:
        """The engine, built where it is used."""
        return CompiledEngine(self.pattern, self.special_tokens)

    def __call__(self, task: TextTask) -> WordArrays:
        """Count the words of a task."""
        worker = _TallyWorker(self.engine, self.errors)
        for data, source, base in task.texts():
            buffer = ScanBuffer(len(data))
            buffer.fill(data)
            filled = FilledRoom(buffer)
            filled.add(len(data), source, base)
            worker.count(filled)
        return WordArrays(*gather_tables([worker.finish().arrays], 1))


def kernels_compiled() -> bool:
    """Tell whether counting can start without compiling."""
    return (
        is_compiled(tally_pretokens, flush_front, add_words, sort_buckets)
        and CompiledEngine.kernels_compiled()
    )


def warmup() -> None:
    """Compile (or load) every kernel of counting by counting a few bytes with each pattern."""
    for name in PATTERNS:
        engine = CompiledEngine(resolve_pattern(name), ("<s>",))
        with _Crew(engine, "strict", 1, 4096) as crew:
            for filled in fill_from_documents(
                [b"it's<s>a"], CutFinder(resolve_pattern(name), SpecialScanner(())), crew.take_room
            ):
                crew.add(filled)
            words = crew.finish()
    table = WordTable(8)
    table.add(*words)
    table.reserve(64, 0)
