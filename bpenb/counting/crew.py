"""A crew of threads that count buffers of text, each with a word table of its own.

    buffer → [a free thread: segments → planes → starts → word table] → one table → words in order

The calling thread is one of the crew, so there are as many threads as workers. A few buffers go round:
memory holds them and the tables, however large the corpus. Who reads (docs/decisions/0010-read-in-turns.md):

    in turns    every thread takes the next stretch itself, and counts it while it is in its cache
    one reads   the calling thread, for what knows its thread or may block (an iterable, a pipe); the
                others take buffers from a queue, and the reader counts too when all buffers are full
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator

from bpenb.corpus import FilledRoom, TakeRoom
from bpenb.counting.spill import Spill, Words, gather_or_merge
from bpenb.counting.stages import StageClock, add_seconds
from bpenb.counting.tally_worker import TallyWorker
from bpenb.pretokenize import CompiledEngine, ScanBuffer, Utf8Errors

__all__ = ["Crew"]

_PATIENCE = 0.5  # seconds that Ctrl-C waits for threads that are stuck in a read


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


class Crew:
    """Counts buffers in threads; the words do not depend on how many, nor on the buffers.

    Args:
        engine: of the pattern and special tokens.
        errors: `strict` or `replace`.
        workers: threads, with the calling one.
        buffer_bytes: text per buffer.
        spill: holds tables and buffers to a memory budget.

    Attributes:
        n_bytes: bytes counted.
        n_disk_bytes: bytes of the inputs on disk that these were, for progress.
        clock: of reading.
    """

    def __init__(
        self,
        engine: CompiledEngine,
        errors: Utf8Errors,
        workers: int,
        buffer_bytes: int,
        spill: Spill | None = None,
    ) -> None:
        self._workers = [TallyWorker(engine, errors, spill) for _ in range(workers)]
        self._buffer_bytes = buffer_bytes
        self._spill = spill
        self._reading = threading.Lock()
        self._handed: queue.SimpleQueue[tuple[int, FilledRoom] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()  # when a text has been counted, and its buffer is free
        self._free = [self._new_room() for _ in range(workers + 1 if workers > 1 else 1)]
        self._failures: dict[int, Exception] = {}  # by number of the text
        self._n_read = self._n_counted = 0
        self.clock = StageClock()
        self.n_bytes = self.n_disk_bytes = 0

    def count(
        self, fill: Callable[[TakeRoom], Iterator[FilledRoom]], in_turns: bool, report: Callable[[], None]
    ) -> None:
        """Count everything that `fill` puts into buffers; of several errors, the text's first is raised.

        Args:
            fill: takes a function that returns a free buffer, and yields filled ones.
            in_turns: whether any thread may read; else the calling one does.
            report: called now and then in the calling thread.
        """
        texts = fill(self._take_room)
        take = self._read if in_turns else self._take_handed
        threads = [
            threading.Thread(target=self._work, args=(w, take, texts), name="bpenb-count", daemon=True)
            for w in self._workers[1:]
        ]
        for thread in threads:
            thread.start()
        done = False
        try:
            if in_turns:
                self._work(self._workers[0], take, texts, report)
            else:
                self._hand_out(texts, report)
            done = True
        finally:
            if not done:  # Ctrl-C
                self._failures.setdefault(-1, RuntimeError("stopped"))
            for _ in threads:
                self._handed.put(None)
            given_up = time.monotonic() + _PATIENCE  # for all of them together
            for thread in threads:
                thread.join(None if done else max(0.0, given_up - time.monotonic()))
            with self._changed:
                self._free.clear()  # they know the crew, and would keep it until the collector runs
        if self._failures:
            raise self._failures[min(self._failures)]

    def _work(
        self,
        worker: TallyWorker,
        take: Callable[[TallyWorker, Iterator[FilledRoom]], tuple[int, FilledRoom] | None],
        texts: Iterator[FilledRoom],
        report: Callable[[], None] | None = None,
    ) -> None:
        """Take buffers and count them until there are none."""
        while (taken := take(worker, texts)) is not None:
            self._count(worker, *taken)
            if report is not None:
                report()

    def _hand_out(self, texts: Iterator[FilledRoom], report: Callable[[], None]) -> None:
        """Read all texts here, for the others."""
        while (taken := self._read(self._workers[0], texts)) is not None:
            self._handed.put(taken)
            report()
        self._help(until=lambda: self._n_counted == self._n_read)

    def _read(self, worker: TallyWorker, texts: Iterator[FilledRoom]) -> tuple[int, FilledRoom] | None:
        """Return the next text with its number, or None if there is none, or one has failed.

        What outgrew its buffer under a memory budget is counted at once: all others are idle then.
        """
        with self._reading:
            while not self._failures:
                number = self._n_read
                try:
                    filled = self.clock.read(texts)
                except Exception as error:
                    self._failures[number] = error
                    break
                if filled is None:
                    break
                self._n_read += 1
                if not self._is_outsize(filled.room.capacity):
                    return number, filled
                self._count(worker, number, filled)
                assert self._spill is not None
                self._spill.release(worker.table)
        return None

    def _take_handed(self, worker: TallyWorker, texts: Iterator[FilledRoom]) -> tuple[int, FilledRoom] | None:
        return self._handed.get()

    def _count(self, worker: TallyWorker, number: int, filled: FilledRoom) -> None:
        """Count a text, unless one before it has failed, and give the buffer back."""
        try:
            if not self._failures or number < min(self._failures):
                worker.count(filled)
        except Exception as error:
            self._failures[number] = error
        assert isinstance(filled.room, ScanBuffer)
        with self._changed:
            self._n_counted += 1
            self.n_bytes += filled.n_bytes
            self.n_disk_bytes += filled.n_disk_bytes
            self._free.append(self._new_room() if self._is_outsize(filled.room.capacity) else filled.room)
            self._changed.notify_all()

    def _take_room(self) -> ScanBuffer:
        """Return a free buffer."""
        self._help(until=lambda: bool(self._free))
        return self._free.pop()

    def _help(self, until: Callable[[], bool]) -> None:
        """Count what no other thread has taken, or wait for the others, until something is true."""
        with self.clock.waiting():
            while not until():
                try:
                    taken = self._handed.get_nowait()
                except queue.Empty:
                    with self._changed:
                        self._changed.wait_for(until)
                else:
                    assert taken is not None
                    self._count(self._workers[0], *taken)

    def _new_room(self) -> ScanBuffer:
        if self._spill is None:
            return ScanBuffer(self._buffer_bytes)
        return _GuardedBuffer(self._buffer_bytes, self._make_way)

    def _is_outsize(self, capacity: int) -> bool:
        """Tell whether a buffer takes more of a memory budget than is planned for."""
        return self._spill is not None and capacity > 2 * self._buffer_bytes

    def _make_way(self, capacity: int) -> None:
        """Let a buffer that must outgrow its size (no place to cut) have all memory but its base."""
        if self._spill is None or not self._is_outsize(capacity):
            return
        if capacity > self._spill.plan.largest_text:
            raise MemoryError
        self._help(until=lambda: self._n_counted == self._n_read)
        for worker in self._workers:
            self._spill.release(worker.table)

    def details(self) -> dict[str, int | str]:
        """Return what there is to report of the work so far.

        Words that several tables hold, or held before they were spilled, are counted more than once.
        """
        n_words = sum(len(worker.table) for worker in self._workers)
        n_waiting = self._handed.qsize()
        busy = sum(sum(worker.seconds.values()) for worker in self._workers) / len(self._workers)
        return {
            "words": n_words + (self._spill.n_words if self._spill else 0),
            "pretokens": sum(worker.n_pretokens for worker in self._workers),
            "buffers_waiting": n_waiting,
            "buffers_counting": max(0, self._n_read - self._n_counted - n_waiting),
            "waits": "reading" if busy > self.clock.seconds["read"] else "counting",
        }

    def finish(self) -> Words:
        """Return (word_bytes, word_offsets, word_counts) in order."""
        tables = [worker.finish() for worker in self._workers]
        return gather_or_merge(tables, len(tables), self._spill, self.clock)

    @property
    def stage_seconds(self) -> dict[str, float]:
        """Seconds of each stage, those of all threads together."""
        return add_seconds(self.clock.seconds, *(worker.seconds for worker in self._workers))
