"""The door of counting: files or documents in, `WordCounts` out.

    known pattern   compiled engine, in threads (in_threads.py), or in processes if asked for
    any regex       `regex` engine, in processes (in_processes.py)

The words depend on the text and the settings alone: not on workers, pool, buffers or tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from bpenb._memory import parse_memory, release_free_memory, rss_bytes
from bpenb._workers import resolve_workers
from bpenb.corpus import (
    CutFinder,
    Files,
    FilledRoom,
    SpecialScanner,
    TakeRoom,
    batch_documents,
    encode_documents,
    fill_from_documents,
    fill_from_files,
    plan_ranges,
    resolve_files,
)
from bpenb.counting.crew import Crew
from bpenb.counting.in_processes import count_in_processes, document_tasks, range_tasks
from bpenb.counting.in_threads import (
    LEAN_BUFFER_BYTES,
    buffer_bytes_for,
    count_in_threads,
    load_kernels,
    warmup,
)
from bpenb.counting.memory_plan import MemoryPlan, plan_processes, plan_threads
from bpenb.counting.spill import Spill
from bpenb.counting.stages import Counted
from bpenb.counting.tally_worker import CompiledCountJob
from bpenb.counting.word_counts import WordCounts
from bpenb.errors import BpenbError, PatternError
from bpenb.patterns import PATTERNS, SplitPattern
from bpenb.pretokenize import CompiledEngine, RegexEngine, TextTask, Utf8Errors, WordCountJob
from bpenb.progress import Reporter

__all__ = [
    "CountResult",
    "CountSettings",
    "EngineOption",
    "PoolOption",
    "Workforce",
    "count_documents",
    "count_files",
]

EngineOption: TypeAlias = Literal["auto", "compiled", "regex"]
PoolOption: TypeAlias = Literal["auto", "threads", "processes"]

_SMALL_INPUT = 4 << 20  # below it a pool of processes is not worth its start (0.3 s)
# Tasks of the regex engine: on 101 MB of prose with 2 workers, 18 MB/s in tasks of 1 MB, 15 in
# 0.5 MB, 12 in 4 MB, which also take twice the memory (a task's pretokens are one list).
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
        engine: `auto` takes the compiled engine where the pattern is a known one.

    Raises:
        PatternError: the compiled engine is asked for a pattern that it does not know.
        BpenbError: no such engine, or no such way to treat errors.
    """

    pattern: SplitPattern
    special_tokens: tuple[str, ...]
    errors: Utf8Errors = "strict"
    engine: EngineOption = "auto"

    def __post_init__(self) -> None:
        _check_choice("errors", self.errors, ("strict", "replace"))
        _check_choice("engine", self.engine, ("auto", "compiled", "regex"))
        if self.engine == "compiled" and self.pattern.name is None:
            raise PatternError(
                f"there is no compiled engine for the pattern {self.pattern.regex!r}; "
                f"known patterns: {', '.join(PATTERNS)}; or take engine='regex'"
            )

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled engine is taken."""
        return self.engine != "regex" and self.pattern.name is not None


@dataclass(frozen=True)
class Workforce:
    """Who counts; it changes how long that takes, never the words.

    Attributes:
        workers: how many; None: as many as there are processors.
        pool: `threads` or `processes`; `auto`: threads for the compiled engine.
        task_bytes: bytes of text per unit of work; None: what measured best.
        small_input: below this many bytes no process is started.
        start_method: of processes; None: `forkserver` where there is one, else `spawn`.
        max_memory: bytes (or `512MB`, `2GB`) that this process and its workers hold at most; what
            does not fit goes to temporary files (docs/decisions/0008-memory-budget.md).
    """

    workers: int | None = None
    pool: PoolOption = "auto"
    task_bytes: int | None = None
    small_input: int = _SMALL_INPUT
    start_method: str | None = None
    max_memory: int | str | None = None

    def __post_init__(self) -> None:
        parse_memory(self.max_memory)
        resolve_workers(self.workers)
        _check_choice("pool", self.pool, ("auto", "threads", "processes"))
        if self.task_bytes is not None and self.task_bytes < 1:
            raise BpenbError(f"the unit of work is {self.task_bytes} bytes; it must be at least 1")


class CountResult(NamedTuple):
    """What counting hands out.

    Attributes:
        counts: words and counts.
        n_bytes: of text read.
        workers_peak_rss_bytes: peak memory of all worker processes together.
        stage_seconds: of each stage (bpenb/counting/stages.py), those of all workers together.
        n_spills: how often a word table went to a temporary file.
        memory_plan: how `max_memory` was divided, if there is one.
    """

    counts: WordCounts
    n_bytes: int
    workers_peak_rss_bytes: int
    stage_seconds: Mapping[str, float] = MappingProxyType({})
    n_spills: int = 0
    memory_plan: MemoryPlan | None = None


def count_files(
    files: Files,
    settings: CountSettings,
    workforce: Workforce | None = None,
    reporter: Reporter | None = None,
) -> CountResult:
    """Count the words of files; the result depends on nothing but their text and `settings`.

    Args:
        files: a path, or several; each begins a new document.
        settings: pattern, special tokens, engine, treatment of bytes that are not UTF-8.
        workforce: who counts.
        reporter: told of bytes done.

    Raises:
        CorpusError: a file that cannot be read, or is not UTF-8.
        CountsError: the words do not fit into `max_memory`.
        TrainingError: `max_memory` leaves no room to count.
        WorkerError: a worker failed or died.
    """
    workforce, reporter = workforce or Workforce(), reporter or Reporter(None)
    paths = resolve_files(files)
    total = _total_bytes(paths)
    finder = CutFinder(settings.pattern, SpecialScanner(settings.special_tokens))
    reporter.start("count", total, "bytes")
    if _in_threads(settings, workforce):
        return _threads(
            lambda take: fill_from_files(paths, finder, take), total, settings, workforce, reporter
        )
    task_bytes = workforce.task_bytes
    if task_bytes is None:
        wanted = (total or _TASK_BYTES) // (_TASKS_PER_WORKER * resolve_workers(workforce.workers))
        task_bytes = max(_LEAST_TASK_BYTES, min(wanted, _TASK_BYTES))
    return _processes(
        lambda size: range_tasks(plan_ranges(paths, finder, size), size),
        task_bytes,
        settings,
        workforce,
        reporter,
    )


def count_documents(
    documents: Iterable[str | bytes],
    settings: CountSettings,
    workforce: Workforce | None = None,
    reporter: Reporter | None = None,
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
    workforce, reporter = workforce or Workforce(), reporter or Reporter(None)
    finder = CutFinder(settings.pattern, SpecialScanner(settings.special_tokens))
    reporter.start("count", None, "bytes")
    if _in_threads(settings, workforce):
        texts = encode_documents(documents)
        return _threads(
            lambda take: fill_from_documents(texts, finder, take), None, settings, workforce, reporter
        )
    task_bytes = workforce.task_bytes or _LEAST_TASK_BYTES
    return _processes(
        lambda size: document_tasks(batch_documents(documents, size), finder, size),
        task_bytes,
        settings,
        workforce,
        reporter,
    )


# --- behind the doors -----------------------------------------------------------------------------


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BpenbError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")


def _in_threads(settings: CountSettings, workforce: Workforce) -> bool:
    if workforce.pool == "threads" and not settings.is_compiled:
        raise BpenbError("the regex engine runs one thread at a time; take pool='processes' for it")
    return settings.is_compiled and workforce.pool != "processes"


def _total_bytes(paths: list[Path]) -> int | None:
    """Return the size of all files, or None if one has none to tell (a pipe)."""
    if not all(path.is_file() for path in paths):
        return None
    return sum(path.stat().st_size for path in paths)


def _threads(
    fill: Callable[[TakeRoom], Iterator[FilledRoom]],
    n_bytes: int | None,
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
) -> CountResult:
    engine = CompiledEngine(settings.pattern, settings.special_tokens)
    workers = resolve_workers(workforce.workers)
    budget = parse_memory(workforce.max_memory)
    usual = buffer_bytes_for(n_bytes, workers) if budget is None else LEAN_BUFFER_BYTES
    buffer_bytes = workforce.task_bytes or usual
    load_kernels(engine)  # here, not in the threads: Ctrl-C would wait for what they compile
    if budget is None:
        crew = Crew(engine, settings.errors, workers, buffer_bytes)
        counted = count_in_threads(fill, crew, reporter, in_turns=n_bytes is not None)
        return _result(counted, None, settings, engine, reporter)
    load_kernels()  # for files of words
    release_free_memory()  # of earlier work; the kernels are part of the base
    plan = plan_threads(budget, rss_bytes(), workers, buffer_bytes)
    with Spill(plan) as spill:
        crew = Crew(engine, settings.errors, plan.workers, buffer_bytes, spill)
        counted = count_in_threads(fill, crew, reporter, in_turns=n_bytes is not None)
    return _result(counted, spill, settings, engine, reporter)


def _processes(
    tasks_of: Callable[[int], Iterator[TextTask]],
    task_bytes: int,
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
) -> CountResult:
    job: WordCountJob | CompiledCountJob
    if settings.is_compiled:
        warmup()  # only this process compiles; the workers load
        job = CompiledCountJob(settings.pattern, settings.special_tokens, settings.errors)
    else:
        job = WordCountJob(settings.pattern, settings.special_tokens, settings.errors)
    workers = resolve_workers(workforce.workers)
    small, method = workforce.small_input, workforce.start_method
    budget = parse_memory(workforce.max_memory)
    if budget is None:
        counted = count_in_processes(tasks_of(task_bytes), job, workers, small, method, reporter)
        return _result(counted, None, settings, job.engine, reporter)
    load_kernels()
    engine = replace(job).engine  # part of the base; not the job's own, which travels without one
    release_free_memory()
    plan = plan_processes(budget, rss_bytes(), workers, settings.is_compiled, task_bytes)
    task_bytes = min(task_bytes, plan.largest_text // 3)  # several documents are up to three times that
    with Spill(plan) as spill:
        tasks = tasks_of(task_bytes)
        counted = count_in_processes(tasks, job, plan.workers, small, method, reporter, spill)
    return _result(counted, spill, settings, engine, reporter)


def _result(
    counted: Counted,
    spill: Spill | None,
    settings: CountSettings,
    engine: RegexEngine | CompiledEngine,
    reporter: Reporter,
) -> CountResult:
    counts = WordCounts(
        *counted.words, settings.pattern, settings.special_tokens, engine.name, engine.unicode_version
    )
    n_bytes, seconds = counted.n_bytes, counted.stage_seconds
    if spill is None:
        reporter.finish(n_bytes, words=len(counts), pretokens=counts.n_pretokens)
        return CountResult(counts, n_bytes, counted.workers_peak_rss_bytes, seconds)
    reporter.finish(
        n_bytes,
        words=len(counts),
        pretokens=counts.n_pretokens,
        spills=spill.n_spills,
        memory_plan=str(spill.plan),
    )
    return CountResult(
        counts, n_bytes, counted.workers_peak_rss_bytes, seconds | spill.seconds, spill.n_spills, spill.plan
    )
