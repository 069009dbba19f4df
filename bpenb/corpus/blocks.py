"""Filling a few reused buffers with text: stretches of files that end at safe cuts, or whole documents.

The next bytes always come from one front, so a disk reads on in one direction; several small files
or documents share a buffer.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import numpy as np

from bpenb._arrays import ByteArray
from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.rooms import FilledRoom, TakeRoom, TextRoom
from bpenb.corpus.sampling import DocumentSample, DocumentSampler
from bpenb.corpus.sources import Source, as_source
from bpenb.errors import CorpusError

__all__ = ["fill_from_documents", "fill_from_files"]

_WINDOW = 1 << 12  # bytes looked at for the last cut; mostly a word is enough


class _Readable(Protocol):
    def readinto(self, view: memoryview) -> int | None: ...


class _Part:
    """A part of a file, which is read like a whole one."""

    def __init__(self, file: io.FileIO, source: Source) -> None:
        file.seek(source.start)
        self._file, self._source = file, source
        self._left = source.n_bytes

    def readinto(self, view: memoryview) -> int:
        """Read the next bytes of the part."""
        if self._left is not None:
            view = view[: self._left]
        n = self._file.readinto(view) or 0
        if self._left is not None:
            self._left -= n
            if not n and self._left and len(view):
                raise CorpusError(
                    f"{self._source.path}: became shorter while it was read: {self._left:,} bytes before "
                    f"byte {self._source.end} are gone"
                )
        return n


def fill_from_files(
    files: Iterable[Path | Source],
    finder: CutFinder,
    take_room: TakeRoom,
    sampler: DocumentSampler | None = None,
) -> Iterator[FilledRoom]:
    """Yield buffers with the text of files, in order.

    Args:
        files: regular files or parts of them; pipes, whatever can be read from its start to its end.
        finder: of the split pattern and special tokens.
        take_room: returns a free buffer; waits for one if need be.
        sampler: decides which documents are kept; None: all.

    Raises:
        CorpusError: a file that cannot be read, or whose uncut text does not fit in memory.
    """
    filled = FilledRoom(take_room())
    for each in files:
        source = as_source(each)
        sample = sampler.of(source.number, source.start) if sampler else None
        try:
            with source.path.open("rb", buffering=0) as opened:
                file = _Part(opened, source) if source.start or source.end is not None else opened
                if 2 * filled.n_bytes > filled.room.capacity:
                    yield filled.close()
                    filled = FilledRoom(take_room())
                base, carry, at_end = source.start, b"", False
                while not at_end:
                    start = filled.n_bytes
                    end, at_end = _read_stretch(file, filled, carry)
                    cut = end if at_end else None
                    while cut is None:
                        cut = _last_cut(filled.room.text, start, end, finder)
                        if cut is None:
                            end, at_end = _read_on(file, filled, end)
                            cut = end if at_end else None
                    carry = filled.room.text[cut:end].tobytes()
                    _add(filled, cut - start, source, base, sample)
                    base += cut - start
                    if not at_end and (sample is None or 2 * filled.n_bytes > filled.room.capacity):
                        yield filled.close()
                        filled = FilledRoom(take_room())
        except OSError as error:
            raise CorpusError(f"{source.path}: cannot be read: {error.strerror or error}") from error
        except MemoryError:
            raise CorpusError(
                f"{source.path}: holds no place to cut for {filled.room.capacity:,} bytes and more, which do "
                "not fit in memory (or in max_memory); separate documents with a special token"
            ) from None
    if filled.n_bytes:
        yield filled.close()


def _add(filled: FilledRoom, n_bytes: int, source: Source, base: int, sample: DocumentSample | None) -> None:
    """Take the next bytes of the buffer, or what a sample keeps of them, moved together."""
    name = str(source.path)
    if sample is None:
        if n_bytes:
            filled.add(n_bytes, name, base)
        return
    text, first = filled.room.text, filled.n_bytes
    for start, end in sample.kept(text.data[first : first + n_bytes], base):
        text[filled.n_bytes : filled.n_bytes + end - start] = text[first + start : first + end]
        filled.add(end - start, name, base + start)


def _read_stretch(file: _Readable, filled: FilledRoom, carry: bytes) -> tuple[int, bool]:
    """Put `carry` and what follows in the file into the buffer; returns the end and whether the file is."""
    start = filled.n_bytes
    room = filled.room
    if start + 2 * len(carry) > room.capacity:
        room.set_length(start)
        room.grow(start + 2 * len(carry))
    room.text[start : start + len(carry)] = np.frombuffer(carry, dtype=np.uint8)
    return _fill(file, room, start + len(carry))


def _read_on(file: _Readable, filled: FilledRoom, end: int) -> tuple[int, bool]:
    """Double a buffer that holds no cut, and fill it further."""
    filled.room.set_length(end)
    filled.room.grow(2 * filled.room.capacity)
    return _fill(file, filled.room, end)


def _fill(file: _Readable, room: TextRoom, end: int) -> tuple[int, bool]:
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
    batches: Iterable[list[bytes]], finder: CutFinder, take_room: TakeRoom
) -> Iterator[FilledRoom]:
    """Yield buffers with whole documents; a document larger than a buffer is cut at safe places.

    Args:
        batches: lists of documents, UTF-8 bytes of each.
        finder: of the split pattern and special tokens.
        take_room: returns a free buffer; waits for one if need be.
    """
    filled = FilledRoom(take_room())
    parts: list[bytes] = []
    number = 0  # of the batch's first document
    for batch in batches:
        if len(batch) == 1 and len(batch[0]) <= filled.room.capacity - filled.n_bytes:  # most are, or none
            parts += batch
            filled.add_document(len(batch[0]), number)
            number += 1
            continue
        ends = list(accumulate(map(len, batch)))
        done = 0
        while done < len(batch):
            start = ends[done - 1] if done else 0
            fit = bisect_right(ends, start + filled.room.capacity - filled.n_bytes)
            if fit > done:
                parts += batch[done:fit]
                filled.add_documents(ends[done:fit], start, number + done)
                done = fit
                continue
            if parts:
                yield _join(filled, parts)
                filled, parts = FilledRoom(take_room()), []
            if len(batch[done]) > filled.room.capacity:
                for start, end in finder.spans(batch[done], filled.room.capacity // 2):
                    if filled.n_bytes:
                        yield _join(filled, parts)
                        filled = FilledRoom(take_room())
                    filled.add(end - start, number + done, start)
                    parts = [batch[done][start:end]]
                done += 1
        number += len(batch)
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
