"""The doors: corpora to training files; `to_memory.py` has those to an array and to a stream."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bpenb._remote import is_remote
from bpenb.corpus import Files, InputOptions, RemoteFile, Source, resolve_sources
from bpenb.dataset import (
    Manifest,
    OutputPlan,
    TokenLayout,
    input_digest,
    model_digest,
    name_outputs,
    plan_outputs,
)
from bpenb.encoding import Tokenizer
from bpenb.errors import OutputError
from bpenb.preparing.earlier import find_finished, forget_run, is_same, journal_path, remove_strays
from bpenb.preparing.journal import Journal
from bpenb.preparing.run import DatasetRun, Job
from bpenb.preparing.settings import EncodeSettings
from bpenb.preparing.to_memory import EncodedFiles, encode_to_arrays
from bpenb.preparing.uploading import encode_and_upload
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["OutputSettings", "encode_files", "encode_to_files"]


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
        inputs: files, URLs, globs, folders, `-`; of every kind that `bpenb.corpus` reads.
        out: a file; with shards or splits a folder; or the URL of either.
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
        >>> import numpy as np
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low lower")
        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"lo"}, [(b"l", b"o")])
        >>> encode_to_files(tokenizer, "corpus.txt", "ids.npy").n_tokens, len(np.load("ids.npy"))
        (7, 7)
    """
    settings, output = settings or EncodeSettings(), output or OutputSettings()
    reporter, sources = make_reporter(progress), resolve_sources(inputs)
    layout = _layout(tokenizer, settings, output)
    name_files = partial(
        name_outputs, format=output.format, sharded=output.shard_tokens is not None, splits=settings.splits
    )
    described = [_describe(source) for source in sources]
    identity = {
        "tokenizer": model_digest(tokenizer.model),
        "settings": settings.to_json(),
        "output": output._asdict(),
        "inputs": described,
    }
    if isinstance(out, str) and is_remote(out):

        def encode(path: Path, resume: bool) -> Manifest:
            return encode_to_files(
                tokenizer, inputs, path, settings, output, workers=workers, resume=resume, progress=reporter
            )

        same = partial(is_same, identity=identity, layout=layout)
        return encode_and_upload(
            encode, out, name_files, same, reporter, format=output.format, resume=resume, force=force
        )
    names = name_files(out)
    journal = Journal(journal_path(names), identity)
    state = _earlier_state(journal, names, resume=resume, force=force)
    if state is None and resume and (done := find_finished(names, identity, layout)) is not None:
        return done
    plan = _plan(names, out, layout, state, resume=resume, force=force)
    can_resume = all(one["digest"] is not None for one in described)  # else who knows what it reads then
    job = Job(tokenizer, sources, described, settings, layout, plan, workers)
    run = DatasetRun(job, journal if can_resume else None, reporter)
    try:
        run.open(state)
        return run.run()
    except BaseException as error:
        if run.abandon():
            error.add_note(
                f"{names.path}: what was done is kept; the same with --resume (resume=True) goes on from "
                "there, with --force (force=True) it starts anew"
            )
        raise


def _layout(tokenizer: Tokenizer, settings: EncodeSettings, output: OutputSettings) -> TokenLayout:
    """Return how the ids lie in the files, checked."""
    eot = settings.end_of_text(tokenizer)
    if output.seq_len is not None and eot is None:
        raise OutputError(
            "the last row is filled up with end-of-text tokens, and the tokenizer has none; name it by "
            "eot (--eot)"
        )
    return TokenLayout(
        output.format,
        tokenizer.n_vocab,
        output.shard_tokens,
        output.seq_len,
        eot if output.seq_len is not None else None,
        output.document_index,
    )


def _earlier_state(
    journal: Journal, names: OutputPlan, *, resume: bool, force: bool
) -> dict[str, Any] | None:
    """Return where an interrupted run stands that is to go on; forget another, if that is asked for."""
    state = journal.load() if resume else None
    if state is None and journal.path.exists():
        if not force and not resume:
            raise OutputError(
                f"{names.path}: an earlier run was interrupted; go on from there (resume=True, --resume), or "
                "start anew (force=True, --force)"
            )
        forget_run(journal, names)
    return state


def _plan(
    names: OutputPlan,
    out: str | os.PathLike[str],
    layout: TokenLayout,
    state: dict[str, Any] | None,
    *,
    resume: bool,
    force: bool,
) -> OutputPlan:
    """Return where the files go, after a look at what is there."""
    if state is not None:  # it was looked at then; part of what is there may be the run's own by now
        return replace(names, replaced=tuple(map(Path, state["replaced"])))
    if resume or force:  # a kill may have come before there was a journal
        remove_strays(names)
    return plan_outputs(out, layout.format, layout.shard_tokens is not None, tuple(names.splits), force)


def _describe(source: Source) -> dict[str, Any]:
    """Return what a manifest tells of an input."""
    if source.n_bytes is None:
        return {"path": source.name, "bytes": None, "digest": None}
    digest = source.path.digest if isinstance(source.path, RemoteFile) else input_digest(source.path)
    return {"path": str(source.path), "bytes": source.n_bytes, "digest": digest}


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
        **options: those of `InputOptions`, `EncodeSettings` and `OutputSettings` by name.

    Raises:
        TypeError: an unknown option, or one that only files have.
    """
    of_output = {name: options.pop(name) for name in OutputSettings._fields if name in options}
    of_inputs = {name: options.pop(name) for name in InputOptions.__dataclass_fields__ if name in options}
    unknown = sorted(options.keys() - EncodeSettings.__dataclass_fields__.keys())
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}")
    settings = EncodeSettings(inputs=InputOptions(**of_inputs), **options)
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
