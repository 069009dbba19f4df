"""Buffers that are not UTF-8: where, or U+FFFD in its place. Slow, and seldom done."""

from __future__ import annotations

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.corpus import FilledRoom
from bpenb.errors import InvalidUtf8Error
from bpenb.pretokenize.compiled_engine import ScanBuffer, first_invalid

__all__ = ["buffer_of", "find_invalid_utf8", "replace_invalid"]


def find_invalid_utf8(buffer: ScanBuffer, filled: FilledRoom) -> InvalidUtf8Error:
    """Return the error for a buffer whose text is not UTF-8: its input, and the byte there."""
    for number, (start, end) in enumerate(filled.ranges.tolist()):
        at = first_invalid(buffer.text[start:end].tobytes())
        if at >= 0:
            source, base = filled.label(number)
            return InvalidUtf8Error(source, base + at)
    raise AssertionError("the text is valid UTF-8")


def replace_invalid(buffer: ScanBuffer, segments: Int64Array) -> tuple[ScanBuffer, Int64Array]:
    """Return stretches with U+FFFD where they are not UTF-8, in a buffer of their own.

    Args:
        buffer: with text.
        segments: int64[n, ≥ 2], first byte and end of each; further columns stay as they are.
    """
    texts = [
        buffer.text[a:b].tobytes().decode(errors="replace").encode() for a, b in segments[:, :2].tolist()
    ]
    return buffer_of(texts, segments)


def buffer_of(texts: list[bytes], segments: Int64Array) -> tuple[ScanBuffer, Int64Array]:
    """Return other texts for the stretches of a buffer, in a buffer of their own.

    Args:
        texts: of each stretch.
        segments: int64[n, ≥ 2], first byte and end of each; further columns stay as they are.
    """
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    buffer = ScanBuffer(int(ends[-1]) if texts else 0)
    buffer.fill(b"".join(texts))
    moved = segments.copy()
    moved[1:, 0], moved[:, 1] = ends[:-1], ends
    moved[:1, 0] = 0
    return buffer, moved
