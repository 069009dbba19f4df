"""Counting with the compiled engine, in threads: sizes of buffers, the crew at work, its kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import numpy as np

from bpenb._jit import compiling_alone, is_compiled
from bpenb.corpus import FilledRoom, TakeRoom
from bpenb.counting.crew import Crew
from bpenb.counting.order import first_disorder, sort_buckets
from bpenb.counting.stages import Counted
from bpenb.counting.table import WordTable, add_words
from bpenb.counting.tally import tally_pretokens
from bpenb.counting.tally_worker import TallyWorker
from bpenb.patterns import PATTERNS, resolve_pattern
from bpenb.pretokenize import CompiledEngine, ScanBuffer
from bpenb.progress import Reporter

__all__ = ["LEAN_BUFFER_BYTES", "buffer_bytes_for", "count_in_threads", "kernels_compiled", "load_kernels",
           "warmup"]  # fmt: skip

LEAN_BUFFER_BYTES = 1 << 19  # where memory is short
_BUFFER_BYTES = 1 << 21  # four milliseconds of work: handing it over costs a tenth of one
_LEAST_BUFFER_BYTES = 1 << 17
_BUFFERS_PER_WORKER = 16  # the last one is counted while others have none
_LOADED: set[str | None] = set()  # names of the patterns whose kernels this process has


def buffer_bytes_for(n_bytes: int | None, workers: int) -> int:
    """Return the size of buffers for a text of that size (None: not known)."""
    if n_bytes is None:
        return _BUFFER_BYTES
    return min(max(n_bytes // (_BUFFERS_PER_WORKER * workers), _LEAST_BUFFER_BYTES), _BUFFER_BYTES)


def count_in_threads(
    fill: Callable[[TakeRoom], Iterator[FilledRoom]],
    crew: Crew,
    reporter: Reporter,
    *,
    in_turns: bool,
) -> Counted:
    """Count everything that `fill` puts into buffers, reporting the bytes done on disk.

    Args:
        fill: takes a function that returns a free buffer, and yields filled ones.
        crew: who counts.
        reporter: in the phase `count`.
        in_turns: whether any thread of the crew may read; else the calling one does.

    Raises:
        CountsError: the count of a word passes 2⁶³ − 1, or the words do not fit into the budget.
        InvalidUtf8Error: text that is not UTF-8, if `errors` is `strict`.
    """
    crew.count(fill, in_turns, lambda: reporter.update(crew.n_disk_bytes, **crew.details()))
    return Counted(crew.finish(), crew.n_bytes, 0, crew.stage_seconds, crew.n_disk_bytes)


def kernels_compiled() -> bool:
    """Tell whether counting can start without compiling."""
    return is_compiled(tally_pretokens, add_words, sort_buckets) and CompiledEngine.kernels_compiled()


def warmup() -> None:
    """Compile (or load) every kernel of counting by counting a few bytes with each pattern."""
    load_kernels()
    for name in PATTERNS:
        load_kernels(CompiledEngine(resolve_pattern(name), ("<s>",)))


def load_kernels(engine: CompiledEngine | None = None) -> None:
    """Compile (or load) what counts with an engine in threads, or (None) adds up words; once in a process."""
    name = engine.pattern_name if engine else None
    if name in _LOADED:
        return
    with ExitStack() as stack:
        if not kernels_compiled():
            with suppress(OSError):  # a file system without locks: then several compile
                stack.enter_context(compiling_alone())
        _load_kernels(engine)
    _LOADED.add(name)


def _load_kernels(engine: CompiledEngine | None) -> None:
    table = WordTable(8)
    if engine is None:
        table.add(np.frombuffer(b"ab", dtype=np.uint8), np.array([0, 1, 2]), np.array([1, 1]))
    else:
        worker = TallyWorker(engine, "strict")
        buffer = ScanBuffer(64)
        buffer.fill(b"it's<s>a")
        filled = FilledRoom(buffer)
        filled.add(8, "warmup", 0)
        worker.count(filled)
        table = worker.finish()
    table.reserve(1 << 12, 0)
    first_disorder(*table.to_arrays()[:2])
