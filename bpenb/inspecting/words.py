"""The words of texts, as tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bpenb._arrays import Int64Array, ranges_to_bytes
from bpenb.counting import WordCounts
from bpenb.encoding import Tokenizer
from bpenb.pretokenize import WHITESPACE, class_table

__all__ = ["count_spaced_words", "largest", "tokens_of_words"]

_SLICE_BYTES = 1 << 20  # of words that are encoded at a time


def tokens_of_words(tokenizer: Tokenizer, counts: WordCounts) -> Int64Array:
    """Return how many tokens each word has.

    If the counts were made by the tokenizer's own pattern, a word is one pretoken. Else each word is a
    text of its own, in which special tokens are text.

    Returns:
        int64[n_words].

    Raises:
        EncodingError: a byte that the vocab lacks.
    """
    n_tokens = np.zeros(len(counts), dtype=np.int64)
    is_own = counts.pattern.regex == tokenizer.pattern.regex
    for first, last in _slices(counts.word_offsets):
        offsets = counts.word_offsets[first : last + 1] - counts.word_offsets[first]
        word_bytes = counts.word_bytes[counts.word_offsets[first] : counts.word_offsets[last]]
        if is_own:
            _, ends = tokenizer.encoder.encode_words(word_bytes, offsets)
        else:
            texts = [word.decode() for word in ranges_to_bytes(word_bytes, offsets)]
            _, ends = tokenizer.encode_batch_ragged(texts, allowed_special=(), disallowed_special=())
        n_tokens[first:last] = np.diff(ends)
    return n_tokens


def _slices(word_offsets: Int64Array) -> Iterator[tuple[int, int]]:
    """Yield the first word and the end of parts of about `_SLICE_BYTES`; a longer word is a part."""
    n_words = word_offsets.shape[0] - 1
    first = 0
    while first < n_words:
        last = int(np.searchsorted(word_offsets, word_offsets[first] + _SLICE_BYTES, side="right")) - 1
        last = min(max(last, first + 1), n_words)
        yield first, last
        first = last


def count_spaced_words(counts: WordCounts) -> int:
    """Return how many pretokens of the pattern `whitespace` are words, not the whitespace between them.

    Example:
        >>> count_spaced_words(WordCounts.from_dict({"low": 2, " ": 3, "\\u3000": 1}, pattern="whitespace"))
        2
    """
    starts = counts.word_offsets[:-1]
    heads = np.zeros(len(counts), dtype=np.int64)
    is_space = np.zeros(len(counts), dtype=np.bool_)
    padded = np.concatenate([counts.word_bytes, np.zeros(2, dtype=np.uint8)])
    spaces = [chr(code).encode() for code in np.flatnonzero(class_table() & WHITESPACE).tolist()]
    for n_bytes in (1, 2, 3):  # of the first character
        heads = heads << 8 | padded[starts + n_bytes - 1]
        of_this_length = [int.from_bytes(space) for space in spaces if len(space) == n_bytes]
        is_space |= np.isin(heads, of_this_length)
    return int(counts.word_counts[~is_space].sum())


def largest(values: Int64Array, n: int) -> list[int]:
    """Return where the `n` largest positive values stand, largest first; of equal ones, the first first.

    Example:
        >>> largest(np.array([3, 0, 5, 3, 1]), 3)
        [2, 0, 3]
    """
    order = np.argsort(-values, kind="stable")[:n]
    return order[values[order] > 0].tolist()  # type: ignore[no-any-return]
