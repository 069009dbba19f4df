"""Texts that are read more than once: what can be read only once (a pipe) is copied to a file first."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bpenb.corpus import Files, InputPath, Source, resolve_sources
from bpenb.errors import CorpusError

__all__ = ["Texts", "rereadable"]


class Texts(NamedTuple):
    """Inputs that can be read again and again.

    Attributes:
        paths: of files.
        names: what they are called, in the same order.
    """

    paths: list[InputPath]
    names: tuple[str, ...]


@contextmanager
def rereadable(inputs: Files) -> Iterator[Texts]:
    """Give the files that inputs mean; copies of pipes are there until the block ends.

    Raises:
        CorpusError: no file, one that is missing, or a pipe that cannot be copied.
    """
    sources = resolve_sources(inputs)
    names = tuple(source.name for source in sources)
    if all(source.n_bytes is not None for source in sources):
        yield Texts([source.path for source in sources], names)
        return
    with tempfile.TemporaryDirectory(prefix="bpenb-") as folder:
        paths = [s.path if s.n_bytes is not None else _copy(s, Path(folder)) for s in sources]
        yield Texts(paths, names)


def _copy(source: Source, folder: Path) -> Path:
    """Copy what a pipe gives; the end of its name, which tells what it holds, is kept."""
    path = folder / f"{source.number}-{'standard input' if source.is_stdin else source.path.name}"
    try:
        with path.open("wb") as copy:
            if source.is_stdin:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            else:
                with source.path.open("rb") as pipe:
                    shutil.copyfileobj(pipe, copy)
    except OSError as error:
        reason = error.strerror or error
        raise CorpusError(
            f"{source.name}: cannot be copied to {folder}, to be read twice: {reason}"
        ) from error
    return path
