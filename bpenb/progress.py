"""What long work reports while it runs: one small record, handed to a callable.

Rooms call a `Reporter`; who shows it (a bar, JSON lines, nobody) is decided outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Progress", "ProgressCallback", "ProgressOption", "Reporter", "make_reporter"]


@dataclass(frozen=True)
class Progress:
    """Where a piece of long work stands.

    Attributes:
        phase: of training `count`, `merge`, `replay` (several sizes), `check` (`--verify`); of counting on
            a cluster `plan`, `count`, `add up`, `join`; of encoding `encode`, `shuffle` and `upload`;
            `decode`; of datasets `verify`.
        done: units finished.
        total: units in all, or None where nobody knows (an iterator).
        unit: `bytes` (count, encode, upload, verify; of files: as they lie on disk), `merges` (merge, check),
            `words` (replay), `shards` (plan), `files` (add up), `partitions` (join), `tokens` (decode), or
            `buckets` (shuffle), the shares that documents are put in order by.
        seconds: since the phase began.
        details: further figures by name (words, pretokens, last count, …).
        finished: whether this is the last report of its phase.
    """

    phase: str
    done: int
    total: int | None
    unit: str
    seconds: float
    details: dict[str, int | float | str] = field(default_factory=dict)
    finished: bool = False

    @property
    def rate(self) -> float:
        """Units per second so far."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds to go at this rate, or None."""
        if self.total is None or self.rate == 0:
            return None
        return max(0.0, (self.total - self.done) / self.rate)


ProgressCallback: TypeAlias = Callable[[Progress], None]
ProgressOption: TypeAlias = bool | ProgressCallback | None


class Reporter:
    """Calls the user's callable at most ten times a second, and at the end of each phase.

    Attributes:
        more: returns further details for every report, if it is not None.
        phase_seconds: how long each phase took.
    """

    INTERVAL = 0.1

    def __init__(self, callback: ProgressCallback | None) -> None:
        self._callback = callback
        self._phase = ""
        self._unit = ""
        self._total: int | None = None
        self._started = self._last = 0.0
        self.more: Callable[[], Mapping[str, int | float | str]] | None = None
        self.phase_seconds: dict[str, float] = {}

    def for_another_run(self) -> Reporter:
        """Return a reporter to the same callable, with seconds of its own."""
        return Reporter(self._callback)

    def start(self, phase: str, total: int | None, unit: str) -> None:
        """Begin a phase of `total` units."""
        self._phase, self._total, self._unit = phase, total, unit
        self._started = time.perf_counter()
        self._last = 0.0
        self.update(0)

    def update(self, done: int, **details: int | float | str) -> None:
        """Report `done` units, unless the last report was a moment ago."""
        now = time.perf_counter()
        if self._callback is not None and now - self._last >= self.INTERVAL:
            self._last = now
            self._emit(done, now, details)

    def finish(self, done: int, **details: int | float | str) -> None:
        """End the phase: always reported, and its seconds kept."""
        now = time.perf_counter()
        self.phase_seconds[self._phase] = self.phase_seconds.get(self._phase, 0.0) + now - self._started
        if self._callback is not None:
            self._total = done
            self._emit(done, now, details, finished=True)

    def _emit(
        self, done: int, now: float, details: dict[str, int | float | str], *, finished: bool = False
    ) -> None:
        assert self._callback is not None
        seconds = now - self._started
        if self.more is not None:
            details = details | dict(self.more())
        self._callback(Progress(self._phase, done, self._total, self._unit, seconds, details, finished))


def make_reporter(progress: ProgressOption | Reporter) -> Reporter:
    """Return the reporter for a `progress` option: None, True (a bar on stderr) or a callable."""
    if isinstance(progress, Reporter):
        return progress
    if progress is None or progress is False:
        return Reporter(None)
    if progress is True:
        from bpenb._bar import Bar

        return Reporter(Bar())
    if not callable(progress):
        raise TypeError(f"progress must be None, True or a callable, not {type(progress).__name__}")
    return Reporter(progress)
