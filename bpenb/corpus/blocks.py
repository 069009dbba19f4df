"""Filling a few reused buffers with files of any kind, one after the other.

    text   stretches that end at safe cuts (text_blocks.py)
    rows   many to a buffer (row_blocks.py)

The next bytes always come from one front, so a disk reads on in one direction; several small files
share a buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.inputs import BadRows, InputOptions
from bpenb.corpus.remote import InputPath
from bpenb.corpus.rooms import FilledRoom, Place, TakeRoom
from bpenb.corpus.row_blocks import RowReading, fill_with_rows
from bpenb.corpus.sampling import DocumentSampler
from bpenb.corpus.sources import Source, as_source, total_bytes
from bpenb.corpus.text_blocks import fill_with_text
from bpenb.errors import CorpusError

__all__ = ["fill_from_files"]


def fill_from_files(
    files: Iterable[InputPath | Source],
    finder: CutFinder,
    take_room: TakeRoom,
    sampler: DocumentSampler | None = None,
    *,
    options: InputOptions | None = None,
    bad_rows: BadRows | None = None,
    start: Place | None = None,
    row_finder: CutFinder | None = None,
) -> Iterator[FilledRoom]:
    """Yield buffers with the documents of files, in order; text and rows share no buffer.

    Args:
        files: of any kind, or parts of text files; pipes, whatever can be read from its start to its end.
        finder: of the split pattern and special tokens (with the separator of documents, for text).
        take_room: returns a free buffer; waits for one if need be.
        sampler: decides which documents are kept; None: all.
        options: how rows are read.
        bad_rows: is told of rows without a text; None: as `options` says.
        start: the place of a range of an earlier run to begin at. The documents, and the bytes from there
            on, are those that followed; rows are in the same ranges, while a text is cut by the buffers.
            Bytes on disk before it are told with the first buffer. A sample has no such place.
        row_finder: of the special tokens without the separator, for rows that are larger than a buffer;
            None: as `finder`.

    Raises:
        CorpusError: a file that cannot be read, or whose uncut text does not fit in memory; a bad row.
    """
    assert start is None or sampler is None
    options = options or InputOptions()
    bad_rows = bad_rows or BadRows(options.skip_bad_rows)
    reading = RowReading(options, bad_rows, sampler, start)
    for filled in _fill(files, finder, row_finder or finder, take_room, reading):
        if not filled.holds_rows:  # no row is read ahead of a text
            filled.n_bad_rows = bad_rows.n_skipped
        yield filled


def _fill(
    files: Iterable[InputPath | Source],
    finder: CutFinder,
    row_finder: CutFinder,
    take_room: TakeRoom,
    reading: RowReading,
) -> Iterator[FilledRoom]:
    sampler, start = reading.sampler, reading.start
    sources = [as_source(file, number) for number, file in enumerate(files)]
    filled = FilledRoom(take_room())
    if start is not None:
        filled.n_disk_bytes, sources = _skip_to(sources, start)
    for source in sources:
        here = start if start is not None and source.number == start.source else None
        is_rows = source.kind.is_rows
        if filled.n_ranges and (filled.holds_rows != is_rows or not filled.n_ranges_left):
            yield filled.close()
            filled = FilledRoom(take_room())
        if is_rows:
            of_source = RowReading(reading.options, reading.bad_rows, sampler, here)
            filled = yield from fill_with_rows(filled, source, row_finder, take_room, of_source)
        else:
            sample = sampler.of(source.number, source.start) if sampler else None
            offset = here.offset if here else None
            filled = yield from fill_with_text(filled, source, finder, take_room, sample, offset)
    if not filled.is_empty:
        yield filled.close()


def _skip_to(sources: Sequence[Source], start: Place) -> tuple[int, list[Source]]:
    """Return the bytes on disk of the inputs before a place, and the others."""
    left = list(dropwhile(lambda source: source.number != start.source, sources))
    if not left:
        raise CorpusError(f"there is no input number {start.source}, where reading is to go on")
    return total_bytes(sources[: len(sources) - len(left)]) or 0, left
