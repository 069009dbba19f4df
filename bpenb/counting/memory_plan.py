"""Who may hold how much memory: a budget divided before anything is counted.

    budget = base + fixed + tables × table + sorting

`base` is there already (Python, the kernels, whatever the user holds). `fixed` are the text
buffers, or the worker processes. What is left goes to the word tables, and to one table's words
while they are sorted, which takes up to twice the table. docs/decisions/0008-memory-budget.md
"""

from __future__ import annotations

from dataclasses import dataclass

from bpenb._memory import format_memory
from bpenb.counting.tally import FRONT_ROWS
from bpenb.errors import TrainingError
from bpenb.pretokenize import ScanBuffer

__all__ = ["MemoryPlan", "plan_processes", "plan_threads"]

RESERVE = 12_000_000  # what imports, small objects and unused parts of pages may add
SORTING = 5_000_000  # besides what grows with the words: seven arrays over all buckets
_THREAD = 1_500_000  # a thread's stack, and what the C library keeps for it
_LEAST_TABLE = 6_000_000  # below it, rather fewer workers

_HELPERS = 26_000_000  # the fork server and the resource tracker
_REGEX_WORKER = 32_000_000  # Python, NumPy and `regex`
_REGEX_TASK = 40  # bytes per byte of text: each pretoken a str, each word in a Counter
_COMPILED_TASK = 16  # a text of its own buffer, table and sort
_LEAST_TASK = 1 << 16


@dataclass(frozen=True)
class MemoryPlan:
    """How a memory budget is divided; all sizes in bytes.

    Attributes:
        budget: of the process and its worker processes together.
        base: resident before counting.
        fixed: text buffers, threads, worker processes.
        table: a word table may grow to.
        n_tables: one for each thread; one for all worker processes.
        sorting: for one table's words while they are sorted, or merged with those of others.
        workers: fewer than asked for, if more do not fit.
        largest_text: that a text without a place to cut may have.

    Example:
        >>> print(MemoryPlan(512_000_000, 150_000_000, 22_000_000, 84_000_000, 2, 172_000_000, 2, 1 << 20))
        512 MB = 150 MB base + 22 MB buffers + 2 × 84 MB word tables + 172 MB to sort and merge; 2 workers
    """

    budget: int
    base: int
    fixed: int
    table: int
    n_tables: int
    sorting: int
    workers: int
    largest_text: int

    @property
    def for_words(self) -> int:
        """What tables and sorting may take together, and in the end the words themselves."""
        return self.n_tables * self.table + self.sorting

    def __str__(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        tables = "" if self.n_tables == 1 else f"{self.n_tables} × "
        parts = (
            f"{format_memory(self.base)} base",
            f"{format_memory(self.fixed)} buffers",
            f"{tables}{format_memory(self.table)} word tables",
            f"{format_memory(self.sorting)} to sort and merge",
        )
        return f"{format_memory(self.budget)} = {' + '.join(parts)}; {workers}"


def plan_threads(budget: int, base: int, workers: int, buffer_bytes: int) -> MemoryPlan:
    """Divide a budget for counting in threads, of which there may be fewer than asked for.

    Args:
        budget, base: bytes.
        workers: threads at most.
        buffer_bytes: text in one buffer.

    Raises:
        TrainingError: not even one thread fits.
    """
    buffer = ScanBuffer.nbytes_for(2 * buffer_bytes)  # it may grow so far at any time
    for n in range(workers, 0, -1):
        # The text on its way into a buffer: read ahead, or documents that are being joined.
        fixed = RESERVE + 3 * buffer_bytes + n * (buffer + 32 * FRONT_ROWS + _THREAD) + buffer
        for_tables = budget - base - fixed - SORTING
        table = for_tables // (n + 2)
        if table >= _LEAST_TABLE:
            # A text without a cut: its planes and table, then the table sorted; nothing else is there.
            largest = buffer_bytes + for_tables // 8
            return MemoryPlan(budget, base, fixed, table, n, 2 * table + SORTING, n, largest)
    raise _too_small(budget, base, budget - for_tables + 3 * _LEAST_TABLE)


def plan_processes(budget: int, base: int, workers: int, is_compiled: bool, task_bytes: int) -> MemoryPlan:
    """Divide a budget for counting in worker processes; with one worker, none is started.

    Args:
        budget, base: bytes.
        workers: processes at most.
        is_compiled: whether they run the compiled engine, and so hold the kernels too.
        task_bytes: text in one task.

    Raises:
        TrainingError: not even one worker fits.
    """
    worker = base if is_compiled else _REGEX_WORKER
    per_byte = _COMPILED_TASK if is_compiled else _REGEX_TASK
    for n in range(workers, 0, -1):
        fixed = RESERVE + (_HELPERS + n * worker if n > 1 else 0)
        left = budget - base - fixed - SORTING
        largest = left // (2 * n * per_byte)  # half of it for the texts at work
        table = (left - n * largest * per_byte) // 3
        if table >= _LEAST_TABLE and largest >= (task_bytes if n > 1 else _LEAST_TASK):
            fixed += n * largest * per_byte
            return MemoryPlan(budget, base, fixed, table, 1, 2 * table + SORTING, n, largest)
    raise _too_small(budget, base, budget - left + 6 * _LEAST_TABLE)


def _too_small(budget: int, base: int, needed: int) -> TrainingError:
    return TrainingError(
        f"max_memory is {format_memory(budget)}, of which this process holds {format_memory(base)} already; "
        f"counting needs {format_memory(needed)} in all; raise max_memory, free what the process holds, take "
        "smaller units of work, or, if kernels were just compiled, try again: that takes memory once"
    )
