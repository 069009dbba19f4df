"""Buffers with text: what a buffer must be able to do, and which ranges of which inputs it holds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, Int64Array

__all__ = ["MOST_RANGES", "FilledRoom", "Place", "TakeRoom", "TextRoom"]

MOST_RANGES = 1 << 16  # in one buffer: empty rows take no room, but a range each


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


class Place(NamedTuple):
    """Where a range begins, so that reading can go on there.

    Attributes:
        source: number of the input; 0 for documents of an iterable.
        unit: of rows: its number among the rows that are documents or bad; of an iterable: the number
            of the document; both from 0. Of text: 0.
        offset: bytes from the beginning of the unit, unpacked: of the row, of the document, of the text.
    """

    source: int
    unit: int
    offset: int


class _Run(NamedTuple):
    """Ranges in a row, and where they are from."""

    first: int  # of the ranges
    what: Literal["text", "row", "document"]
    name: str  # of the input
    source: int
    units: int | Int64Array  # of the first range, or of each
    offset: int  # of the first range


class FilledRoom:
    """A buffer with ranges of text; each is a document, or a stretch of one between safe cuts.

    Attributes:
        n_bytes: bytes in use.
        n_disk_bytes: bytes of the inputs on disk that were read for it (of documents: their bytes).
        holds_rows: whether its ranges are rows: text and rows share no buffer.
        n_bad_rows: rows without a text, of all inputs, that stand before its first range and were left
            out; not known where a sample of rows is taken.

    Args:
        room: the buffer.
        item_name: what an item of an iterable is called in messages.
    """

    def __init__(self, room: TextRoom, item_name: str = "document") -> None:
        self.room = room
        self._item_name = item_name
        self.n_bytes = 0
        self.n_disk_bytes = 0
        self.holds_rows = False
        self.n_bad_rows = 0
        self._ends: list[int] = []
        self._runs: list[_Run] = []
        self._going_on: list[int] = []  # ranges whose document goes on in the next one
        self._next_document = -1  # that would need no run of its own

    def add(
        self, n_bytes: int, name: str, offset: int, source: int = 0, *, ends_document: bool = False
    ) -> None:
        """Note that the next bytes are text from `offset` on of an input (its name and number)."""
        self._add_run(_Run(len(self._ends), "text", name, source, 0, offset), n_bytes, ends_document)

    def add_part(self, n_bytes: int, name: str | None, place: Place, *, ends_document: bool) -> None:
        """Note that the next bytes are a part of a row of an input (its name) or of a document (None)."""
        source, unit, offset = place
        what: Literal["row", "document"] = "document" if name is None else "row"
        run = _Run(len(self._ends), what, name or "", source, unit, offset)
        self._add_run(run, n_bytes, ends_document)

    def _add_run(self, run: _Run, n_bytes: int, ends_document: bool) -> None:
        if not ends_document:
            self._going_on.append(run.first)
        self._runs.append(run)
        self._next_document = -1
        self.n_bytes += n_bytes
        self._ends.append(self.n_bytes)

    def add_document(self, n_bytes: int, number: int) -> None:
        """Note that the next bytes are a whole document."""
        if number != self._next_document:
            self._runs.append(_Run(len(self._ends), "document", "", 0, number, 0))
        self._next_document = number + 1
        self.n_bytes += n_bytes
        self._ends.append(self.n_bytes)

    def add_documents(self, ends: Sequence[int], start: int, number: int) -> None:
        """Note that the next bytes are whole documents.

        Args:
            ends: of each, in bytes, counted from where the first begins less `start`.
            start: what to take off every end.
            number: of the first document.
        """
        if number != self._next_document:
            self._runs.append(_Run(len(self._ends), "document", "", 0, number, 0))
        self._next_document = number + len(ends)
        shift = self.n_bytes - start
        self._ends += [end + shift for end in ends]
        self.n_bytes = self._ends[-1]

    def add_rows(self, offsets: Int64Array, name: str, source: int, numbers: Int64Array) -> None:
        """Note that the next bytes are whole rows of an input.

        Args:
            offsets: int64[n+1], where each begins, n ≥ 1.
            name, source: of the input, its number.
            numbers: int64[n], of the rows.
        """
        self._runs.append(_Run(len(self._ends), "row", name, source, numbers, 0))
        self._next_document = -1
        self._ends += (offsets[1:] + (self.n_bytes - offsets[0])).tolist()
        self.n_bytes = self._ends[-1]

    @property
    def n_ranges(self) -> int:
        """How many ranges there are."""
        return len(self._ends)

    @property
    def n_ranges_left(self) -> int:
        """How many more ranges it should get."""
        return MOST_RANGES - len(self._ends)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell of: no range, and nothing that was read for it."""
        return not self._ends and not self.n_disk_bytes

    @property
    def ranges(self) -> Int64Array:
        """int64[n, 2], first byte and end of each range."""
        ends = np.array(self._ends, dtype=np.int64)
        return np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1) if ends.size else ends.reshape(0, 2)

    @property
    def holds_documents(self) -> bool:
        """Whether each range is a row or an item of an iterable, or a part of one: no text file."""
        return not any(run.what == "text" for run in self._runs)

    @property
    def ends_document(self) -> npt.NDArray[np.bool_]:
        """bool[n], whether a document ends with each range; else it goes on in the next one.

        A row, an item of an iterable and a text file are one document each; an empty one is an empty range.
        """
        ends = np.ones(len(self._ends), dtype=np.bool_)
        ends[self._going_on] = False
        return ends

    @property
    def sources(self) -> Int64Array:
        """int64[n], number of the input that each range is of."""
        bounds = [*(run.first for run in self._runs), len(self._ends)]
        numbers = np.array([run.source for run in self._runs], dtype=np.int64)
        return np.repeat(numbers, [end - first for first, end in pairwise(bounds)])

    def _unit(self, range: int) -> tuple[_Run, int]:
        run = self._runs[bisect_right(self._runs, range, key=attrgetter("first")) - 1]
        if isinstance(run.units, int):
            return run, run.units + range - run.first
        return run, int(run.units[range - run.first])

    def label(self, range: int) -> tuple[str, int]:
        """Return the name of a range's input, row or document, and the bytes of that before it."""
        run, unit = self._unit(range)
        names = {
            "text": run.name,
            "row": f"{run.name}, row {unit + 1}",
            "document": f"{self._item_name} {unit}",
        }
        return names[run.what], run.offset

    def place(self, range: int) -> Place:
        """Return where a range begins."""
        run, unit = self._unit(range)
        return Place(run.source, unit, run.offset)

    def close(self) -> FilledRoom:
        """Put the padding behind the text; returns itself."""
        self.room.set_length(self.n_bytes)
        return self
