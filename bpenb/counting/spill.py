"""Word tables that outgrow their share of the memory: sorted to files, and merged at the end.

table full → its words in order → a run on disk (three files) → the table starts again, empty
FAN_IN runs of one level        → merged into one run of the next, so the disk holds every
                                  word a few times, however long the text
the end                         → all runs merged into one, which is read back
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from bpenb._memory import format_memory, release_free_memory
from bpenb.counting.gather import gather_tables
from bpenb.counting.memory_plan import SORTING, MemoryPlan
from bpenb.counting.runs import Run, RunBlock, Words, merge_blocks
from bpenb.counting.stages import StageClock
from bpenb.counting.table import WordTable
from bpenb.errors import CountsError, OutputError

__all__ = ["Spill", "Words", "gather_or_merge"]

FAN_IN = 32
# Memory that merging takes for each byte of the blocks: a word of 1 byte is 17 in its block, at
# most 102 in the table and 51 in the one it grew from, 64 while sorted, and 40 in copies.
_PER_BLOCK_BYTE = 16
_LEAST_BLOCK = 1 << 12
_MOST_MERGING = 64_000_000  # with more, the table of a portion falls out of the caches
_CHECKING = 10_000_000  # `WordCounts` looks at its words as Python objects, some at a time


class Spill:
    """Holds word tables to their share of the memory; use it in a `with` block.

    Args:
        plan: the shares.

    Attributes:
        n_spills: how often a table was emptied.
        n_words: written then, not all of them distinct.
        seconds: of writing runs, and of merging them.

    Example:
        >>> import numpy as np
        >>> plan = MemoryPlan(300_000_000, 0, 0, 0, 1, 50_000_000, 1, 1 << 20)  # nothing for a table
        >>> table = WordTable()
        >>> with Spill(plan) as spill:
        ...     for word in (b"b", b"a", b"b"):
        ...         table.add(np.frombuffer(word, dtype=np.uint8), np.array([0, 1]), np.array([1]))
        ...         _ = spill.make_room(table, 9_000, 0)
        ...     word_bytes, _, word_counts = spill.finish([table], 1)
        >>> spill.n_spills, word_bytes.tobytes(), word_counts.tolist()
        (3, b'ab', [1, 2])
    """

    def __init__(self, plan: MemoryPlan) -> None:
        self.plan = plan
        self.n_spills = self.n_words = 0
        self.seconds = {"spill": 0.0, "merge": 0.0}
        self._lock = threading.Lock()  # one table grows or is sorted at a time: so little is planned for it
        self._levels: list[list[Run]] = []
        self._folder: Path | None = None
        self._n_runs = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def total_seconds(self) -> float:
        """Seconds of writing and merging."""
        return sum(self.seconds.values())

    def make_room(self, table: WordTable, n_words: int, n_bytes: int) -> float:
        """Make room in a table for so many more words and bytes, emptying it if it has its share.

        Returns:
            Seconds that emptying it took.
        """
        with self._lock:
            before = self.total_seconds
            if len(table) and table.nbytes_with(n_words, n_bytes) > self.plan.table:
                self._empty(table)
            table.reserve(n_words, n_bytes)
            return self.total_seconds - before

    def release(self, table: WordTable) -> None:
        """Empty a table, and give its memory back."""
        with self._lock:
            if len(table):
                self._empty(table)
            table.clear(release=True)
            release_free_memory()

    def finish(self, tables: Sequence[WordTable], workers: int) -> Words:
        """Return (word_bytes, word_offsets, word_counts) of all that the tables ever held, in order.

        Raises:
            CountsError: they do not fit into the budget, or a count passes 2⁶³ − 1.
        """
        if not self.n_spills and (not any(map(len, tables)) or self._can_gather(tables, workers)):
            return gather_tables([table.arrays for table in tables], workers)
        for table in tables:
            self.release(table)
        runs = [run for level in self._levels for run in level]
        run = runs[0] if len(runs) == 1 else self._merge(runs, self.plan.for_words)
        self._check_fits(run)
        release_free_memory()
        return run.read()

    def _can_gather(self, tables: Sequence[WordTable], workers: int) -> bool:
        """Tell whether all tables can be sorted in memory at once."""
        need = SORTING + workers * 1_000_000
        for table in tables:  # records, room to sort them, the result; long words twice more
            need += table.nbytes + 96 * len(table) + 2 * int(table.arrays.cursor[1])
        return need <= self.plan.for_words

    def _empty(self, table: WordTable) -> None:
        """Write the words of a table as a run."""
        started = time.perf_counter()
        with self._new_run() as run:
            run.append(gather_tables([table.arrays], 1))
        table.clear(release=table.nbytes > self.plan.table)
        release_free_memory()
        self.n_spills += 1
        self.n_words += run.n_words
        self.seconds["spill"] += time.perf_counter() - started
        self._file(run, 0)

    def _file(self, run: Run, level: int) -> None:
        """Put a run among those of its level, merging them when they are many."""
        if level == len(self._levels):
            self._levels.append([])
        runs = self._levels[level]
        runs.append(run)
        if len(runs) == FAN_IN:
            self._levels[level] = []
            merged = self._merge(runs, self.plan.sorting)
            self._check_fits(merged)
            self._file(merged, level + 1)

    @contextmanager
    def _new_run(self) -> Iterator[Run]:
        """Open a run for writing."""
        folder = self._folder
        try:
            if folder is None:
                root = os.environ.get("BPENB_TMPDIR") or None
                folder = self._folder = Path(tempfile.mkdtemp(prefix="bpenb-spill-", dir=root))
            run = Run(folder / f"{self._n_runs}")
            self._n_runs += 1
            yield run
        except OSError as error:
            raise OutputError(
                f"{folder or root or tempfile.gettempdir()}: cannot be written: {error.strerror or error}; "
                "words that do not fit into max_memory go there: set BPENB_TMPDIR to a folder with room, or "
                "raise max_memory"
            ) from error

    def _merge(self, runs: Sequence[Run], memory: int) -> Run:
        """Merge runs into one, and remove them."""
        started = time.perf_counter()
        memory = min(memory - SORTING, _MOST_MERGING)
        block_bytes = max(_LEAST_BLOCK, memory // _PER_BLOCK_BYTE // len(runs))
        table = WordTable()
        with self._new_run() as merged:
            for words in merge_blocks([RunBlock(run, block_bytes) for run in runs], table):
                merged.append(words)
        for run in runs:
            run.remove()
        self.seconds["merge"] += time.perf_counter() - started
        return merged

    def _check_fits(self, run: Run) -> None:
        """Refuse words that do not fit into the budget even when nothing else is there."""
        need = run.n_bytes + 18 * run.n_words + _CHECKING
        plan = self.plan
        if need > plan.for_words:
            raise CountsError(
                f"{run.n_words:,} distinct words with {run.n_bytes:,} bytes do not fit into max_memory of "
                f"{format_memory(plan.budget)}: {format_memory(plan.budget - plan.for_words + need)} are "
                "needed at least; raise max_memory, leave it out, or take a split pattern that makes fewer "
                "words"
            )


def gather_or_merge(
    tables: Sequence[WordTable], workers: int, spill: Spill | None, clock: StageClock
) -> Words:
    """Return (word_bytes, word_offsets, word_counts) of all tables, and of what was spilled, in order.

    Args:
        tables: of all workers, done.
        workers: threads.
        spill: what held the tables to a memory budget, if anything.
        clock: its stage `gather` is what neither writing nor merging of files takes.
    """
    with clock.stage("gather"):
        if spill is None:
            return gather_tables([table.arrays for table in tables], workers)
        before = spill.total_seconds
        words = spill.finish(tables, workers)
        clock.seconds["gather"] = clock.seconds.get("gather", 0.0) + before - spill.total_seconds
    return words
