"""The public verbs of counting. Each is a door: it checks everything, then counts.

files or documents → count → WordCounts → files → merge → WordCounts
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from bpenb._memory import peak_rss_bytes
from bpenb.corpus import Documents, InputOptions, Mixture, WeightedFiles, normalize_special_tokens
from bpenb.counting import (
    CountResult,
    CountSettings,
    EngineOption,
    WordCounts,
    Workforce,
    check_merge_output,
    check_min_word_count,
    complete_counts,
    count_documents,
    count_files,
    describe_missing,
    drop_rare_words,
    made_by,
    merge_counts,
    plan_merge,
    read_share,
    shard_to_count,
)
from bpenb.errors import BpenbError
from bpenb.patterns import SplitPattern, resolve_pattern
from bpenb.pretokenize import Utf8Errors
from bpenb.progress import ProgressOption, make_reporter

if TYPE_CHECKING:
    from bpenb.cluster import Cluster

__all__ = [
    "END_OF_TEXT",
    "Path",
    "Pattern",
    "Workers",
    "count_to_file",
    "count_words",
    "count_words_from_iterator",
    "merge_counts",
    "merge_to_file",
    "workforce_of",
]

Path: TypeAlias = str | os.PathLike[str]
Pattern: TypeAlias = str | SplitPattern
Workers: TypeAlias = int | Workforce | None

END_OF_TEXT = ("<|endoftext|>",)


def count_words(
    files: WeightedFiles,
    *,
    pattern: Pattern = "gpt2",
    special_tokens: Iterable[str] = END_OF_TEXT,
    workers: Workers = None,
    progress: ProgressOption = None,
    errors: Utf8Errors = "strict",
    engine: EngineOption = "auto",
    max_memory: int | str | None = None,
    max_bytes_per_source: int | str | None = None,
    sample: float | None = None,
    seed: int = 0,
    shard: str | None = None,
    inputs: InputOptions | None = None,
    cluster: Cluster | None = None,
) -> WordCounts:
    """Count the words of files.

    Args:
        files: a path, a list of paths, or a mapping of paths to weights (how often each file's words
            count). UTF-8 text; rows (`.jsonl`, `.ndjson`, `.parquet`), each a document; text and JSON
            also as `.gz` or `.zst`. Globs (`**` too), sorted; folders, for the files with such endings
            in them and below, sorted; `-` for standard input. Each file begins a new document.
        pattern: a name of `bpenb.patterns.PATTERNS`, or a regex of the `regex` package.
        special_tokens: they separate documents and are never counted.
        workers: how many work at once; None: as many as there are processors. A `Workforce` says
            more (threads or processes, unit of work). The result is the same for any.
        progress: None, True for a bar on stderr, or a callable that takes a `Progress`.
        errors: `strict`, or `replace` to read U+FFFD where text is not UTF-8.
        engine: `auto` takes the compiled engine for the known patterns, `regex` for others.
        max_memory: bytes, or such as `512MB` or `2GB`, at least 256 MB: the most that this process
            and its workers hold together; words that do not fit go to temporary files (in
            $BPENB_TMPDIR, if that is set), and are merged at the end. None for no limit.
        max_bytes_per_source: bytes, or such as `500MB`: what is taken of each file at most, up to the
            last place before it where a cut changes no word. For plain text alone.
        sample: the probability with which each document is kept, decided by a hash of `seed` and the
            document's place (number of the file, byte or row in it), so it depends on nothing else. A
            document is what special tokens separate, or a whole file, or a row. The cap comes first.
        seed: of the sample.
        shard: `i/n` counts the i-th of n shares of the files. The counts of all n, each marked with
            what it is, merge to those of the whole (`merge_counts`). Text is divided at safe cuts, JSON
            between lines, Parquet between groups of rows; compressed files are not.
        inputs: the field of rows, a separator of documents in text, and what becomes of bad rows.
        cluster: whose workers count, in place of this process (docs/cluster.md): it says itself who and
            with how much memory, and has a `work_folder`.

    Returns:
        Distinct words ascending by their bytes, with int64 counts.

    Raises:
        CorpusError: a file that is missing, or not UTF-8 (with file and byte offset); a bad row.
        CountsError: the distinct words alone do not fit into `max_memory`, or a count passes 2**63 - 1.
        BpenbError: an option out of its range.
        TypeError: an argument of a wrong type.
        WorkerError: a worker process failed or died.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low low<|endoftext|>low")
        >>> count_words("corpus.txt").to_dict()
        {b' low': 1, b'low': 2}
    """
    settings = _settings(pattern, special_tokens, errors, engine)
    mixture = Mixture(max_bytes_per_source, sample, seed)
    share = None if shard is None else read_share(shard)
    workforce, reporter = workforce_of(workers, max_memory), make_reporter(progress)
    if cluster is not None:
        _check_whole(shard)
        from bpenb.api_cluster import count_on_cluster

        done = count_on_cluster(cluster, files, settings, workforce, reporter, mixture, inputs)
        done.folder.remove()
        return done.result.counts
    return count_files(files, settings, workforce, reporter, mixture, share, inputs).counts


def count_words_from_iterator(
    documents: Documents,
    *,
    pattern: Pattern = "gpt2",
    special_tokens: Iterable[str] = END_OF_TEXT,
    workers: Workers = None,
    progress: ProgressOption = None,
    errors: Utf8Errors = "strict",
    engine: EngineOption = "auto",
    max_memory: int | str | None = None,
    sample: float | None = None,
    seed: int = 0,
) -> WordCounts:
    """Count the words of documents; options, result and errors as of `count_words`.

    Args:
        documents: an iterable of whole documents, `str` or `bytes`, or of batches of them: lists,
            tuples, arrays of NumPy or Arrow (a column of a dataset, read batch by batch). Never
            looked up on disk. An exception that it raises reaches the caller as it is.
        sample, seed: as of `count_words`; a document's place is its number.

    Raises:
        TypeError: a document of another type.

    Example:
        >>> count_words_from_iterator(["low low", [b"low", "low"]]).to_dict()
        {b' low': 1, b'low': 3}
    """
    settings = _settings(pattern, special_tokens, errors, engine)
    workforce, reporter = workforce_of(workers, max_memory), make_reporter(progress)
    return count_documents(documents, settings, workforce, reporter, Mixture(sample=sample, seed=seed)).counts


def count_to_file(
    files: WeightedFiles,
    output: Path,
    *,
    force: bool = False,
    pattern: Pattern = "gpt2",
    special_tokens: Iterable[str] = END_OF_TEXT,
    workers: Workers = None,
    progress: ProgressOption = None,
    errors: Utf8Errors = "strict",
    engine: EngineOption = "auto",
    max_memory: int | str | None = None,
    max_bytes_per_source: int | str | None = None,
    sample: float | None = None,
    seed: int = 0,
    shard: str | None = None,
    inputs: InputOptions | None = None,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Count the words of files into a file, which appears when it is complete; options as of `count_words`.

    A shard that the file holds already, complete and counted with the same options, is left as it is,
    so a job of many shards can simply be run again.

    Args:
        output: the file to write (.npz). One that holds word counts is replaced, unless these are
            shards, which another name would have been meant for.
        force: replace any file, and count a complete shard again; on a cluster, begin anew.
        cluster: as of `count_words`; its work folder is `OUTPUT.work` if it names none.

    Returns:
        A report: `output`, `status` (`counted`, or `complete` before), `shard`, `words`, `pretokens`,
        `word_bytes`, `text_bytes`, `seconds`, `mixture`, `memory_plan` (None where there is none),
        `inputs` (how they were read, and `n_bad_rows`; None if nothing was read), `cluster` (its shards,
        workers and their peak memory; None if there was none).

    Raises:
        OutputError: the file holds something else, or cannot be written; told before any work.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low low<|endoftext|>low")
        >>> report = count_to_file("corpus.txt", "counts.npz", shard="1/1")
        >>> report["status"], report["words"], report["pretokens"]
        ('counted', 2, 3)
        >>> count_to_file("corpus.txt", "counts.npz", shard="1/1")["status"]
        'complete'
    """
    settings = _settings(pattern, special_tokens, errors, engine)
    mixture = Mixture(max_bytes_per_source, sample, seed)
    share = None if shard is None else read_share(shard)
    workforce, reporter = workforce_of(workers, max_memory), make_reporter(progress)
    marker = shard_to_count(files, settings, mixture, share, inputs) if share else None
    counts = complete_counts(output, marker, made_by(settings, inputs), force=force)
    if counts is not None:
        return _count_report(output, "complete", CountResult(counts, counts.n_bytes, 0), {})
    if cluster is not None:
        _check_whole(shard)
        from bpenb.api_cluster import count_on_cluster

        done = count_on_cluster(
            cluster, files, settings, workforce, reporter, mixture, inputs, output, force=force
        )
        done.result.counts.save(output)
        done.folder.remove()
        report = _count_report(output, "counted", done.result, reporter.phase_seconds)
        return report | {"cluster": done.report}
    result = count_files(files, settings, workforce, reporter, mixture, share, inputs)
    result.counts.save(output)
    return _count_report(output, "counted", result, reporter.phase_seconds)


