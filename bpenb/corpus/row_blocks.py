"""Filling buffers with the rows of one file; many rows share a buffer, and are copied into it at once."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.inputs import BadRows, InputOptions
from bpenb.corpus.rooms import FilledRoom, Place, TakeRoom
from bpenb.corpus.row_batch import RowBatch
from bpenb.corpus.rows import read_rows
from bpenb.corpus.sampling import DocumentSampler
from bpenb.corpus.sources import Source
from bpenb.errors import CorpusError

__all__ = ["RowReading", "fill_with_rows"]


class RowReading:
    """How rows are read: from where, which, and what becomes of the bad ones; arguments as of `read_rows`."""

    def __init__(
        self, options: InputOptions, bad_rows: BadRows, sampler: DocumentSampler | None, start: Place | None
    ) -> None:
        self.options, self.bad_rows, self.sampler = options, bad_rows, sampler
        self.start = start


def fill_with_rows(
    filled: FilledRoom, source: Source, finder: CutFinder, take_room: TakeRoom, reading: RowReading
) -> Generator[FilledRoom, None, FilledRoom]:
    """Yield the buffers that the rows of an input fill; returns the last one, which has room.

    Args:
        filled: the buffer to go on with; it holds rows, or nothing.
        source: a file of rows.
        finder: of the split pattern and special tokens, for rows that are larger than a buffer.
        take_room: returns a free buffer.
        reading: how.

    Raises:
        CorpusError: a file that cannot be read, a bad row, or a row that does not fit in memory.
    """
    first = reading.start.unit if reading.start else 0
    offset = reading.start.offset if reading.start else 0  # in the first row
    n_bad, n_good = reading.bad_rows.n_skipped, 0  # before this input, all of them; of this input
    for batch in read_rows(source, reading.options, reading.bad_rows, reading.sampler, first):
        done = 0
        while done < batch.n_rows:
            filled.holds_rows = True
            cut_before = offset if batch.numbers[done] == first else 0
            if not filled.n_ranges and not source.start:  # a row's number counts the bad ones before it
                filled.n_bad_rows = n_bad + int(batch.numbers[done]) - first - n_good
            fit = done if cut_before else _fit(filled, batch, done)
            if fit > done:
                offsets = batch.offsets[done : fit + 1]
                text = batch.data[offsets[0] : offsets[-1]]
                filled.room.text[filled.n_bytes : filled.n_bytes + text.shape[0]] = text
                filled.add_rows(offsets, source.name, source.number, batch.numbers[done:fit])
                n_good += fit - done
                done = fit
                continue
            if filled.n_ranges:
                yield filled.close()
                filled = FilledRoom(take_room())
            elif cut_before or _length(batch, done) > filled.room.capacity:
                place = Place(source.number, int(batch.numbers[done]), cut_before)
                filled = yield from _fill_with_parts(
                    filled, batch.text(done), source, finder, take_room, place
                )
                done, n_good = done + 1, n_good + 1
        filled.n_disk_bytes += batch.n_disk_bytes
    return filled


def _length(batch: RowBatch, row: int) -> int:
    return int(batch.offsets[row + 1] - batch.offsets[row])


def _fit(filled: FilledRoom, batch: RowBatch, done: int) -> int:
    """Return the first row, of those after the `done` first, that has no room in the buffer."""
    last = batch.offsets[done] + filled.room.capacity - filled.n_bytes
    fit = int(np.searchsorted(batch.offsets, last, side="right")) - 1
    return min(fit, done + filled.n_ranges_left, batch.n_rows)


def _fill_with_parts(
    filled: FilledRoom, row: bytes, source: Source, finder: CutFinder, take_room: TakeRoom, place: Place
) -> Generator[FilledRoom, None, FilledRoom]:
    """Yield buffers with a part each of a row that is larger; the last part's buffer is returned."""
    text, n_bad = row[place.offset :], filled.n_bad_rows
    for start, end in finder.spans(text, filled.room.capacity // 2):
        if filled.n_ranges:
            yield filled.close()
            filled = FilledRoom(take_room())
        filled.holds_rows, filled.n_bad_rows = True, n_bad
        filled.room.set_length(0)
        try:
            filled.room.grow(end - start)
        except MemoryError:
            raise CorpusError(
                f"{source.name}, row {place.unit + 1}: holds no place to cut for {end - start:,} bytes, "
                "which do not fit in memory (or in max_memory); make it several rows"
            ) from None
        filled.room.text[: end - start] = np.frombuffer(text, dtype=np.uint8)[start:end]
        here = place._replace(offset=place.offset + start)
        filled.add_part(end - start, source.name, here, ends_document=end == len(text))
    return filled
