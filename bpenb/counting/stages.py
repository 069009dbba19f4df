"""Where the time of counting goes: seconds of each stage, and which stage waits for the other.

read     text is read, or taken from the user's iterable
scan     it is cut into pretokens (the `regex` engine counts them in the same breath)
tally    pretokens are counted in a word table
gather   word tables are merged, and the words put in order
spill    tables that outgrew their share of the memory are written to files
merge    these files are merged
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from bpenb._arrays import ByteArray, CountArray, Int64Array

__all__ = ["Counted", "StageClock", "add_seconds"]

T = TypeVar("T")


class Counted(NamedTuple):
    """What a driver returns.

    Attributes:
        words: word_bytes, word_offsets, word_counts, in order.
        n_bytes: of text.
        workers_peak_rss_bytes: of all worker processes together.
        stage_seconds: those of all workers together.
        n_disk_bytes: of the inputs as they lie on disk; of documents, of their text.
    """

    words: tuple[ByteArray, Int64Array, CountArray]
    n_bytes: int
    workers_peak_rss_bytes: int
    stage_seconds: dict[str, float]
    n_disk_bytes: int


class StageClock:
    """Measures the stages of one thread, and its waiting.

    Example:
        >>> clock = StageClock()
        >>> clock.read(iter("a"))
        'a'
        >>> sorted(clock.seconds), clock.who_waits()
        (['read'], 'counting')
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"read": 0.0}
        self._waited = 0.0
        self._started = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to a stage, but for what it waits."""
        started, waited = time.perf_counter(), self._waited
        try:
            yield
        finally:
            taken = time.perf_counter() - started - (self._waited - waited)
            self.seconds[name] = self.seconds.get(name, 0.0) + taken

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Note that reading waits for counting in the block, but for what is read there."""
        started, read = time.perf_counter(), self.seconds["read"]
        try:
            yield
        finally:
            self._waited += time.perf_counter() - started - (self.seconds["read"] - read)

    def read(self, texts: Iterator[T]) -> T | None:
        """Return the next of `texts`, or None at the end; its time is that of reading."""
        with self.stage("read"):
            return next(texts, None)

    def wait_for(self, results: Iterator[T]) -> T | None:
        """Return the next of `results`, or None at the end; its time is that of waiting."""
        with self.waiting():
            return next(results, None)

    def who_waits(self) -> str:
        """Tell which stage has waited longer so far: `reading` or `counting`."""
        reading = time.perf_counter() - self._started - self._waited
        return "reading" if self._waited > reading else "counting"


def add_seconds(*parts: Mapping[str, float]) -> dict[str, float]:
    """Return the sum of each stage's seconds.

    Example:
        >>> add_seconds({"read": 1.0}, {"read": 0.5, "scan": 2.0})
        {'read': 1.5, 'scan': 2.0}
    """
    total: dict[str, float] = {}
    for part in parts:
        for stage, seconds in part.items():
            total[stage] = total.get(stage, 0.0) + seconds
    return total