def merge_to_file(
    files: Sequence[Path],
    output: Path,
    *,
    weights: Sequence[int] | None = None,
    min_word_count: int = 1,
    allow_missing: bool = False,
    force: bool = False,
) -> dict[str, Any]:
    """Merge files of word counts into one; arguments and errors as of `merge_counts`.

    Args:
        files: that `WordCounts.save` or `count_to_file` wrote.
        output: the file to write (.npz). One that holds word counts is replaced, but for shards that
            would be lost.
        min_word_count: words of a lower sum are left out.
        force: replace any file.

    Returns:
        A report: `output`, `words`, `pretokens`, `word_bytes`, `dropped_words` and `missing`, which
        shards are.

    Raises:
        OutputError: the file holds something else, or cannot be written; told before any work.

    Example:
        >>> WordCounts.from_dict({"low": 1}).save("a.npz")
        >>> WordCounts.from_dict({"low": 2, "er": 1}).save("b.npz")
        >>> merge_to_file(["a.npz", "b.npz"], "all.npz", weights=[10, 1], min_word_count=2)["words"]
        1
    """
    least = check_min_word_count(min_word_count)
    plan = plan_merge(files, weights, allow_missing)
    check_merge_output(output, plan.shards, files, force=force)
    counts, dropped = drop_rare_words(plan.add_up(), least)
    counts.save(output)
    return {
        "output": os.fspath(output),
        "words": len(counts),
        "pretokens": counts.n_pretokens,
        "word_bytes": counts.n_bytes,
        "dropped_words": dropped._asdict(),
        "missing": describe_missing(counts.shards),
    }


