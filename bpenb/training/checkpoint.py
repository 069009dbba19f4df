"""Keeping the merges of a training in a file, and going on from it.

The file is replaced as a whole, never by one that holds fewer merges of the same training. When a
training ends it holds all merges: nothing is lost if saving the tokenizer fails, and a larger vocab
can go on from it. Its format: checkpoint_file.py; why so: docs/decisions/0014-going-on.md.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._atomic import temporary_sibling
from bpenb.counting import WordCounts
from bpenb.errors import FormatError, OutputError, TrainingError
from bpenb.training.at_work import GivenMerges
from bpenb.training.checkpoint_file import Identity, Stored, read_checkpoint, write_checkpoint
from bpenb.training.driver import MergeResult
from bpenb.training.settings import LearningOptions

__all__ = ["Checkpoint", "OpenCheckpoint", "digest", "open_checkpoint", "training_identity"]

_HASHED_AT_ONCE = 1 << 24  # Ctrl-C is seen between two


@dataclass(frozen=True)
class Checkpoint:
    """Where the merges of a training are kept.

    Attributes:
        path: the file.
        resume: go on behind the merges that it holds.
        force: if not, begin anew and replace whatever file there is.
    """

    path: str | os.PathLike[str]
    resume: bool = False
    force: bool = False


# --- what decides a result ------------------------------------------------------------------------


def digest(*arrays: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of integer arrays, the same on every machine.

    Example:
        >>> digest(np.array([1, 2])) == digest(np.array([1, 2], dtype=np.int32))
        True
        >>> digest(np.array([1]), np.array([2])) == digest(np.array([1, 2]))
        False
    """
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(b"%d;" % array.size)
        flat = array.reshape(-1)
        step = _HASHED_AT_ONCE // 8
        for first in range(0, flat.size, step):
            part = flat[first : first + step]
            sha.update(part.tobytes() if part.dtype == np.uint8 else part.astype("<i8").tobytes())
    return sha.hexdigest()


def training_identity(options: LearningOptions, pattern: str, special_tokens: tuple[str, ...]) -> Identity:
    """Return what decides the merges and is known before a word is counted, by the name for users.

    Args:
        options: of the training; neither the number of merges nor the workers change a merge.
        pattern: the regex.
        special_tokens: in the order given.
    """
    return {
        "ties": options.ties,
        "min_frequency": max(1, options.min_frequency),
        "max_token_length": options.max_token_length,
        "pattern": pattern,
        "special tokens": list(special_tokens),
    }


def _counts_identity(counts: WordCounts) -> Identity:
    """Return what decides the merges and is known when the words are counted."""
    return {
        "engine": counts.engine,
        "Unicode version": counts.unicode_version,
        "word counts (SHA-256)": digest(counts.word_bytes, counts.word_offsets, counts.word_counts),
    }


# --- keeping and going on ---------------------------------------------------------------------------


def _check_writable(path: Path) -> None:
    """Refuse a place that no file can be written to, before the work."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; a checkpoint is a file")
    probe = temporary_sibling(path)
    try:
        probe.touch()
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        probe.unlink(missing_ok=True)


def open_checkpoint(checkpoint: Checkpoint) -> OpenCheckpoint:
    """Return a checkpoint that may be written, its merges read if they are to be gone on from.

    Raises:
        FormatError: nothing to resume from, or a file of something else.
        OutputError: a file that is there already, or one that cannot be written.
    """
    path = Path(checkpoint.path)
    _check_writable(path)
    if checkpoint.resume:
        return OpenCheckpoint(path, read_checkpoint(path), overwrite=False)
    if path.exists() and not checkpoint.force:
        raise OutputError(
            f"{path}: is there already; go on from it with --resume (resume=True), replace it with --force "
            "(bpenb.Checkpoint(..., force=True)), or name another file"
        )
    return OpenCheckpoint(path, None, overwrite=path.exists())


class OpenCheckpoint:
    """A checkpoint file in use: what it held, and the merges that are kept in it.

    Args:
        path: the file.
        stored: what it holds, if the training goes on from that.
        overwrite: replace what is there at the first time, whatever it is.
    """

    def __init__(self, path: Path, stored: Stored | None, overwrite: bool) -> None:
        self.path = path
        self.stored = stored
        self.n_kept = 0 if stored is None else stored.made.merges.shape[0]
        self._overwrite = overwrite
        self._identity: Identity = {}

    def check_settings(self, identity: Identity, options: LearningOptions, vocab_size: int) -> None:
        """Refuse to resume with other settings, or a vocab that is smaller than what is made.

        Args:
            identity: of the training that is to go on.
            options, vocab_size: what it is asked for.

        Raises:
            TrainingError: it names what differs, with both values.
        """
        self._identity = identity
        self._compare(identity)
        if self.n_kept > options.n_merges:
            raise TrainingError(
                f"{self.path}: holds {self.n_kept:,} merges; a vocab_size of {vocab_size} has room for "
                f"{options.n_merges:,} only: ask for {vocab_size + self.n_kept - options.n_merges} at least"
            )

    def check_counts(self, counts: WordCounts) -> None:
        """Refuse to resume with other words.

        Raises:
            TrainingError: it names what differs, with both values.
        """
        found = _counts_identity(counts)
        self._identity = self._identity | found
        self._compare(found)

    def _compare(self, identity: Identity) -> None:
        if self.stored is None:
            return
        kept = self.stored.identity
        differing = [
            f"{name} {_shown(name, kept.get(name))} there, {_shown(name, value)} here"
            for name, value in identity.items()
            if kept.get(name) != value
        ]
        if differing:
            raise TrainingError(
                f"{self.path}: is the checkpoint of another training: {'; '.join(differing)}; resume with "
                "the corpus and the settings that it was begun with"
            )

    def keep(self, made: GivenMerges) -> None:
        """Keep the merges so far; what cannot be written is a warning, and the training goes on."""
        n_merges = made.merges.shape[0]
        try:
            if not self._overwrite and self._holds_more(n_merges):
                return
            write_checkpoint(self.path, made, self._identity)
        except OutputError as error:
            warnings.warn(f"the merges so far are not kept: {error}", stacklevel=2)
            return
        self._overwrite = False
        self.n_kept = n_merges

    def keep_all(self, result: MergeResult) -> None:
        """Keep the merges of a training that has ended."""
        self.keep(GivenMerges(result.merges, result.merge_counts))

    def _holds_more(self, n_merges: int) -> bool:
        """Tell whether the file holds more merges of this training, perhaps by another process."""
        if not self.path.exists():
            return False
        try:
            there = read_checkpoint(self.path)
        except FormatError as error:
            raise OutputError(f"{error}; something else wrote to it, and is left alone") from None
        if there.identity != self._identity:
            raise OutputError(f"{self.path}: another training writes to it, and is left alone")
        return bool(there.made.merges.shape[0] > n_merges)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Add to whatever ends the block early how to go on."""
        try:
            yield
        except BaseException as error:
            if self.n_kept:
                error.add_note(
                    f"{self.n_kept:,} merges are kept in {self.path}; the same training with --resume "
                    "(resume=True) goes on behind them"
                )
            raise


def _shown(name: str, value: object) -> str:
    """Return how a message shows a value."""
    return f"{value[:12]}…" if isinstance(value, str) and "SHA-256" in name else repr(value)
