"""Which partition a word belongs to: by a hash of its bytes, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, Int64Array, offsets_from_lengths
from bpenb._hashing import mixed
from bpenb.counting import WordCounts, Words

__all__ = ["partitions_of", "words_of_partition"]

_AT_ONCE = 1 << 18  # bytes of words that are hashed or copied together: each takes 40 bytes meanwhile


def partitions_of(counts: WordCounts, n_partitions: int) -> npt.NDArray[np.uint16]:
    """Return the number of each word's partition.

    The hash of a word is the sum of a number for each of its bytes, which is mixed from byte and place.

    Args:
        counts: words.
        n_partitions: at most 65,535.

    Example:
        >>> partitions_of(WordCounts.from_dict({"er": 1, "low": 2, "the": 3}), 4).tolist()
        [3, 0, 3]
    """
    found = np.empty(len(counts), dtype=np.uint16)
    for first, last in _stretches(counts.word_offsets):
        offsets = counts.word_offsets[first : last + 1]
        starts = offsets[:-1] - offsets[0]
        text = counts.word_bytes[offsets[0] : offsets[-1]].astype(np.uint64)
        places = np.arange(text.shape[0], dtype=np.uint64) - np.repeat(starts, np.diff(offsets)).astype(
            np.uint64
        )
        sums = np.add.reduceat(mixed(text | places << np.uint64(8)), starts)
        found[first:last] = mixed(sums) % np.uint64(n_partitions)
    return found


def words_of_partition(
    counts: WordCounts, partitions: npt.NDArray[np.uint16], number: int
) -> Iterator[Words]:
    """Yield the words of a partition, ascending, in portions.

    Args:
        counts: words.
        partitions: of each its partition.
        number: of the one that is wanted.
    """
    chosen = np.flatnonzero(partitions == number)
    lengths = np.diff(counts.word_offsets)[chosen]
    for first, last in _stretches(offsets_from_lengths(lengths)):
        some, offsets = chosen[first:last], offsets_from_lengths(lengths[first:last])
        word_bytes = _copied(counts.word_bytes, counts.word_offsets[some], offsets)
        yield word_bytes, offsets, counts.word_counts[some]


def _copied(text: ByteArray, starts: Int64Array, offsets: Int64Array) -> ByteArray:
    """Return ranges of a text, one after the other: their starts there, and their offsets here."""
    moved = np.repeat(starts - offsets[:-1], np.diff(offsets))
    copied: ByteArray = text[moved + np.arange(offsets[-1])]
    return copied


def _stretches(offsets: Int64Array) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of consecutive words with about `_AT_ONCE` bytes together, at least one."""
    first, n_words = 0, offsets.shape[0] - 1
    while first < n_words:
        fit = int(np.searchsorted(offsets, offsets[first] + _AT_ONCE, side="right")) - 1
        last = min(max(fit, first + 1), n_words)
        yield first, last
        first = last