# --- behind the doors -----------------------------------------------------------------------------


def workforce_of(workers: Workers, max_memory: int | str | None) -> Workforce:
    """Return who counts, with a memory budget if one is given beside it."""
    workforce = workers if isinstance(workers, Workforce) else Workforce(workers)
    return workforce if max_memory is None else replace(workforce, max_memory=max_memory)


def _check_whole(shard: str | None) -> None:
    if shard is not None:
        raise BpenbError("shard and cluster exclude each other: a cluster counts all shards, and merges them")


def _settings(
    pattern: Pattern, special_tokens: Iterable[str], errors: Utf8Errors, engine: EngineOption
) -> CountSettings:
    return CountSettings(resolve_pattern(pattern), normalize_special_tokens(special_tokens), errors, engine)


def _count_report(
    output: Path, status: str, result: CountResult, seconds: Mapping[str, float]
) -> dict[str, Any]:
    counts = result.counts
    return {
        "output": os.fspath(output),
        "status": status,
        "shard": counts.shards[0]._asdict() if counts.shards else None,
        "words": len(counts),
        "pretokens": counts.n_pretokens,
        "word_bytes": counts.n_bytes,
        "text_bytes": result.n_bytes if status == "counted" else None,
        "seconds": dict(seconds),
        "peak_memory_bytes": peak_rss_bytes() + result.workers_peak_rss_bytes,
        "inputs": None if result.inputs is None else dict(result.inputs),
        "mixture": None if result.mixture is None else dict(result.mixture),
        "memory_plan": None if result.memory_plan is None else asdict(result.memory_plan),
        "n_spills": result.n_spills,
        "cluster": None,
    }
