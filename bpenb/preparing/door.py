"""The doors: corpora to training files, to an array in memory, or to a stream."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb.corpus import BadRows, Files, Source, resolve_sources
from bpenb.dataset import (
    Manifest,
    NpyWriter,
    TokenLayout,
    input_digest,
    model_digest,
    name_outputs,
    plan_outputs,
)
from bpenb.encoding import Tokenizer
from bpenb.errors import OutputError
from bpenb.preparing.documents import DocumentFinder, TokenBlock
from bpenb.preparing.earlier import find_finished, forget_run, journal_path, remove_strays
from bpenb.preparing.encoding import encode_sources
from bpenb.preparing.journal import Journal
from bpenb.preparing.run import DatasetRun, Job
from bpenb.preparing.settings import EncodeSettings
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["EncodedFiles", "OutputSettings", "encode_files", "encode_to_arrays", "encode_to_files",
           "encode_to_stream"]  # fmt: skip


class OutputSettings(NamedTuple):
    """How the ids of a dataset lie in its files.

    Attributes:
        format: a name of `bpenb.dataset.TOKEN_FORMATS`.
        shard_tokens: tokens in a file; None for one file.
        seq_len: tokens in a row; None for no rows.
        document_index: write an index of documents, where the format has none of its own.
    """

    format: str = "npy"
    shard_tokens: int | None = None
    seq_len: int | None = None
    document_index: bool = True


class EncodedFiles(NamedTuple):
    """The ids of files, in memory.

    Attributes:
        ids: uint16[n], or uint32[n] for a vocab of more than 65,536 ids.
        document_offsets: int64[n_documents + 1], where each document begins.
    """

    ids: npt.NDArray[Any]
    document_offsets: Int64Array


# --- to files -------------------------------------------------------------------------------------


def encode_to_files(
    tokenizer: Tokenizer,
    inputs: Files,
    out: str | os.PathLike[str],
    settings: EncodeSettings | None = None,
    output: OutputSettings | None = None,
    *,
    workers: int | None = None,
    resume: bool = False,
    force: bool = False,
    progress: ProgressOption | Reporter = None,
) -> Manifest:
    """Encode files into training files, in bounded memory.

    Nothing has its final name before all is well. A run that was interrupted (killed, disk full) goes on
    with `resume`, to the same bytes; it is kept for that if it had lasted for some seconds.

    Args:
        tokenizer: whose ids.
        inputs: files, globs, folders, `-`; of every kind that `bpenb.corpus` reads.
        out: a file; with shards or splits a folder.
        settings: what decides the ids.
        output: how they lie in files.
        workers: threads; None: as many as there are processors. The bytes do not depend on it.
        resume: go on where a run with the same arguments was interrupted; do nothing if it was not.
        force: replace what is there, and forget an interrupted run.
        progress: as elsewhere.

    Returns:
        The manifest, which is written beside the files.

    Raises:
        CorpusError: an input that cannot be read, is not UTF-8, or changed meanwhile (since the
            interrupted run began).
        EncodingError: a byte that the vocab lacks.
        OutputError: something that is there already, or cannot be written; settings that do not fit.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low lower")
        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"lo"}, [(b"l", b"o")])
        >>> encode_to_files(tokenizer, "corpus.txt", "ids.npy").n_tokens, len(np.load("ids.npy"))
        (7, 7)
    """
    settings, output = settings or EncodeSettings(), output or OutputSettings()
    reporter = make_reporter(progress)
    sources = resolve_sources(inputs)
    eot = settings.end_of_text(tokenizer)
    if output.seq_len is not None and eot is None:
        raise OutputError(
            "the last row is filled up with end-of-text tokens, and the tokenizer has none; name it by "
            "eot (--eot)"
        )
    layout = TokenLayout(
        output.format,
        tokenizer.n_vocab,
        output.shard_tokens,
        output.seq_len,
        eot if output.seq_len is not None else None,
        output.document_index,
    )
    sharded = output.shard_tokens is not None
    names = name_outputs(out, output.format, sharded, settings.splits)
    described = [_describe(source) for source in sources]
    identity = {
        "tokenizer": model_digest(tokenizer.model),
        "settings": settings.to_json(),
        "output": output._asdict(),
        "inputs": described,
    }
    journal = Journal(journal_path(names), identity)
    state = journal.load() if resume else None
    if state is None and journal.path.exists():
        if not force and not resume:
            raise OutputError(
                f"{names.path}: an earlier run was interrupted; go on from there (resume=True, --resume), or "
                "start anew (force=True, --force)"
            )
        forget_run(journal, names)
    if state is not None:
        plan = replace(names, replaced=tuple(map(Path, state["replaced"])))
    elif resume and (done := find_finished(names, identity, layout)) is not None:
        return done
    else:
        if resume or force:  # a kill may have come before there was a journal
            remove_strays(names)
        plan = plan_outputs(out, output.format, sharded, settings.splits, force)
    can_resume = all(source.n_bytes is not None for source in sources)
    job = Job(tokenizer, sources, described, settings, layout, plan, workers)
    run = DatasetRun(job, journal if can_resume else None, reporter)
    try:
        run.open(state)
        return run.run()
    except BaseException:
        run.abandon()
        raise


def _describe(source: Source) -> dict[str, Any]:
    """Return what a manifest tells of an input."""
    if source.n_bytes is None:
        return {"path": source.name, "bytes": None, "digest": None}
    return {"path": str(source.path), "bytes": source.n_bytes, "digest": input_digest(source.path)}


# --- to memory, or a stream -----------------------------------------------------------------------


def _blocks(
    tokenizer: Tokenizer,
    sources: Sequence[Source],
    settings: EncodeSettings,
    workers: int | None,
    reporter: Reporter,
) -> Generator[TokenBlock]:
    """Yield the ids of inputs in order, with a bar."""
    if settings.shuffle or settings.val_fraction:
        raise OutputError("shuffle and val_fraction are for datasets in files; name an output (out, -o)")
    finder = DocumentFinder(
        settings.end_of_text(tokenizer), append=settings.append_eot, prepend=settings.prepend_eot
    )
    bad_rows = BadRows(settings.inputs.skip_bad_rows)
    sizes = [source.n_bytes for source in sources]
    reporter.start("encode", None if None in sizes else sum(n or 0 for n in sizes), "bytes")
    done = n_tokens = 0
    with closing(encode_sources(tokenizer, sources, settings, workers, bad_rows)) as texts:
        for text in texts:
            block = finder.find(text)
            yield block
            done += text.filled.n_disk_bytes
            n_tokens += len(block.ids)
            reporter.update(done, tokens=n_tokens)
    details = {"bad_rows": bad_rows.n_skipped} if bad_rows.n_skipped else {}
    reporter.finish(done, tokens=n_tokens, **details)


def encode_to_arrays(
    tokenizer: Tokenizer,
    inputs: Files,
    settings: EncodeSettings | None = None,
    *,
    workers: int | None = None,
    progress: ProgressOption | Reporter = None,
) -> EncodedFiles:
    """Encode files into one array in memory; arguments and errors as of `encode_to_files`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low lower")
        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"lo"}, [(b"l", b"o")])
        >>> encode_to_arrays(tokenizer, "corpus.txt").ids.tolist()
        [256, 119, 32, 256, 119, 101, 114]
    """
    parts: list[npt.NDArray[Any]] = [np.empty(0, dtype=tokenizer.encoder.tables.dtype)]
    ends: list[Int64Array] = [np.zeros(1, dtype=np.int64)]
    n_ids = 0
    all_blocks = _blocks(
        tokenizer, resolve_sources(inputs), settings or EncodeSettings(), workers, make_reporter(progress)
    )
    with closing(all_blocks) as blocks:
        for ids, document_ends in blocks:
            parts.append(ids.copy())
            ends.append(document_ends + n_ids)
            n_ids += len(ids)
    return EncodedFiles(np.concatenate(parts), np.concatenate(ends))


def encode_to_stream(
    tokenizer: Tokenizer,
    inputs: Files,
    stream: str | IO[bytes] = "-",
    settings: EncodeSettings | None = None,
    *,
    workers: int | None = None,
    progress: ProgressOption | Reporter = None,
) -> int:
    """Encode files into one .npy on standard output (`-`) or an open stream; returns the number of ids.

    Raises:
        OutputError: a terminal, or a stream that cannot be written.
    """
    all_blocks = _blocks(
        tokenizer, resolve_sources(inputs), settings or EncodeSettings(), workers, make_reporter(progress)
    )
    with NpyWriter(stream, tokenizer.n_vocab) as out, closing(all_blocks) as blocks:
        for ids, _ in blocks:
            out.write(ids)
        return out.n_ids


def encode_files(
    tokenizer: Tokenizer,
    inputs: Files,
    out: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    resume: bool = False,
    force: bool = False,
    progress: ProgressOption | Reporter = None,
    **options: Any,
) -> Manifest | EncodedFiles:
    """Encode files into `out`, or into one array: `Tokenizer.encode_files`.

    Args:
        tokenizer, inputs, out, workers, resume, force, progress: as of `encode_to_files`.
        **options: those of `EncodeSettings` and `OutputSettings` by name.

    Raises:
        TypeError: an unknown option, or one that only files have.
    """
    of_output = {name: options.pop(name) for name in OutputSettings._fields if name in options}
    unknown = sorted(options.keys() - EncodeSettings.__dataclass_fields__.keys())
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}")
    settings = EncodeSettings(**options)
    if out is not None:
        return encode_to_files(
            tokenizer,
            inputs,
            out,
            settings,
            OutputSettings(**of_output),
            workers=workers,
            resume=resume,
            force=force,
            progress=progress,
        )
    if of_output or resume or force:
        raise TypeError(
            "without out nothing is written, so there is no format, no shards, and nothing to resume"
        )
    return encode_to_arrays(tokenizer, inputs, settings, workers=workers, progress=progress)
