"""Filling buffers with the text of one file: stretches that end at safe cuts.

A stretch fills what is left of a buffer; what stands behind its last cut is carried to the next one.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from bpenb._arrays import ByteArray
from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.rooms import FilledRoom, TakeRoom, TextRoom
from bpenb.corpus.sampling import DocumentSample
from bpenb.corpus.sources import Source
from bpenb.corpus.streams import ByteStream, open_stream
from bpenb.errors import CorpusError

__all__ = ["fill_with_text"]

_WINDOW = 1 << 12  # bytes looked at for the last cut; mostly a word is enough


def fill_with_text(
    filled: FilledRoom,
    source: Source,
    finder: CutFinder,
    take_room: TakeRoom,
    sample: DocumentSample | None = None,
    offset: int | None = None,
) -> Generator[FilledRoom, None, FilledRoom]:
    """Yield the buffers that the text of an input fills; returns the last one, which has room.

    Args:
        filled: the buffer to go on with.
        source: of text, compressed or not.
        finder: of the split pattern and special tokens.
        take_room: returns a free buffer.
        sample: decides which documents are kept; None: all.
        offset: unpacked bytes of the file before the place to begin at; None: where the source begins.

    Raises:
        CorpusError: a file that cannot be read, or whose uncut text does not fit in memory.
    """
    with open_stream(source, offset) as stream:
        if 2 * filled.n_bytes > filled.room.capacity:
            yield filled.close()
            filled = FilledRoom(take_room())
        base = source.start if offset is None else offset
        carry, at_end, n_disk = b"", False, 0
        try:
            while not at_end:
                start = filled.n_bytes
                end, at_end = _read_stretch(stream, filled, carry)
                cut = end if at_end else None
                while cut is None:
                    cut = _last_cut(filled.room.text, start, end, finder)
                    if cut is None:
                        end, at_end = _read_on(stream, filled, end)
                        cut = end if at_end else None
                carry = filled.room.text[cut:end].tobytes()
                _add(filled, cut - start, source, base, sample, at_end)
                base += cut - start
                filled.n_disk_bytes += stream.n_disk_bytes - n_disk
                n_disk = stream.n_disk_bytes
                if not at_end and (sample is None or 2 * filled.n_bytes > filled.room.capacity):
                    yield filled.close()
                    filled = FilledRoom(take_room())
        except MemoryError:
            raise CorpusError(
                f"{source.name}: holds no place to cut for {filled.room.capacity:,} bytes and more, which do "
                "not fit in memory (or in max_memory); separate documents with a special token"
            ) from None
    return filled


def _add(
    filled: FilledRoom, n_bytes: int, source: Source, base: int, sample: DocumentSample | None, at_end: bool
) -> None:
    """Take the next bytes of the buffer, or what a sample keeps of them, moved together.

    The last range of an input ends at its end; it is empty if the input is, or the sample leaves out the end.
    """
    name, number = source.name, source.number
    if sample is None:
        filled.add(n_bytes, name, base, number, ends_document=at_end)
        return
    text, first = filled.room.text, filled.n_bytes
    kept = sample.kept(text.data[first : first + n_bytes], base)
    if at_end and (not kept or kept[-1][1] < n_bytes):
        kept.append((n_bytes, n_bytes))
    for start, end in kept:
        text[filled.n_bytes : filled.n_bytes + end - start] = text[first + start : first + end]
        filled.add(end - start, name, base + start, number, ends_document=at_end and end == n_bytes)


def _read_stretch(file: ByteStream, filled: FilledRoom, carry: bytes) -> tuple[int, bool]:
    """Put `carry` and what follows in the file into the buffer; returns the end and whether the file is."""
    start = filled.n_bytes
    room = filled.room
    if start + 2 * len(carry) > room.capacity:
        room.set_length(start)
        room.grow(start + 2 * len(carry))
    room.text[start : start + len(carry)] = np.frombuffer(carry, dtype=np.uint8)
    return _fill(file, room, start + len(carry))


def _read_on(file: ByteStream, filled: FilledRoom, end: int) -> tuple[int, bool]:
    """Double a buffer that holds no cut, and fill it further."""
    filled.room.set_length(end)
    filled.room.grow(2 * filled.room.capacity)
    return _fill(file, filled.room, end)


def _fill(file: ByteStream, room: TextRoom, end: int) -> tuple[int, bool]:
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
