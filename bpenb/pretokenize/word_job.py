"""What a worker does: count the words of a few texts, and return them as arrays.

Nothing here imports Numba, so a worker starts fast and compiles nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array, offsets_from_lengths
from bpenb.corpus import FileRange, TextBlock, read_range
from bpenb.patterns import SplitPattern
from bpenb.pretokenize.regex_engine import RegexEngine, Utf8Errors

__all__ = ["DocumentBatch", "RangeBatch", "TextTask", "WordArrays", "WordCountJob"]


class RangeBatch(NamedTuple):
    """A task: ranges of files."""

    ranges: tuple[FileRange | TextBlock, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of text."""
        return sum(range.n_bytes for range in self.ranges)

    @property
    def n_disk_bytes(self) -> int:
        """Bytes of the inputs on disk that it stands for."""
        return sum(range.n_disk_bytes for range in self.ranges)

    def __str__(self) -> str:
        first = self.ranges[0]
        more = f" and {len(self.ranges) - 1} more" if len(self.ranges) > 1 else ""
        return f"{first.source} (bytes {first.start} to {first.start + first.n_bytes}){more}"

    def texts(self) -> Iterator[tuple[bytes, str, int]]:
        """Yield each text with the name of its input and its offset there, reading it now."""
        for range in self.ranges:
            yield read_range(range), range.source, range.start


class DocumentBatch(NamedTuple):
    """A task: whole documents; the first is number `first_number` of the user's iterable."""

    first_number: int
    documents: list[bytes]

    @property
    def n_bytes(self) -> int:
        """Bytes of text."""
        return sum(map(len, self.documents))

    @property
    def n_disk_bytes(self) -> int:
        """As `n_bytes`: documents are on no disk."""
        return self.n_bytes

    def __str__(self) -> str:
        last = self.first_number + len(self.documents) - 1
        return f"document {last}" if last == self.first_number else f"documents {self.first_number} to {last}"

    def texts(self) -> Iterator[tuple[bytes, str, int]]:
        """Yield each document with its name and offset 0."""
        for number, document in enumerate(self.documents, self.first_number):
            yield document, f"document {number}", 0


TextTask: TypeAlias = RangeBatch | DocumentBatch


class WordArrays(NamedTuple):
    """Distinct words in no order: uint8[n_bytes], int64[n_words+1], int64[n_words]; and seconds by stage."""

    word_bytes: ByteArray
    word_offsets: Int64Array
    word_counts: CountArray
    stage_seconds: dict[str, float]


@dataclass(frozen=True)
class WordCountJob:
    """Counts the words of a task; sent to each worker once, called there with task after task.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> job = WordCountJob(resolve_pattern("gpt2"), ("<s>",), "strict")
        >>> words = job(DocumentBatch(0, [b"hi hi", b"hi<s>"]))
        >>> words.word_bytes.tobytes(), words.word_offsets.tolist(), words.word_counts.tolist()
        (b'hi hi', [0, 2, 5], [2, 1])
    """

    pattern: SplitPattern
    special_tokens: tuple[str, ...]
    errors: Utf8Errors

    @cached_property
    def engine(self) -> RegexEngine:
        """The engine, built where it is used: a compiled pattern is not sent to a worker."""
        return RegexEngine(self.pattern, self.special_tokens, self.errors)

    def __call__(self, task: TextTask) -> WordArrays:
        """Count the words of a task."""
        counter: Counter[str] = Counter()
        started, counting = time.perf_counter(), 0.0
        for data, source, base in task.texts():
            read = time.perf_counter()
            self.engine.count(data, source, base, counter)
            counting += time.perf_counter() - read
        reading = time.perf_counter() - started - counting
        return _to_arrays(counter, {"read": reading, "scan": counting})


def _to_arrays(counter: Counter[str], stage_seconds: dict[str, float]) -> WordArrays:
    words = list(map(str.encode, counter))
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return WordArrays(
        np.frombuffer(b"".join(words), dtype=np.uint8),
        offsets_from_lengths(lengths),
        np.fromiter(counter.values(), dtype=np.int64, count=len(words)),
        stage_seconds,
    )
