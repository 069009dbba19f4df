"""Buffers with text: what a buffer must be able to do, and which ranges of which inputs it holds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Protocol, TypeAlias

import numpy as np

from bpenb._arrays import ByteArray, Int64Array

__all__ = ["FilledRoom", "TakeRoom", "TextRoom"]


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
        # The first of one or several ranges, and where they are from: a file, or documents in a row.
        self._labels: list[tuple[int, str | int, int]] = []
        self._next_document = -1  # that would need no label of its own

    def add(self, n_bytes: int, source: str | int, base: int) -> None:
        """Note that the next bytes are text from `base` on of a file (its name) or document (its number)."""
        self._labels.append((len(self._ends), source, base))
        self._next_document = -1
        self.n_bytes += n_bytes
        self._ends.append(self.n_bytes)

    def add_document(self, n_bytes: int, number: int) -> None:
        """Note that the next bytes are a whole document."""
        if number != self._next_document:
            self._labels.append((len(self._ends), number, 0))
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
            self._labels.append((len(self._ends), number, 0))
        self._next_document = number + len(ends)
        shift = self.n_bytes - start
        self._ends += [end + shift for end in ends]
        self.n_bytes = self._ends[-1]

    @property
    def ranges(self) -> Int64Array:
        """int64[n, 2], first byte and end of each range."""
        ends = np.array(self._ends, dtype=np.int64)
        return np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1) if ends.size else ends.reshape(0, 2)

    def label(self, range: int) -> tuple[str, int]:
        """Return the name of a range's input, and the bytes of that input before it."""
        first, source, base = self._labels[bisect_right(self._labels, range, key=itemgetter(0)) - 1]
        return (source if isinstance(source, str) else f"document {source + range - first}"), base

    def close(self) -> FilledRoom:
        """Put the padding behind the text; returns itself."""
        self.room.set_length(self.n_bytes)
        return self
