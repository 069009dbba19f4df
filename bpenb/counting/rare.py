"""Leaving out rare words: fewer to learn from, at a known price."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, Int64Array, offsets_from_lengths
from bpenb.errors import CountsError

if TYPE_CHECKING:
    from bpenb.counting.word_counts import WordCounts

__all__ = ["DroppedWords", "check_min_word_count", "drop_rare_words"]

_WORDS_AT_ONCE = 1 << 20


class DroppedWords(NamedTuple):
    """What was left out.

    Attributes:
        min_word_count: words of a lower count were.
        n_words: distinct words left out.
        n_pretokens: the sum of their counts.
        n_bytes: of text that they stood for.
        share: of the text, from 0 to 1.
    """

    min_word_count: int
    n_words: int = 0
    n_pretokens: int = 0
    n_bytes: int = 0
    share: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.n_words:,} words of a count below {self.min_word_count:,} were left out, "
            f"{100 * self.share:.3g} % of the text ({self.n_bytes:,} bytes)"
        )


def check_min_word_count(value: object) -> int:
    """Return the least count of a word, checked.

    Raises:
        CountsError: below 1.
        TypeError: no int.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"min_word_count must be an int, not {type(value).__name__}")
    if value < 1:
        raise CountsError(f"min_word_count is {value}; it must be at least 1, which keeps every word")
    return int(value)


def drop_rare_words(counts: WordCounts, min_word_count: int) -> tuple[WordCounts, DroppedWords]:
    """Return the counts without the words of a lower count, and what they were; 1 keeps all."""
    least = check_min_word_count(min_word_count)
    is_kept = counts.word_counts >= least
    if is_kept.all():
        return counts, DroppedWords(least)
    parts = [_kept_part(counts, is_kept, first) for first in range(0, len(counts), _WORDS_AT_ONCE)]
    kept = replace(
        counts,
        word_bytes=np.concatenate([word_bytes for word_bytes, _ in parts]),
        word_offsets=offsets_from_lengths(np.concatenate([lengths for _, lengths in parts])),
        word_counts=counts.word_counts[is_kept],
    )
    n_bytes = counts.n_bytes - kept.n_bytes
    n_pretokens = counts.n_pretokens - kept.n_pretokens
    return kept, DroppedWords(least, len(counts) - len(kept), n_pretokens, n_bytes, n_bytes / counts.n_bytes)


def _kept_part(
    counts: WordCounts, is_kept: npt.NDArray[np.bool_], first: int
) -> tuple[ByteArray, Int64Array]:
    """Return bytes and lengths of the words that are kept among some; all at once would take too much."""
    offsets = counts.word_offsets[first : first + _WORDS_AT_ONCE + 1]
    some, lengths = is_kept[first : first + _WORDS_AT_ONCE], np.diff(offsets)
    return counts.word_bytes[offsets[0] : offsets[-1]][np.repeat(some, lengths)], lengths[some]
