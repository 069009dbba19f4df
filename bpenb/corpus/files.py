"""Files of text: how they are cut into ranges that can be read on their own, or into blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, NamedTuple, Protocol

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.remote import InputPath, RemoteFile
from bpenb.errors import CorpusError

__all__ = ["FileRange", "TextBlock", "next_cut", "plan_parts", "read_stream"]

_SMALL_WINDOW = 1 << 12  # bytes read around a planned end: the next cut is mostly a word away
_LARGE_WINDOW = 1 << 20


class FileRange(NamedTuple):
    """The bytes `start` to `end` of a file, cut at safe places."""

    path: str | RemoteFile
    start: int
    end: int

    @property
    def source(self) -> str:
        """Name of the input, for messages."""
        return str(self.path)

    @property
    def n_bytes(self) -> int:
        """Length in bytes."""
        return self.end - self.start

    @property
    def n_disk_bytes(self) -> int:
        """Bytes of the input on disk that it stands for."""
        return self.n_bytes


class TextBlock(NamedTuple):
    """Text in memory that begins `start` bytes into the input named `source`.

    It stands for `n_disk_bytes` of an input on disk, which may be compressed.
    """

    source: str
    start: int
    data: bytes
    n_disk_bytes: int = 0

    @property
    def n_bytes(self) -> int:
        """Length in bytes."""
        return len(self.data)


def plan_parts(
    path: InputPath, start: int, end: int | None, finder: CutFinder, range_bytes: int
) -> Iterator[FileRange]:
    """Yield ranges that cover a file, or a part of it, each of `range_bytes` or a little more.

    No range ends inside a pretoken or a special token. Only small windows around the planned ends
    are read, as the ranges are asked for. Where no cut is found a range is as long as it must be.

    Args:
        path: a regular file of plain text.
        start, end: of the part, at safe cuts; an end of None is where the file on the disk ends.
        finder: of the split pattern and special tokens.
        range_bytes: bytes per range, at least 1.

    Raises:
        CorpusError: a file that cannot be read.
    """
    try:
        yield from _plan_file(path, start, end, finder, range_bytes)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error


def _plan_file(
    path: InputPath, start: int, end: int | None, finder: CutFinder, range_bytes: int
) -> Iterator[FileRange]:
    name = path if isinstance(path, RemoteFile) else str(path)
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size if end is None else end
        while size - start > range_bytes:
            cut = next_cut(file, start + range_bytes, size, finder)
            if cut is None:
                break
            yield FileRange(name, start, cut)
            start = cut
    if start < size:
        yield FileRange(name, start, size)


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


class _Readable(Protocol):
    def read(self, n_bytes: int, /) -> bytes: ...


def read_stream(file: _Readable, source: str, finder: CutFinder, block_bytes: int) -> Iterator[TextBlock]:
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
