"""The two ways of counting: in threads (compiled engine), or in processes (any); with a budget or without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from bpenb._memory import parse_memory, release_free_memory, rss_bytes
from bpenb._workers import resolve_workers
from bpenb.corpus import FilledRoom, TakeRoom
from bpenb.counting.crew import Crew
from bpenb.counting.in_processes import count_in_processes
from bpenb.counting.in_threads import (
    LEAN_BUFFER_BYTES,
    buffer_bytes_for,
    count_in_threads,
    load_kernels,
    warmup,
)
from bpenb.counting.memory_plan import plan_processes, plan_threads
from bpenb.counting.settings import CountResult, CountSettings, Workforce
from bpenb.counting.spill import Spill
from bpenb.counting.stages import Counted
from bpenb.counting.tally_worker import CompiledCountJob
from bpenb.counting.word_counts import WordCounts
from bpenb.errors import BpenbError
from bpenb.pretokenize import CompiledEngine, RegexEngine, TextTask, WordCountJob
from bpenb.progress import Reporter

__all__ = ["count_by_processes", "count_by_threads", "takes_threads"]


def takes_threads(settings: CountSettings, workforce: Workforce) -> bool:
    """Tell whether to count in threads.

    Raises:
        BpenbError: threads are asked for, and the engine is `regex`.
    """
    if workforce.pool == "threads" and not settings.is_compiled:
        raise BpenbError("the regex engine runs one thread at a time; take pool='processes' for it")
    return settings.is_compiled and workforce.pool != "processes"


def count_by_threads(
    fill: Callable[[TakeRoom], Iterator[FilledRoom]],
    n_bytes: int | None,
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
) -> CountResult:
    """Count what `fill` puts into buffers; the calling thread reads if `n_bytes` (of all) is not known."""
    engine = CompiledEngine(settings.pattern, settings.boundaries)
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
    plan = plan_threads(budget, _base(workforce), workers, buffer_bytes)
    with Spill(plan) as spill:
        crew = Crew(engine, settings.errors, plan.workers, buffer_bytes, spill)
        counted = count_in_threads(fill, crew, reporter, in_turns=n_bytes is not None)
    return _result(counted, spill, settings, engine, reporter)


def count_by_processes(
    tasks_of: Callable[[int], Iterator[TextTask]],
    task_bytes: int,
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
) -> CountResult:
    """Count tasks, made for about as many bytes as `tasks_of` is told."""
    job: WordCountJob | CompiledCountJob
    if settings.is_compiled:
        warmup()  # only this process compiles; the workers load
        job = CompiledCountJob(settings.pattern, settings.boundaries, settings.errors)
    else:
        job = WordCountJob(settings.pattern, settings.boundaries, settings.errors)
    workers = resolve_workers(workforce.workers)
    small, method = workforce.small_input, workforce.start_method
    budget = parse_memory(workforce.max_memory)
    if budget is None:
        counted = count_in_processes(tasks_of(task_bytes), job, workers, small, method, reporter)
        return _result(counted, None, settings, job.engine, reporter)
    load_kernels()
    engine = replace(job).engine  # part of the base; not the job's own, which travels without one
    release_free_memory()
    plan = plan_processes(budget, _base(workforce), workers, settings.is_compiled, task_bytes)
    task_bytes = min(task_bytes, plan.largest_text // 3)  # several documents are up to three times that
    with Spill(plan) as spill:
        tasks = tasks_of(task_bytes)
        counted = count_in_processes(tasks, job, plan.workers, small, method, reporter, spill)
    return _result(counted, spill, settings, engine, reporter)


def _base(workforce: Workforce) -> int:
    """Return the bytes that the process holds without what is to be counted."""
    return rss_bytes() if workforce.base_memory is None else workforce.base_memory


def _result(
    counted: Counted,
    spill: Spill | None,
    settings: CountSettings,
    engine: RegexEngine | CompiledEngine,
    reporter: Reporter,
) -> CountResult:
    counts = WordCounts(
        *counted.words,
        settings.pattern,
        settings.special_tokens,
        engine.name,
        engine.unicode_version,
        document_separator=settings.document_separator,
    )
    n_bytes, n_disk_bytes, seconds = counted.n_bytes, counted.n_disk_bytes, counted.stage_seconds
    if spill is None:
        reporter.finish(n_disk_bytes, words=len(counts), pretokens=counts.n_pretokens)
        return CountResult(counts, n_bytes, counted.workers_peak_rss_bytes, seconds)
    reporter.finish(
        n_disk_bytes,
        words=len(counts),
        pretokens=counts.n_pretokens,
        spills=spill.n_spills,
        memory_plan=str(spill.plan),
    )
    return CountResult(
        counts, n_bytes, counted.workers_peak_rss_bytes, seconds | spill.seconds, spill.n_spills, spill.plan
    )
