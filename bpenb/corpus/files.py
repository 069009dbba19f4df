"""Files of text: which they are, and how they are cut into ranges that can be read on their own."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from bpenb.corpus.cuts import CutFinder
from bpenb.errors import CorpusError

__all__ = ["FileRange", "Files", "TextBlock", "next_cut", "plan_parts", "read_stream", "resolve_files"]

Files: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"

_SMALL_WINDOW = 1 << 12  # bytes read around a planned end: the next cut is mostly a word away
_LARGE_WINDOW = 1 << 20


class FileRange(NamedTuple):
    """The bytes `start` to `end` of a file, cut at safe places."""

    path: str
    start: int
    end: int

    @property
    def source(self) -> str:
        """Name of the input, for messages."""
        return self.path

    @property
    def n_bytes(self) -> int:
        """Length in bytes."""
        return self.end - self.start


class TextBlock(NamedTuple):
    """Text in memory that begins `start` bytes into the input named `source`."""

    source: str
    start: int
    data: bytes

    @property
    def n_bytes(self) -> int:
        """Length in bytes."""
        return len(self.data)


def resolve_files(files: Files) -> list[Path]:
    """Return the files as paths, after looking that each is there.

    Args:
        files: a path, or several.

    Raises:
        CorpusError: no file at all, one that is missing, or a folder.
        TypeError: something that is no path, such as bytes.
    """
    if isinstance(files, str | os.PathLike):
        files = [files]
    listed: object = files
    if isinstance(listed, bytes | bytearray) or not isinstance(listed, Iterable):
        raise TypeError(f"files must be a path or a list of paths, not {type(listed).__name__}")
    paths = [_checked_path(file) for file in listed]
    if not paths:
        raise CorpusError("no input files were given")
    return paths


def _checked_path(file: object) -> Path:
    name = os.fspath(file) if isinstance(file, os.PathLike) else file
    if not isinstance(name, str):
        raise TypeError(f"a file must be given as a str or a path, not {type(name).__name__}")
    if not name:
        raise CorpusError("an input file has an empty name")
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise CorpusError(f"{name}: cannot be read: {_reason(error)}") from None
    if stat.S_ISDIR(mode):
        raise CorpusError(f"{name}: is a folder; give the files in it")
    return path


def plan_parts(
    path: Path, start: int, end: int | None, finder: CutFinder, range_bytes: int
) -> Iterator[FileRange | TextBlock]:
    """Yield ranges that cover a file, or a part of it, each of `range_bytes` or a little more.

    No range ends inside a pretoken or a special token. Only small windows around the planned ends
    are read, as the ranges are asked for. Where no cut is found a range is as long as it must be.
    What is no regular file (a pipe, a terminal) can be read only once: it is yielded as text.

    Args:
        path: a file that exists.
        start, end: of the part, at safe cuts; an end of None is where the file ends.
        finder: of the split pattern and special tokens.
        range_bytes: bytes per range, at least 1.

    Raises:
        CorpusError: a file that cannot be read.
    """
    try:
        if path.is_file():
            yield from _plan_file(path, start, end, finder, range_bytes)
        else:
            yield from _plan_stream(path, finder, range_bytes)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {_reason(error)}") from error


def _plan_file(
    path: Path, start: int, end: int | None, finder: CutFinder, range_bytes: int
) -> Iterator[FileRange]:
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size if end is None else end
        while size - start > range_bytes:
            cut = next_cut(file, start + range_bytes, size, finder)
            if cut is None:
                break
            yield FileRange(str(path), start, cut)
            start = cut
    if start < size:
        yield FileRange(str(path), start, size)


def next_cut(file: IO[bytes], position: int, size: int, finder: CutFinder) -> int | None:
    """Return the first safe cut at `position` of a text or after it, or None.

    The text is the first `size` bytes of a file.

    Windows slide and overlap by what may matter for a cut, so memory stays small however far the
    next cut is.
    """
    window = max(_SMALL_WINDOW, 2 * (finder.context + finder.margin))
    while True:
        begin = max(0, position - finder.context)
        file.seek(begin)
        data = file.read(min(window, size - begin))
        end = begin + len(data)
        at_end = end >= size or not data
        cut = finder.first(data, position - begin, at_end=at_end)
        if cut is not None:
            return begin + cut
        if at_end:
            return None
        position = max(position, end - finder.margin + 1)  # the first place left undecided
        window = max(window, min(4 * window, _LARGE_WINDOW))


def _plan_stream(path: Path, finder: CutFinder, range_bytes: int) -> Iterator[TextBlock]:
    with path.open("rb") as file:
        yield from read_stream(file, str(path), finder, range_bytes)


def read_stream(file: IO[bytes], source: str, finder: CutFinder, block_bytes: int) -> Iterator[TextBlock]:
    """Yield the text of an open file in blocks of about `block_bytes`, each cut at a safe place.

    Args:
        file: read from where it stands to its end.
        source: its name, for messages.
        finder: of the split pattern and special tokens.
        block_bytes: bytes per block; a block without a safe cut grows until there is one.
    """
    start, data, wanted = 0, b"", block_bytes
    while more := file.read(wanted):
        undecided = max(0, len(data) - finder.margin)
        data += more
        cut = finder.last(data, undecided, at_end=False)
        if cut is None:
            wanted = len(data)  # doubling: a text without cuts is copied twice, not n times
            continue
        yield TextBlock(source, start, data[:cut])
        start, data, wanted = start + cut, data[cut:], block_bytes
    if data:
        yield TextBlock(source, start, data)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
