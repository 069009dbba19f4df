"""Filling a few reused buffers with text: stretches of files that end at safe cuts, or whole documents.

The next bytes always come from one front, so a disk reads on in one direction; several small files
or documents share a buffer.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from bpenb._arrays import ByteArray, Int64Array
from bpenb.corpus.cuts import CutFinder
from bpenb.errors import CorpusError

__all__ = ["FilledRoom", "TakeRoom", "TextRoom", "fill_from_documents", "fill_from_files"]

_WINDOW = 1 << 12  # bytes looked at for the last cut; mostly a word is enough


class TextRoom(Protocol):
    """A buffer for text, as scanners have them."""

    text: ByteArray

    @property
    def capacity(self) -> int:
        """Bytes of text that there is room for."""
        ...

    def grow(self, capacity: int) -> None:
        """Make room for more text, keeping what `set_length` spoke of."""
        ...

    def set_length(self, n_bytes: int) -> None:
        """Say how much text there is."""
        ...


TakeRoom: TypeAlias = Callable[[], TextRoom]


class FilledRoom:
    """A buffer with ranges of text; each is a document, or a stretch of one between safe cuts.

    Attributes:
        room: the buffer.
        n_bytes: bytes in use.
    """

    def __init__(self, room: TextRoom) -> None:
        self.room = room
        self.n_bytes = 0
        self._ends: list[int] = []
        self._labels: list[tuple[str | int, int]] = []

    def add(self, n_bytes: int, source: str | int, base: int) -> None:
        """Note that the next bytes are text from `base` on of a file (its name) or document (its number)."""
        self.n_bytes += n_bytes
        self._ends.append(self.n_bytes)
        self._labels.append((source, base))

    @property
    def ranges(self) -> Int64Array:
        """int64[n, 2], first byte and end of each range."""
        ends = np.array(self._ends, dtype=np.int64)
        return np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1) if ends.size else ends.reshape(0, 2)

    def label(self, range: int) -> tuple[str, int]:
        """Return the name of a range's input, and the bytes of that input before it."""
        source, base = self._labels[range]
        return (source if isinstance(source, str) else f"document {source}"), base

    def close(self) -> FilledRoom:
        """Put the padding behind the text; returns itself."""
        self.room.set_length(self.n_bytes)
        return self


def fill_from_files(paths: Iterable[Path], finder: CutFinder, take_room: TakeRoom) -> Iterator[FilledRoom]:
    """Yield buffers with the text of files, in order.

    Args:
        paths: regular files, pipes, whatever can be read from its start to its end.
        finder: of the split pattern and special tokens.
        take_room: returns a free buffer; waits for one if need be.

    Raises:
        CorpusError: a file that cannot be read, or whose uncut text does not fit in memory.
    """
    filled = FilledRoom(take_room())
    for path in paths:
        try:
            with path.open("rb", buffering=0) as file:
                if 2 * filled.n_bytes > filled.room.capacity:
                    yield filled.close()
                    filled = FilledRoom(take_room())
                base, carry, at_end = 0, b"", False
                while not at_end:
                    start = filled.n_bytes
                    end, at_end = _read_stretch(file, filled, carry)
                    cut = end if at_end else None
                    while cut is None:
                        cut = _last_cut(filled.room.text, start, end, finder)
                        if cut is None:
                            end, at_end = _read_on(file, filled, end)
                            cut = end if at_end else None
                    if cut > start:
                        filled.add(cut - start, str(path), base)
                    carry, base = filled.room.text[cut:end].tobytes(), base + cut - start
                    if not at_end:
                        yield filled.close()
                        filled = FilledRoom(take_room())
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
        except MemoryError:
            raise CorpusError(
                f"{path}: holds no place to cut for {filled.room.capacity:,} bytes and more, which do not "
                "fit in memory (or in max_memory); separate documents with a special token"
            ) from None
    if filled.n_bytes:
        yield filled.close()


def _read_stretch(file: io.RawIOBase, filled: FilledRoom, carry: bytes) -> tuple[int, bool]:
    """Put `carry` and what follows in the file into the buffer; returns the end and whether the file is."""
    start = filled.n_bytes
    room = filled.room
    if start + 2 * len(carry) > room.capacity:
        room.set_length(start)
        room.grow(start + 2 * len(carry))
    room.text[start : start + len(carry)] = np.frombuffer(carry, dtype=np.uint8)
    return _fill(file, room, start + len(carry))


def _read_on(file: io.RawIOBase, filled: FilledRoom, end: int) -> tuple[int, bool]:
    """Double a buffer that holds no cut, and fill it further."""
    filled.room.set_length(end)
    filled.room.grow(2 * filled.room.capacity)
    return _fill(file, filled.room, end)


def _fill(file: io.RawIOBase, room: TextRoom, end: int) -> tuple[int, bool]:
    view = room.text.data[: room.capacity]
    while end < len(view):
        n = file.readinto(view[end:])
        if not n:
            return end, True
        end += n
    return end, False


def _last_cut(text: ByteArray, start: int, end: int, finder: CutFinder) -> int | None:
    """Return the last safe cut in text[start:end], looking at ever larger windows at its end."""
    window = _WINDOW + finder.context + finder.margin
    while True:
        low = max(start, end - window)
        cut = finder.last(text[low:end].tobytes(), finder.context if low > start else 0, at_end=False)
        if cut is not None:
            return low + cut
        if low == start:
            return None
        window *= 16


def fill_from_documents(
    documents: Iterable[bytes], finder: CutFinder, take_room: TakeRoom
) -> Iterator[FilledRoom]:
    """Yield buffers with whole documents; a document larger than a buffer is cut at safe places.

    Args:
        documents: UTF-8 bytes of each.
        finder: of the split pattern and special tokens.
        take_room: returns a free buffer; waits for one if need be.
    """
    filled = FilledRoom(take_room())
    parts: list[bytes] = []
    for number, document in enumerate(documents):
        if filled.n_bytes + len(document) > filled.room.capacity:
            if parts:
                yield _join(filled, parts)
                filled, parts = FilledRoom(take_room()), []
            if len(document) > filled.room.capacity:
                for start, end in finder.spans(document, filled.room.capacity // 2):
                    if filled.n_bytes:
                        yield _join(filled, parts)
                        filled = FilledRoom(take_room())
                    filled.add(end - start, number, start)
                    parts = [document[start:end]]
                continue
        if document:
            parts.append(document)
            filled.add(len(document), number, 0)
    if parts:
        yield _join(filled, parts)


def _join(filled: FilledRoom, parts: list[bytes]) -> FilledRoom:
    filled.room.set_length(0)
    try:
        filled.room.grow(filled.n_bytes)
    except MemoryError:
        raise CorpusError(
            f"{filled.label(0)[0]}: holds no place to cut for {filled.n_bytes:,} bytes, which do not fit in "
            "memory (or in max_memory); separate documents with a special token"
        ) from None
    filled.room.text[: filled.n_bytes] = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return filled.close()
