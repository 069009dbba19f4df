"""The compiled engine: the known patterns, exact, at memory speed.

bytes → segments (stage 0) → bit planes, UTF-8 checked (stage 1) → starts of pretokens (stage 2)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from bpenb._arrays import ByteArray, Int64Array
from bpenb._jit import is_compiled, numbers_may_wrap
from bpenb.errors import InvalidUtf8Error, PatternError
from bpenb.patterns import PATTERNS, SplitPattern
from bpenb.pretokenize.classes import UNICODE_VERSION, class_table
from bpenb.pretokenize.planes import N_PLANES, PADDING, START, Planes, fill_planes
from bpenb.pretokenize.scan_cl100k import MARKS_ARE_LETTERS, MARKS_ARE_OTHER, scan_cl100k, split_numbers
from bpenb.pretokenize.scan_masks import (
    ASCII_FOLD,
    FOLD,
    NO_FOLD,
    scan_gpt2,
    scan_whitespace,
    split_contractions,
)
from bpenb.pretokenize.scan_o200k import join_contractions, split_cases, walk_hard_places
from bpenb.pretokenize.segments import SegmentFinder, find_segments, set_breaks
from bpenb.pretokenize.starts import list_ends

__all__ = ["CompiledEngine", "ScanBuffer", "first_invalid", "is_known"]

_SHORT_TEXT = 1 << 16  # bytes; making a buffer costs more than scanning such a text

Scan: TypeAlias = Callable[["ScanBuffer", Int64Array], None]


class ScanBuffer:
    """A reusable buffer: room for text, and its bit planes.

    Args:
        capacity: bytes of text that it holds.

    Attributes:
        text: uint8[capacity + PADDING].
        planes: uint64[N_PLANES, …], one bit per byte.
        n_bytes: bytes of text in use; zeros stand behind them.
    """

    def __init__(self, capacity: int) -> None:
        self.text: ByteArray = np.zeros(capacity + PADDING, dtype=np.uint8)
        self.planes: Planes = np.zeros((N_PLANES, capacity // 64 + 3), dtype=np.uint64)
        self.n_bytes = 0

    @staticmethod
    def nbytes_for(capacity: int) -> int:
        """Return the memory in bytes that a buffer takes."""
        return capacity + PADDING + 8 * N_PLANES * (capacity // 64 + 3)

    @property
    def capacity(self) -> int:
        """Bytes of text that there is room for."""
        return int(self.text.shape[0]) - PADDING

    @property
    def n_blocks(self) -> int:
        """Blocks of 64 bytes that the text and the byte behind it take."""
        return self.n_bytes // 64 + 1

    def grow(self, capacity: int) -> None:
        """Make room for more text, keeping what is there."""
        if capacity > self.capacity:
            text = np.zeros(capacity + PADDING, dtype=np.uint8)
            text[: self.n_bytes] = self.text[: self.n_bytes]
            self.text, self.planes = text, np.zeros((N_PLANES, capacity // 64 + 3), dtype=np.uint64)

    def set_length(self, n_bytes: int) -> None:
        """Say how much text there is, and put the zeros behind it."""
        self.n_bytes = n_bytes
        self.text[n_bytes : n_bytes + PADDING] = 0

    def fill(self, data: bytes) -> None:
        """Take a text."""
        self.n_bytes = 0
        self.grow(len(data))
        self.text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.set_length(len(data))


def _whitespace(buffer: ScanBuffer, segments: Int64Array) -> None:
    scan_whitespace(buffer.planes, buffer.n_blocks)


def _gpt2(buffer: ScanBuffer, segments: Int64Array) -> None:
    scan_gpt2(buffer.planes, buffer.n_blocks)
    split_contractions(buffer.text, buffer.planes, buffer.n_blocks, NO_FOLD)


def _cl100k(longest_number: int, fold: int = FOLD) -> Scan:
    def scan(buffer: ScanBuffer, segments: Int64Array) -> None:
        scan_cl100k(buffer.planes, buffer.n_blocks, MARKS_ARE_OTHER)
        split_numbers(buffer.planes, buffer.n_blocks, longest_number)
        split_contractions(buffer.text, buffer.planes, buffer.n_blocks, fold)

    return scan


def _o200k(fold: int = FOLD) -> Scan:
    def scan(buffer: ScanBuffer, segments: Int64Array) -> None:
        scan_cl100k(buffer.planes, buffer.n_blocks, MARKS_ARE_LETTERS)
        split_numbers(buffer.planes, buffer.n_blocks, 3)
        split_cases(buffer.planes, buffer.n_blocks)
        join_contractions(buffer.text, buffer.planes, buffer.n_blocks, fold)
        walk_hard_places(buffer.text, buffer.planes, segments, fold)

    return scan


_SCANS: dict[str, Scan] = {
    "gpt2": _gpt2,
    "cl100k": _cl100k(3),
    "llama3": _cl100k(3),
    "qwen2": _cl100k(1),
    "nanochat": _cl100k(2),
    "o200k": _o200k(),
    "whitespace": _whitespace,
}
_ASCII_SCANS: dict[str, Scan] = {
    "cl100k": _cl100k(3, ASCII_FOLD),
    "llama3": _cl100k(3, ASCII_FOLD),
    "qwen2": _cl100k(1, ASCII_FOLD),
    "nanochat": _cl100k(2, ASCII_FOLD),
    "o200k": _o200k(ASCII_FOLD),
}


def is_known(pattern: SplitPattern) -> bool:
    """Tell whether the compiled engine runs a pattern."""
    return pattern.is_ascii_case or (pattern.name in _SCANS and PATTERNS[pattern.name] == pattern.regex)


class CompiledEngine:
    """Marks where pretokens start, for one of the known patterns and any special tokens.

    Args:
        pattern: a known split pattern.
        special_tokens: cut out before the pattern sees the text.

    Raises:
        PatternError: the pattern is no known one.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> engine = CompiledEngine(resolve_pattern("gpt2"))
        >>> engine.pretoken_ends(b"it's here").tolist()
        [2, 4, 9]
    """

    name = "compiled"
    unicode_version = UNICODE_VERSION

    def __init__(self, pattern: SplitPattern, special_tokens: tuple[str, ...] = ()) -> None:
        if not is_known(pattern):
            raise PatternError(
                f"there is no compiled engine for the pattern {pattern}; known: {', '.join(_SCANS)}"
            )
        assert pattern.name is not None
        self.pattern_name = pattern.name
        self._scan = (_ASCII_SCANS if pattern.is_ascii_case else _SCANS)[pattern.name]
        self._finder = SegmentFinder(special_tokens)
        self._classes = class_table()
        self._kept = threading.local()

    @staticmethod
    def kernels_compiled() -> bool:
        """Tell whether every kernel of the engine is on disk."""
        return is_compiled(
            find_segments, fill_planes, set_breaks, scan_gpt2, split_contractions, scan_whitespace,
            scan_cl100k, split_numbers, split_cases, join_contractions, walk_hard_places,
        )  # fmt: skip

    def find_segments(self, buffer: ScanBuffer, ranges: Int64Array) -> Int64Array:
        """Return the plain stretches between special tokens.

        Args:
            buffer: with text.
            ranges: int64[n, 2], first byte and end of each document in it.

        Returns:
            int64[m, 2], first byte and end of each stretch.
        """
        return self._finder.find(buffer.text, ranges)

    def mark(self, buffer: ScanBuffer, segments: Int64Array) -> bool:
        """Mark the first byte of every pretoken of `segments` in the START plane of the buffer.

        Args:
            buffer: with text.
            segments: int64[m, ≥ 2], stretches of plain text; special tokens among them do no harm.

        Returns:
            False if the text is not valid UTF-8; nothing is marked then.
        """
        if fill_planes(buffer.text, buffer.n_bytes, self._classes, buffer.planes) >= 0:
            return False
        if set_breaks(buffer.planes, buffer.n_blocks, segments) >= 0:
            return False
        with numbers_may_wrap():
            self._scan(buffer, segments)
        return True

    def pretoken_ends(self, text: bytes) -> Int64Array:
        """Return the ends of the pretokens of a plain text, which holds no special token.

        Args:
            text: valid UTF-8.

        Returns:
            int64[n_pretokens], ascending byte offsets; the last is `len(text)`.

        Raises:
            InvalidUtf8Error: bytes that are not UTF-8.
        """
        if not text:
            return np.empty(0, dtype=np.int64)
        buffer = self._buffer_for(len(text))
        buffer.fill(text)
        if not self.mark(buffer, np.array([[0, len(text)]], dtype=np.int64)):
            raise InvalidUtf8Error("text", first_invalid(text))
        return list_ends(buffer.planes[START], len(text))

    def _buffer_for(self, n_bytes: int) -> ScanBuffer:
        """Return this thread's buffer for short texts, or a new one for a long one."""
        if n_bytes > _SHORT_TEXT:
            return ScanBuffer(n_bytes)
        kept: ScanBuffer | None = getattr(self._kept, "buffer", None)
        if kept is None:
            kept = self._kept.buffer = ScanBuffer(_SHORT_TEXT)
        return kept


def first_invalid(data: bytes) -> int:
    """Return the offset of the first byte that is not UTF-8, or −1."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return -1
