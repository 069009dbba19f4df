"""Runs: words in order, with their counts, in files; and the merging of several, block by block.

    NAME.bytes     uint8, all words one after the other
    NAME.lengths   int64, of each word
    NAME.counts    int64

Of each run the next words are in memory, its block. All words up to the least of the blocks' last
words can be added up: no run has any of them still to come.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array, offsets_from_lengths
from bpenb.counting.table import WordTable

__all__ = ["Run", "RunBlock", "StoredWords", "Words", "merge_blocks"]

Words: TypeAlias = tuple[ByteArray, Int64Array, CountArray]
_WORD = 16  # bytes that a word takes in a block beside its own


class StoredWords(Protocol):
    """Words on a disk, ascending by their bytes, and how a stretch of them is read; as of `Run`."""

    n_words: int

    def read_lengths(self, first: int, n: int) -> Int64Array:
        """Return the lengths of `n` words."""

    def read_counts(self, first: int, n: int) -> CountArray:
        """Return the counts of `n` words."""

    def read_bytes(self, first: int, n: int) -> ByteArray:
        """Return `n` bytes of words."""


class Run:
    """Words ascending by their bytes, with their counts, in three files.

    Args:
        stem: the files' path, but for the suffix.

    Attributes:
        n_words, n_bytes: in the run so far.

    Example:
        >>> run = Run(Path("0"))
        >>> run.append((np.frombuffer(b"ab", dtype=np.uint8), np.array([0, 1, 2]), np.array([3, 4])))
        >>> run.read()[2].tolist()
        [3, 4]
        >>> run.remove()
    """

    def __init__(self, stem: Path) -> None:
        self.bytes_path = stem.with_suffix(".bytes")
        self.lengths_path = stem.with_suffix(".lengths")
        self.counts_path = stem.with_suffix(".counts")
        self.n_words = self.n_bytes = 0

    def append(self, words: Words) -> None:
        """Write further words, all greater than those that are there."""
        word_bytes, word_offsets, word_counts = words
        lengths = np.diff(word_offsets)
        for path, array in (
            (self.bytes_path, word_bytes),
            (self.lengths_path, lengths),
            (self.counts_path, word_counts),
        ):
            with path.open("ab") as file:
                file.write(array.data)
        self.n_words += lengths.shape[0]
        self.n_bytes += word_bytes.shape[0]

    def read(self) -> Words:
        """Return all words: word_bytes, word_offsets, word_counts."""
        offsets = np.zeros(self.n_words + 1, dtype=np.int64)
        with self.lengths_path.open("rb") as file:
            file.readinto(offsets[1:].data)
        np.cumsum(offsets, out=offsets)
        word_bytes = np.fromfile(self.bytes_path, dtype=np.uint8)
        return word_bytes, offsets, np.fromfile(self.counts_path, dtype=np.int64)

    def read_lengths(self, first: int, n: int) -> Int64Array:
        """Return the lengths of `n` words, from number `first` on."""
        return np.fromfile(self.lengths_path, dtype=np.int64, count=n, offset=8 * first)

    def read_counts(self, first: int, n: int) -> CountArray:
        """Return the counts of `n` words, from number `first` on."""
        return np.fromfile(self.counts_path, dtype=np.int64, count=n, offset=8 * first)

    def read_bytes(self, first: int, n: int) -> ByteArray:
        """Return `n` bytes of words, from byte `first` on."""
        return np.fromfile(self.bytes_path, dtype=np.uint8, count=n, offset=first)

    def remove(self) -> None:
        """Remove the files."""
        for path in (self.bytes_path, self.lengths_path, self.counts_path):
            path.unlink(missing_ok=True)


class RunBlock:
    """The next words of a run, in memory.

    Args:
        run: it is read from its start to its end.
        block_bytes: memory to keep to, unless a single word is larger.
    """

    def __init__(self, run: StoredWords, block_bytes: int) -> None:
        self._run = run
        self._block_bytes = block_bytes
        self._next_word = self._next_byte = 0
        self._text: ByteArray = np.empty(0, dtype=np.uint8)
        self._offsets: Int64Array = np.zeros(1, dtype=np.int64)
        self._counts: CountArray = np.empty(0, dtype=np.int64)

    @property
    def has_more(self) -> bool:
        """Whether the run has words that are not in memory yet."""
        return self._next_word < self._run.n_words

    @property
    def is_done(self) -> bool:
        """Whether all words were taken."""
        return not self.has_more and not self._counts.shape[0]

    @property
    def last(self) -> bytes:
        """The last word in memory."""
        return self._word(self._counts.shape[0] - 1)

    def _word(self, w: int) -> bytes:
        return self._text[self._offsets[w] : self._offsets[w + 1]].tobytes()

    def top_up(self) -> None:
        """Read on if less than half of the block is left."""
        room = self._block_bytes - self._text.shape[0] - _WORD * self._counts.shape[0]
        if not self.has_more or (self._counts.shape[0] and 2 * room < self._block_bytes):
            return
        run, at = self._run, self._next_word
        most = min(max(1, room // (_WORD + 1)), run.n_words - at)
        lengths = run.read_lengths(at, most)
        n = max(1, int(np.searchsorted(np.cumsum(lengths + _WORD), room, side="right")))
        n_bytes = int(lengths[:n].sum())
        text = run.read_bytes(self._next_byte, n_bytes)
        counts = run.read_counts(at, n)
        self._text = np.concatenate([self._text, text])
        self._offsets = offsets_from_lengths(np.concatenate([np.diff(self._offsets), lengths[:n]]))
        self._counts = np.concatenate([self._counts, counts])
        self._next_word += n
        self._next_byte += n_bytes

    def take_through(self, bound: bytes | None) -> Words:
        """Take the words up to `bound`, itself included; None: all that are in memory."""
        n = self._counts.shape[0]
        if bound is not None:
            n = bisect_right(range(n), bound, key=self._word)
        end = self._offsets[n]
        taken = self._text[:end], self._offsets[: n + 1], self._counts[:n]
        self._text, self._offsets = self._text[end:], self._offsets[n:] - end
        self._counts = self._counts[n:]
        return taken


def merge_blocks(blocks: Sequence[RunBlock], table: WordTable) -> Iterator[Words]:
    """Yield the words of all runs together, ascending, in portions; each once, with the sum of its counts.

    Args:
        blocks: of the runs, at their start.
        table: adds up the words of a portion; what it holds is lost.

    Raises:
        CountsError: a count passes 2⁶³ − 1.
    """
    left = [block for block in blocks if not block.is_done]
    while left:
        for block in left:
            block.top_up()
        bound = min((block.last for block in left if block.has_more), default=None)
        table.clear()
        for block in left:
            table.add(*block.take_through(bound))
        yield table.to_arrays()
        left = [block for block in left if not block.is_done]
