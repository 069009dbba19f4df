"""The door of counting: files or documents in, `WordCounts` out.

    known pattern   compiled engine, in threads (in_threads.py), or in processes if asked for
    any regex       `regex` engine, in processes (in_processes.py)

The words depend on the text and the settings alone: not on workers, pool, buffers or tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from bpenb._arrays import ByteArray, CountArray, Int64Array
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
from bpenb.counting.in_processes import count_in_processes, document_tasks, range_tasks
from bpenb.counting.in_threads import CompiledCountJob, count_in_threads, warmup
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
    """

    workers: int | None = None
    pool: PoolOption = "auto"
    task_bytes: int | None = None
    small_input: int = _SMALL_INPUT
    start_method: str | None = None

    def __post_init__(self) -> None:
        resolve_workers(self.workers)
        _check_choice("pool", self.pool, ("auto", "threads", "processes"))
        if self.task_bytes is not None and self.task_bytes < 1:
            raise BpenbError(f"the unit of work is {self.task_bytes} bytes; it must be at least 1")


class CountResult(NamedTuple):
    """The counts, the bytes of text read, and the peak memory of all worker processes together."""

    counts: WordCounts
    n_bytes: int
    workers_peak_rss_bytes: int


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
        WorkerError: a worker failed or died.
    """
    workforce, reporter = workforce or Workforce(), reporter or Reporter(None)
    paths = resolve_files(files)
    total = _total_bytes(paths)
    finder = CutFinder(settings.pattern, SpecialScanner(settings.special_tokens))
    reporter.start("count", total, "bytes")
    if _in_threads(settings, workforce):
        return _threads(lambda take: fill_from_files(paths, finder, take), settings, workforce, reporter)
    task_bytes = workforce.task_bytes
    if task_bytes is None:
        wanted = (total or _TASK_BYTES) // (_TASKS_PER_WORKER * resolve_workers(workforce.workers))
        task_bytes = max(_LEAST_TASK_BYTES, min(wanted, _TASK_BYTES))
    tasks = range_tasks(plan_ranges(paths, finder, task_bytes), task_bytes)
    return _processes(tasks, settings, workforce, reporter)


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
        return _threads(lambda take: fill_from_documents(texts, finder, take), settings, workforce, reporter)
    task_bytes = workforce.task_bytes or _LEAST_TASK_BYTES
    tasks = document_tasks(batch_documents(documents, task_bytes), finder, task_bytes)
    return _processes(tasks, settings, workforce, reporter)


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
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
) -> CountResult:
    engine = CompiledEngine(settings.pattern, settings.special_tokens)
    workers = resolve_workers(workforce.workers)
    words, n_bytes = count_in_threads(fill, engine, settings.errors, workers, workforce.task_bytes, reporter)
    return _result(words, n_bytes, settings, engine, 0, reporter)


def _processes(
    tasks: Iterator[TextTask], settings: CountSettings, workforce: Workforce, reporter: Reporter
) -> CountResult:
    job: WordCountJob | CompiledCountJob
    if settings.is_compiled:
        warmup()  # only this process compiles; the workers load
        job = CompiledCountJob(settings.pattern, settings.special_tokens, settings.errors)
    else:
        job = WordCountJob(settings.pattern, settings.special_tokens, settings.errors)
    words, n_bytes, peak = count_in_processes(
        tasks,
        job,
        resolve_workers(workforce.workers),
        workforce.small_input,
        workforce.start_method,
        reporter,
    )
    return _result(words, n_bytes, settings, job.engine, peak, reporter)


def _result(
    words: tuple[ByteArray, Int64Array, CountArray],
    n_bytes: int,
    settings: CountSettings,
    engine: RegexEngine | CompiledEngine,
    workers_peak_rss_bytes: int,
    reporter: Reporter,
) -> CountResult:
    counts = WordCounts(
        *words, settings.pattern, settings.special_tokens, engine.name, engine.unicode_version
    )
    reporter.finish(n_bytes, words=len(counts), pretokens=counts.n_pretokens)
    return CountResult(counts, n_bytes, workers_peak_rss_bytes)
