"""The door of counting: files or documents in, `WordCounts` out.

    known pattern   compiled engine, in threads (in_threads.py), or in processes if asked for
    any regex       `regex` engine, in processes (in_processes.py)

The words depend on the text and the settings alone: not on workers, pool, buffers or tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from bpenb._memory import parse_memory, release_free_memory, rss_bytes
from bpenb._workers import resolve_workers
from bpenb.corpus import (
    CutFinder,
    Documents,
    DocumentSampler,
    FilledRoom,
    Mixture,
    Source,
    SpecialScanner,
    TakeRoom,
    WeightedFiles,
    batch_documents,
    corpus_identity,
    encode_batches,
    fill_from_documents,
    fill_from_files,
    plan_ranges,
    resolve_sources,
    share_of,
    total_bytes,
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
from bpenb.counting.memory_plan import plan_processes, plan_threads
from bpenb.counting.mixing import count_by_weight
from bpenb.counting.settings import CountResult, CountSettings, Workforce
from bpenb.counting.shards import Shard
from bpenb.counting.spill import Spill
from bpenb.counting.stages import Counted
from bpenb.counting.tally_worker import CompiledCountJob
from bpenb.counting.word_counts import WordCounts
from bpenb.errors import BpenbError, CorpusError
from bpenb.pretokenize import CompiledEngine, RegexEngine, TextTask, WordCountJob
from bpenb.progress import Reporter

__all__ = ["count_documents", "count_files", "made_by", "shard_to_count"]

# Tasks of the regex engine: on 101 MB of prose with 2 workers, 18 MB/s in tasks of 1 MB, 15 in
# 0.5 MB, 12 in 4 MB, which also take twice the memory (a task's pretokens are one list).
_TASK_BYTES = 1 << 20
_LEAST_TASK_BYTES = 1 << 18
_TASKS_PER_WORKER = 8  # at least, where the size is known: the last one to finish keeps the others waiting


def count_files(
    files: WeightedFiles,
    settings: CountSettings,
    workforce: Workforce | None = None,
    reporter: Reporter | None = None,
    mixture: Mixture | None = None,
    share: tuple[int, int] | None = None,
) -> CountResult:
    """Count the words of files; the result depends on nothing but their text, `settings` and `mixture`.

    Args:
        files: a path, or several, or a mapping of paths to weights (how often their words count);
            each begins a new document.
        settings: pattern, special tokens, engine, treatment of bytes that are not UTF-8.
        workforce: who counts.
        reporter: told of bytes done.
        mixture: which part of the files is taken; None: all.
        share: (i, n) to count the i-th of n shares; the counts of all n add up to those of the whole,
            and each holds a marker of what it is.

    Raises:
        BpenbError: a weight below 1.
        CorpusError: a file that cannot be read, or is not UTF-8.
        CountsError: the words do not fit into `max_memory`.
        TrainingError: `max_memory` leaves no room to count.
        WorkerError: a worker failed or died.
    """
    workforce, reporter = workforce or Workforce(), reporter or Reporter(None)
    mixture = mixture or Mixture()
    scanner = SpecialScanner(settings.special_tokens)
    finder = CutFinder(settings.pattern, scanner)
    sources = mixture.capped(resolve_sources(files), finder)
    shards: tuple[Shard, ...] = ()
    if share is not None:
        shards = (_shard(sources, settings, mixture, share),)
        sources = share_of(sources, share, mixture.shard_finder(finder, scanner))
    sampler = mixture.sampler(scanner)
    result = count_by_weight(
        sources,
        lambda some: _count_sources(some, finder, sampler, mixture, settings, workforce, reporter),
        workforce.max_memory,
    )
    if mixture.settings != Mixture().settings or result.mixture is not None:
        result = result._replace(mixture=mixture.settings | dict(result.mixture or {}))
    return result._replace(counts=replace(result.counts, shards=shards)) if shards else result


def shard_to_count(
    files: WeightedFiles, settings: CountSettings, mixture: Mixture, share: tuple[int, int]
) -> Shard:
    """Return the marker that `count_files` with the same arguments would give, without counting."""
    finder = CutFinder(settings.pattern, SpecialScanner(settings.special_tokens))
    return _shard(mixture.capped(resolve_sources(files), finder), settings, mixture, share)


def made_by(settings: CountSettings) -> dict[str, object]:
    """Return what `WordCounts.made_by` of counts with these settings will be."""
    kind = CompiledEngine if settings.is_compiled else RegexEngine
    engine = kind(settings.pattern, settings.special_tokens)
    nothing = np.empty(0, dtype=np.int64)
    return WordCounts(
        nothing.astype(np.uint8),
        np.zeros(1, dtype=np.int64),
        nothing,
        settings.pattern,
        settings.special_tokens,
        engine.name,
        engine.unicode_version,
    ).made_by


def count_documents(
    documents: Documents,
    settings: CountSettings,
    workforce: Workforce | None = None,
    reporter: Reporter | None = None,
    mixture: Mixture | None = None,
) -> CountResult:
    """Count the words of documents; arguments as for `count_files`.

    Args:
        documents: an iterable of whole documents, `str` or `bytes`, or of batches of them (lists,
            tuples, arrays); an exception of it passes through.
        mixture: a sample of the documents.

    Raises:
        CorpusError: a document that is not UTF-8, or that UTF-8 cannot spell; a cap, which is for files.
        TypeError: a document of another type.
        WorkerError: a worker failed or died.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> settings = CountSettings(resolve_pattern("gpt2"), ("<s>",))
        >>> count_documents(["low low", ["low<s>", "low"]], settings).counts.to_dict()
        {b' low': 1, b'low': 3}
    """
    workforce, reporter = workforce or Workforce(), reporter or Reporter(None)
    mixture = mixture or Mixture()
    if mixture.cap is not None:
        raise CorpusError("max_bytes_per_source is for files; cap an iterable where it is made")
    scanner = SpecialScanner(settings.special_tokens)
    finder = CutFinder(settings.pattern, scanner)
    batches = encode_batches(documents)
    if sampler := mixture.sampler(scanner):
        batches = sampler.blank_documents(batches)
    reporter.start("count", None, "bytes")
    if _in_threads(settings, workforce):
        result = _threads(
            lambda take: fill_from_documents(batches, finder, take), None, settings, workforce, reporter
        )
    else:
        result = _processes(
            lambda size: document_tasks(batch_documents(batches, size), finder, size),
            workforce.task_bytes or _LEAST_TASK_BYTES,
            settings,
            workforce,
            reporter,
        )
    return result._replace(mixture=mixture.settings) if sampler else result


# --- behind the doors -----------------------------------------------------------------------------


def _in_threads(settings: CountSettings, workforce: Workforce) -> bool:
    if workforce.pool == "threads" and not settings.is_compiled:
        raise BpenbError("the regex engine runs one thread at a time; take pool='processes' for it")
    return settings.is_compiled and workforce.pool != "processes"


def _shard(
    sources: Sequence[Source], settings: CountSettings, mixture: Mixture, share: tuple[int, int]
) -> Shard:
    """Return the marker of a share: which of how many, of which corpus."""
    identity = corpus_identity(sources, mixture.settings, settings.errors)
    return Shard(identity, total_bytes(sources) or 0, n_shards=share[1], number=share[0])


def _count_sources(
    sources: Sequence[Source],
    finder: CutFinder,
    sampler: DocumentSampler | None,
    mixture: Mixture,
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
) -> CountResult:
    """Count the words of sources, each once."""
    total = total_bytes(sources)
    expected = total if total is None or sampler is None else int(total * (mixture.sample or 1))
    reporter.start("count", expected, "bytes")
    if _in_threads(settings, workforce):
        return _threads(
            lambda take: fill_from_files(sources, finder, take, sampler),
            total,
            settings,
            workforce,
            reporter,
        )
    task_bytes = workforce.task_bytes
    if task_bytes is None:
        wanted = (total or _TASK_BYTES) // (_TASKS_PER_WORKER * resolve_workers(workforce.workers))
        task_bytes = max(_LEAST_TASK_BYTES, min(wanted, _TASK_BYTES))
    return _processes(
        lambda size: range_tasks(plan_ranges(sources, finder, size, sampler), size),
        task_bytes,
        settings,
        workforce,
        reporter,
    )


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
