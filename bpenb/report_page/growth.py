"""Bytes per token with fewer merges: what each smaller vocab would have made of the same words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import N_BYTES, Int64Array
from bpenb.counting import WordCounts
from bpenb.encoding import Tokenizer
from bpenb.inspecting.words import tokens_of_words
from bpenb.progress import Reporter
from bpenb.training import replay_merges

__all__ = ["Growth", "measure_growth"]

_BYTES_BY_VALUE = np.arange(N_BYTES, dtype=np.uint8)


class Growth(NamedTuple):
    """A text with every number of merges, from none to all.

    Attributes:
        n_bytes: of its words: special tokens are left out.
        vocab_sizes: int64[n_merges + 1], tokens in the vocab, special ones included.
        n_tokens: int64[n_merges + 1], of the words.
    """

    n_bytes: int
    vocab_sizes: Int64Array
    n_tokens: Int64Array

    def bytes_per_token(self, n_merges: int) -> float:
        """Return the figure after some merges."""
        return self.n_bytes / int(self.n_tokens[n_merges])

    def doublings(self) -> list[int]:
        """Return numbers of merges: none, all, and where the vocab reaches powers of two between them."""
        sizes = self.vocab_sizes
        powers = [1 << bits for bits in range(int(sizes[0]).bit_length(), int(sizes[-1]).bit_length())]
        reached = np.searchsorted(sizes, powers).tolist()
        return sorted({0, *(n for n in reached if n < len(sizes)), len(sizes) - 1})


def measure_growth(tokenizer: Tokenizer, counts: WordCounts, reporter: Reporter) -> Growth | str:
    """Return the tokens of words with the first merges of a tokenizer, for every number of them.

    A smaller vocab has the first merges of a larger one, so one replay tells all of them. It holds only
    for a tokenizer that does nothing but merge; this is checked on the words themselves.

    Args:
        tokenizer: any.
        counts: the words of a text by its pattern, at least one.
        reporter: told of the phase `replay`.

    Returns:
        The figures; or why there are none.

    Example:
        >>> vocab = {i: bytes([i]) for i in range(256)} | {256: b"lo", 257: b"low"}
        >>> tokenizer = Tokenizer(vocab, [(b"l", b"o"), (b"lo", b"w")])
        >>> growth = measure_growth(tokenizer, WordCounts.from_dict({"low": 2, "lo": 1}), Reporter(None))
        >>> growth.vocab_sizes.tolist(), growth.n_tokens.tolist()
        ([256, 257, 258], [8, 5, 3])
    """
    model = tokenizer.model
    if model.traits.normalizer is not None:
        return (
            f"The tokenizer brings texts into {model.traits.normalizer} first, so their words are not those "
            "that it merges."
        )
    if not len(counts):
        return "The texts are special tokens alone: there is no word to merge."
    replay = replay_merges(counts, model.learning_merges(_BYTES_BY_VALUE), _BYTES_BY_VALUE, reporter)
    removed = np.concatenate([[0], np.cumsum(replay.tokens_removed)])
    n_tokens = counts.n_bytes - removed
    if int(n_tokens[-1]) != int(counts.word_counts @ tokens_of_words(tokenizer, counts)):
        return (
            "The tokenizer takes some words whole that its merges do not make, so its first merges do not "
            "tell what a smaller vocab would do."
        )
    # Of merges that make the same token, the first brings it into the vocab.
    is_new = np.zeros(model.n_merges, dtype=np.int64)
    is_new[np.unique(model.merge_ids, return_index=True)[1]] = 1
    n_after = np.concatenate([[0], np.cumsum(is_new)])
    return Growth(counts.n_bytes, len(model.vocab()) - n_after[-1] + n_after, n_tokens)
