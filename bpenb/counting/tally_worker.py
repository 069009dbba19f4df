"""What one thread, or one worker process, does with text: segments → planes → starts → word table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bpenb._arrays import Int64Array
from bpenb._jit import numbers_may_wrap
from bpenb.corpus import FilledRoom
from bpenb.counting.spill import Spill, gather_or_merge
from bpenb.counting.stages import StageClock, add_seconds
from bpenb.counting.table import WordTable
from bpenb.counting.tally import (
    OVERFLOW,
    QUEUE_ROWS,
    TALLIED,
    make_tally_scratch,
    tally_pretokens,
)
from bpenb.errors import CountsError
from bpenb.patterns import SplitPattern
from bpenb.pretokenize import (
    START,
    CompiledEngine,
    ScanBuffer,
    TextTask,
    Utf8Errors,
    WordArrays,
    find_invalid_utf8,
    replace_invalid,
)

__all__ = ["CompiledCountJob", "TallyWorker"]


class TallyWorker:
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
        self.seconds = {"scan": 0.0, "tally": 0.0}

    def count(self, filled: FilledRoom) -> None:
        """Count the pretokens of a buffer."""
        buffer, ranges = filled.room, filled.ranges
        assert isinstance(buffer, ScanBuffer)
        started = time.perf_counter()
        segments = self.engine.find_segments(buffer, ranges)
        if not self.engine.mark(buffer, segments):
            if self.errors == "strict":
                raise find_invalid_utf8(buffer, filled)
            buffer, segments = replace_invalid(buffer, segments)
            assert self.engine.mark(buffer, segments)
        marked = time.perf_counter()
        self.seconds["scan"] += marked - started
        self._tally(buffer, segments)
        self.seconds["tally"] += time.perf_counter() - marked

    def _tally(self, buffer: ScanBuffer, segments: Int64Array) -> None:
        scratch = self.scratch
        scratch.position[:] = 0
        starts = buffer.planes[START]
        with numbers_may_wrap():
            while True:
                status = tally_pretokens(self.table.arrays, buffer.text, starts, segments, scratch)
                if status == TALLIED:
                    break
                _check_overflow(status)
                self._make_room(QUEUE_ROWS, buffer.n_bytes)
        self.n_pretokens += int(scratch.position[3])

    def _make_room(self, n_words: int, n_bytes: int) -> None:
        """Make room in the table, or empty it if it has its share of the memory."""
        if self.spill is None:
            self.table.reserve(n_words, n_bytes)
        else:  # whose seconds are no tally's
            self.seconds["tally"] -= self.spill.make_room(self.table, n_words, n_bytes)

    def finish(self) -> WordTable:
        """Return the table with everything that was counted."""
        front = self.scratch.front
        waiting = front[front[:, 2] > 0]
        self._make_room(waiting.shape[0], 0)
        scratch = self.scratch._replace(queue=waiting)  # and no text
        scratch.position[:] = 0, 0, waiting.shape[0], 0
        nothing = ScanBuffer(0)
        segments = np.empty((0, 2), dtype=np.int64)
        with numbers_may_wrap():
            status = tally_pretokens(
                self.table.arrays, nothing.text, nothing.planes[START], segments, scratch
            )
        _check_overflow(status)
        front[:, 2] = 0
        return self.table


def _check_overflow(status: int) -> None:
    if status == OVERFLOW:
        raise CountsError("the count of a word passes 2**63 - 1")


@dataclass(frozen=True)
class CompiledCountJob:
    """Counts the words of a task with the compiled engine, for processes.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> from bpenb.pretokenize import DocumentBatch
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
        worker = TallyWorker(self.engine, self.errors)
        clock = StageClock()
        texts = task.texts()
        while (text := clock.read(texts)) is not None:
            data, source, base = text
            buffer = ScanBuffer(len(data))
            buffer.fill(data)
            filled = FilledRoom(buffer)
            filled.add(len(data), source, base)
            worker.count(filled)
        words = gather_or_merge([worker.finish()], 1, None, clock)
        return WordArrays(*words, add_seconds(clock.seconds, worker.seconds))
