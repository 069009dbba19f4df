"""The one place that chooses who marks where pretokens start, in a buffer."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.errors import InvalidUtf8Error
from bpenb.patterns import SplitPattern
from bpenb.pretokenize import START, CompiledEngine, RegexEngine, ScanBuffer, is_known

__all__ = ["Engine", "make_engine"]


class Engine(Protocol):
    """Who marks the starts of pretokens."""

    def mark(self, buffer: ScanBuffer, segments: Int64Array) -> bool:
        """Mark the first byte of every pretoken of the plain stretches in the START plane.

        Args:
            buffer: with text.
            segments: int64[m, ≥ 2], first byte and end of each stretch; special tokens among them do
                no harm.

        Returns:
            False if the text is not valid UTF-8.
        """
        ...


class _RegexMarker:
    """Marks what the `regex` package finds."""

    def __init__(self, pattern: SplitPattern) -> None:
        self._engine = RegexEngine(pattern, ())

    def mark(self, buffer: ScanBuffer, segments: Int64Array) -> bool:
        """Mark the first byte of every pretoken; see `Engine`."""
        is_start = np.zeros(buffer.planes.shape[1] * 64, dtype=np.bool_)
        for start, end in segments[:, :2].tolist():
            try:
                ends = self._engine.pretoken_ends(buffer.text[start:end].tobytes())
            except InvalidUtf8Error:
                return False
            is_start[start] = True
            is_start[ends[:-1] + start] = True
        buffer.planes[START] = np.packbits(is_start, bitorder="little").view("<u8")
        return True


def make_engine(pattern: SplitPattern) -> Engine:
    """Return the engine for a split pattern, compiled where it is known; it knows no special tokens."""
    return CompiledEngine(pattern) if is_known(pattern) else _RegexMarker(pattern)
