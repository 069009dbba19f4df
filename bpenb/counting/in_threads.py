"""Counting with the compiled engine: buffers of text go to threads, each with a word table of its own.

    buffer → [a free thread: segments → planes → starts → word table] → one table → words in order

A few buffers go round, so memory holds them and the tables, however large the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Self

import numpy as np

from bpenb._jit import is_compiled
from bpenb.corpus import FilledRoom, TakeRoom
from bpenb.counting.order import first_disorder, sort_buckets
from bpenb.counting.spill import Spill, Words, gather_or_merge
from bpenb.counting.stages import Counted, StageClock, add_seconds
from bpenb.counting.table import WordTable, add_words
from bpenb.counting.tally import flush_front, tally_pretokens
from bpenb.counting.tally_worker import TallyWorker
from bpenb.patterns import PATTERNS, resolve_pattern
from bpenb.pretokenize import CompiledEngine, ScanBuffer, Utf8Errors
from bpenb.progress import Reporter

__all__ = ["BUFFER_BYTES", "count_in_threads", "kernels_compiled", "load_kernels", "warmup"]

BUFFER_BYTES = 1 << 19  # text and planes stay in the second-level cache, beside the front table


class _GuardedBuffer(ScanBuffer):
    """A buffer that asks before it grows."""

    def __init__(self, capacity: int, make_way: Callable[[int], None]) -> None:
        super().__init__(capacity)
        self._make_way = make_way

    def grow(self, capacity: int) -> None:
        """Make room for more text, if it may be had."""
        if capacity > self.capacity:
            self._make_way(capacity)
        super().grow(capacity)


class _Crew:
    """Counts filled buffers in threads; the words do not depend on how many, nor on the buffers.

    Args:
        engine: of the pattern and special tokens.
        errors: `strict` or `replace`.
        workers: threads; 1 counts in the calling thread.
        buffer_bytes: text per buffer.
        spill: holds tables and buffers to a memory budget.

    Attributes:
        n_bytes: bytes counted.
        clock: of the thread that reads.
    """

    def __init__(
        self,
        engine: CompiledEngine,
        errors: Utf8Errors,
        workers: int,
        buffer_bytes: int = BUFFER_BYTES,
        spill: Spill | None = None,
    ) -> None:
        self._workers = [TallyWorker(engine, errors, spill) for _ in range(workers)]
        self._idle: SimpleQueue[TallyWorker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._buffer_bytes = buffer_bytes
        self._spill = spill
        self._free = [self._new_room() for _ in range(workers + 1 if workers > 1 else 1)]
        self._running: dict[Future[None], FilledRoom] = {}
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="bpenb-count") if workers > 1 else None
        self.clock = StageClock()
        self.n_bytes = 0

    def _new_room(self) -> ScanBuffer:
        if self._spill is None:
            return ScanBuffer(self._buffer_bytes)
        return _GuardedBuffer(self._buffer_bytes, self._make_way)

    def take_room(self) -> ScanBuffer:
        """Return a free buffer, waiting for a thread to be done with one if need be."""
        while not self._free:
            with self.clock.waiting():
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                self._take_back(self._running.pop(future), future)
        return self._free.pop()

    def _take_back(self, filled: FilledRoom, future: Future[None] | None = None) -> None:
        if future is not None:
            future.result()  # an error of the thread is raised here
        assert isinstance(filled.room, ScanBuffer)
        self.n_bytes += filled.n_bytes
        self._free.append(self._new_room() if self._is_outsize(filled.room.capacity) else filled.room)

    def add(self, filled: FilledRoom) -> None:
        """Count a buffer: now, or in the next thread that is free."""
        outsize = self._is_outsize(filled.room.capacity)
        if self._pool is None or outsize:
            with self.clock.waiting():
                self._workers[0].count(filled)
            if self._spill is not None and outsize:
                self._spill.release(self._workers[0].table)
            self._take_back(filled)
        else:
            self._running[self._pool.submit(self._count, filled)] = filled

    def _is_outsize(self, capacity: int) -> bool:
        """Tell whether a buffer takes more of a memory budget than is planned for."""
        return self._spill is not None and capacity > 2 * self._buffer_bytes

    def _make_way(self, capacity: int) -> None:
        """Let a buffer that must outgrow its size (no place to cut) have all memory but its base."""
        if self._spill is None or not self._is_outsize(capacity):
            return
        if capacity > self._spill.plan.largest_text:
            raise MemoryError
        self._drain()
        for worker in self._workers:
            self._spill.release(worker.table)

    def _drain(self) -> None:
        """Wait until nothing is being counted."""
        for future, filled in self._running.items():
            self._take_back(filled, future)
        self._running.clear()

    def _count(self, filled: FilledRoom) -> None:
        worker = self._idle.get()
        try:
            worker.count(filled)
        finally:
            self._idle.put(worker)

    def details(self) -> dict[str, int | str]:
        """Return what there is to report of the work so far.

        Words that several tables hold, or held before they were spilled, are counted more than once.
        """
        n_words = sum(len(worker.table) for worker in self._workers)
        n_counting = len(self._workers) - self._idle.qsize()
        n_given = sum(not future.done() for future in self._running)
        busy = sum(sum(worker.seconds.values()) for worker in self._workers)
        return {
            "words": n_words + (self._spill.n_words if self._spill else 0),
            "pretokens": sum(worker.n_pretokens for worker in self._workers),
            "buffers_waiting": max(0, n_given - n_counting),
            "buffers_counting": n_counting,
            "waits": self.clock.who_waits(busy / len(self._workers)),
        }

    def finish(self) -> Words:
        """Wait for the threads, and return (word_bytes, word_offsets, word_counts) in order."""
        self._drain()
        tables = [worker.finish() for worker in self._workers]
        return gather_or_merge(tables, len(tables), self._spill, self.clock)

    @property
    def stage_seconds(self) -> dict[str, float]:
        """Seconds of each stage, those of all threads together."""
        return add_seconds(self.clock.seconds, *(worker.seconds for worker in self._workers))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the threads end; what they have not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._free.clear()  # they know the crew, and would keep it until the collector runs


def count_in_threads(
    fill: Callable[[TakeRoom], Iterator[FilledRoom]],
    engine: CompiledEngine,
    errors: Utf8Errors,
    workers: int,
    buffer_bytes: int,
    reporter: Reporter,
    spill: Spill | None = None,
) -> Counted:
    """Count everything that `fill` puts into buffers, reporting the bytes done.

    Args:
        fill: takes a function that returns a free buffer, and yields filled ones.
        engine: of the pattern and special tokens.
        errors: `strict` or `replace`.
        workers: threads; 1 counts in this one.
        buffer_bytes: text per buffer.
        reporter: in the phase `count`.
        spill: holds the tables to a memory budget.

    Raises:
        CountsError: the count of a word passes 2⁶³ − 1, or the words do not fit into the budget.
        InvalidUtf8Error: text that is not UTF-8, if `errors` is `strict`.
    """
    with _Crew(engine, errors, workers, buffer_bytes, spill) as crew:
        texts = fill(crew.take_room)
        while (filled := crew.clock.read(texts)) is not None:
            crew.add(filled)
            reporter.update(crew.n_bytes, **crew.details())
        words = crew.finish()
    return Counted(words, crew.n_bytes, 0, crew.stage_seconds)


def kernels_compiled() -> bool:
    """Tell whether counting can start without compiling."""
    return (
        is_compiled(tally_pretokens, flush_front, add_words, sort_buckets)
        and CompiledEngine.kernels_compiled()
    )


def warmup() -> None:
    """Compile (or load) every kernel of counting by counting a few bytes with each pattern."""
    for name in PATTERNS:
        load_kernels(CompiledEngine(resolve_pattern(name), ("<s>",)))


def load_kernels(engine: CompiledEngine | None = None) -> None:
    """Compile (or load) the kernels of counting, and those of one engine."""
    table = WordTable(8)
    table.add(np.frombuffer(b"ab", dtype=np.uint8), np.array([0, 1, 2]), np.array([1, 1]))
    table.reserve(64, 0)
    first_disorder(*table.to_arrays()[:2])
    if engine is not None:
        with _Crew(engine, "strict", 1, 4096) as crew:
            filled = FilledRoom(crew.take_room())
            filled.room.text[:8] = np.frombuffer(b"it's<s>a", dtype=np.uint8)
            filled.add(8, "warmup", 0)
            crew.add(filled.close())
            crew.finish()
