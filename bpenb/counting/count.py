"""The door of counting: files or documents in, `WordCounts` out.

    known pattern   compiled engine, in threads (in_threads.py), or in processes if asked for
    any regex       `regex` engine, in processes (in_processes.py)

The words depend on the text and the settings alone: not on workers, pool, buffers or tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np

from bpenb._workers import resolve_workers
from bpenb.corpus import (
    BadRows,
    CutFinder,
    Documents,
    DocumentSampler,
    InputOptions,
    Mixture,
    Part,
    Source,
    SpecialScanner,
    WeightedFiles,
    batch_documents,
    corpus_identity,
    encode_batches,
    fill_from_documents,
    fill_from_files,
    plan_ranges,
    plan_shares,
    resolve_sources,
    settle_parts,
    total_bytes,
)
from bpenb.counting.in_processes import document_tasks, range_tasks
from bpenb.counting.mixing import count_by_weight
from bpenb.counting.settings import CountResult, CountSettings, Workforce
from bpenb.counting.shards import Shard
from bpenb.counting.two_ways import count_by_processes, count_by_threads, takes_threads
from bpenb.counting.word_counts import WordCounts
from bpenb.errors import CorpusError
from bpenb.pretokenize import CompiledEngine, RegexEngine
from bpenb.progress import Reporter

__all__ = ["count_documents", "count_files", "count_sources", "made_by", "nothing_counted",
           "settle_shard", "shard_of", "shard_to_count", "sources_to_count"]  # fmt: skip

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
    options: InputOptions | None = None,
) -> CountResult:
    """Count the words of files; the result depends on nothing but their text, and how it is to be read.

    Args:
        files: a path, or several, or a mapping of paths to weights (how often their words count), globs and
            folders among them; each file begins a new document.
        settings: pattern, special tokens, engine, treatment of bytes that are not UTF-8.
        workforce: who counts.
        reporter: told of bytes done.
        mixture: which part of the files is taken; None: all.
        share: (i, n) to count the i-th of n shares; the counts of all n add up to those of the whole,
            and each holds a marker of what it is.
        options: how rows are read, and what separates documents of text (beside `settings`).

    Raises:
        BpenbError: a weight below 1.
        CorpusError: a file that cannot be read, or is not UTF-8; a bad row.
        CountsError: the words do not fit into `max_memory`.
        TrainingError: `max_memory` leaves no room to count.
        WorkerError: a worker failed or died.
    """
    workforce, reporter = workforce or Workforce(), reporter or Reporter(None)
    mixture, options = mixture or Mixture(), options or InputOptions()
    settings, sources = sources_to_count(files, settings, mixture, options)
    if share is None:
        return count_sources(sources, settings, workforce, reporter, mixture, options)
    shard = shard_of(sources, settings, mixture, share, options)
    parts = plan_shares(sources, share[1])[share[0] - 1]
    sources = settle_shard(parts, settings, mixture)
    result = count_sources(sources, settings, workforce, reporter, mixture, options)
    return result._replace(counts=replace(result.counts, shards=(shard,)))


def sources_to_count(
    files: WeightedFiles, settings: CountSettings, mixture: Mixture, options: InputOptions
) -> tuple[CountSettings, Sequence[Source]]:
    """Return the settings with the separator of documents, and the inputs, capped; errors as above."""
    settings = _reading(settings, options)
    finder = CutFinder(settings.pattern, SpecialScanner(settings.boundaries))
    return settings, mixture.capped(resolve_sources(files), finder)


def settle_shard(parts: Sequence[Part], settings: CountSettings, mixture: Mixture) -> list[Source]:
    """Return what the planned parts of a shard hold; where documents are sampled, only whole ones."""
    scanner = SpecialScanner(settings.boundaries)
    finder = mixture.shard_finder(CutFinder(settings.pattern, scanner), scanner)
    return settle_parts(parts, finder, keep_rows=mixture.sampler(scanner) is not None)


def count_sources(
    sources: Sequence[Source],
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
    mixture: Mixture,
    options: InputOptions,
) -> CountResult:
    """Count the words of sources, capped and divided already; arguments and errors as of `count_files`."""
    settings = _reading(settings, options)
    scanner = SpecialScanner(settings.boundaries)
    reading = _Reading(options, mixture, mixture.sampler(scanner), BadRows(options.skip_bad_rows))
    if options.skip_bad_rows:
        reporter.more = lambda: {"bad_rows": reading.bad_rows.n_skipped}
    result = count_by_weight(
        sources,
        lambda some: _count_sources(some, reading, settings, workforce, reporter),
        workforce.max_memory,
        rows_apart=settings.document_separator is not None,
    )
    reporter.more = None
    result = result._replace(inputs=asdict(options) | reading.bad_rows.report)
    if mixture.settings != Mixture().settings or result.mixture is not None:
        result = result._replace(mixture=mixture.settings | dict(result.mixture or {}))
    return result


def shard_of(
    sources: Sequence[Source],
    settings: CountSettings,
    mixture: Mixture,
    share: tuple[int, int],
    options: InputOptions,
) -> Shard:
    """Return the marker of a share: which of how many, of which corpus."""
    # Files of rows were once a whole of their own: such shards must not be merged with these.
    has_rows = any(source.kind.is_rows for source in sources)
    of_rows = [[options.field, options.skip_bad_rows, "divided"]] if has_rows else []
    identity = corpus_identity(sources, mixture.settings, settings.errors, *of_rows)
    return Shard(identity, total_bytes(sources) or 0, n_shards=share[1], number=share[0])


def shard_to_count(
    files: WeightedFiles,
    settings: CountSettings,
    mixture: Mixture,
    share: tuple[int, int],
    options: InputOptions | None = None,
) -> Shard:
    """Return the marker that `count_files` with the same arguments would give, without counting."""
    options = options or InputOptions()
    settings, sources = sources_to_count(files, settings, mixture, options)
    return shard_of(sources, settings, mixture, share, options)


def made_by(settings: CountSettings, options: InputOptions | None = None) -> dict[str, object]:
    """Return what `WordCounts.made_by` of counts with these settings will be."""
    return nothing_counted(_reading(settings, options or InputOptions())).made_by


def nothing_counted(settings: CountSettings) -> WordCounts:
    """Return the counts of no text with these settings."""
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
        document_separator=settings.document_separator,
    )


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
    if takes_threads(settings, workforce):
        result = count_by_threads(
            lambda take: fill_from_documents(batches, finder, take), None, settings, workforce, reporter
        )
    else:
        result = count_by_processes(
            lambda size: document_tasks(batch_documents(batches, size), finder, size),
            workforce.task_bytes or _LEAST_TASK_BYTES,
            settings,
            workforce,
            reporter,
        )
    return result._replace(mixture=mixture.settings) if sampler else result


# --- behind the doors -----------------------------------------------------------------------------


class _Reading(NamedTuple):
    """What is taken of the inputs, and how."""

    options: InputOptions
    mixture: Mixture
    sampler: DocumentSampler | None
    bad_rows: BadRows


def _reading(settings: CountSettings, options: InputOptions) -> CountSettings:
    """Return the settings with the separator of documents."""
    if options.document_separator is None:
        return settings
    return replace(settings, document_separator=options.document_separator)


def _count_sources(
    sources: Sequence[Source],
    reading: _Reading,
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
) -> CountResult:
    """Count the words of sources, each once; with a separator these are text, or rows, that know of none."""
    separator = settings.document_separator
    if separator is not None and sources and sources[0].kind.is_rows:
        result = _count_sources(
            sources, reading, replace(settings, document_separator=None), workforce, reporter
        )
        return result._replace(counts=replace(result.counts, document_separator=separator))
    finder = CutFinder(settings.pattern, SpecialScanner(settings.boundaries))
    options, _, sampler, bad_rows = reading
    total = total_bytes(sources)
    reporter.start("count", total, "bytes")
    if takes_threads(settings, workforce):
        return count_by_threads(
            lambda take: fill_from_files(sources, finder, take, sampler, options=options, bad_rows=bad_rows),
            total,
            settings,
            workforce,
            reporter,
        )
    task_bytes = workforce.task_bytes
    if task_bytes is None:
        wanted = (total or _TASK_BYTES) // (_TASKS_PER_WORKER * resolve_workers(workforce.workers))
        task_bytes = max(_LEAST_TASK_BYTES, min(wanted, _TASK_BYTES))
    return count_by_processes(
        lambda size: range_tasks(
            plan_ranges(sources, finder, size, sampler, options=options, bad_rows=bad_rows), size
        ),
        task_bytes,
        settings,
        workforce,
        reporter,
    )
