"""The definition of a training, in plain Python and NumPy: what the fast one is held against.

No index, no heap, no count that may be stale, and nothing shared with the merge loop: the order
of pairs is written once more here, as a key for Python's own comparison.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from bpenb._arrays import N_BYTES, ByteArray, CountArray, IdArray, Int64Array
from bpenb.counting import WordCounts

__all__ = [
    "Pair",
    "PairTally",
    "PrecedenceKey",
    "precedence_key",
    "replay_word",
    "sample_words",
    "token_spellings",
]

Pair: TypeAlias = tuple[int, int]
PrecedenceKey: TypeAlias = Callable[[Pair], tuple[object, object]]

_NO_TOKEN = -1  # between two words


def token_spellings(merges: IdArray, byte_order: ByteArray) -> list[bytes]:
    """Return the bytes of every learning id.

    Example:
        >>> merges = np.array([[116, 104], [256, 101]], dtype=np.int32)
        >>> token_spellings(merges, np.arange(256, dtype=np.uint8))[256:]
        [b'th', b'the']
    """
    tokens = [bytes([byte]) for byte in byte_order.tolist()]
    for left, right in merges.tolist():
        tokens.append(tokens[left] + tokens[right])
    return tokens


def precedence_key(ties: str, tokens: Sequence[bytes]) -> PrecedenceKey:
    """Return the tie rule as a key: of pairs with equal counts, the one with the greatest key merges.

    Args:
        ties: `cs336` (the greater pair of bytes), else the smaller pair of ids.
        tokens: the bytes of every learning id.

    Example:
        >>> tokens = [b"a", b"b", b"ab"]
        >>> max([(0, 1), (2, 0)], key=precedence_key("cs336", tokens))
        (2, 0)
        >>> max([(0, 1), (2, 0)], key=precedence_key("rustbpe", tokens))
        (0, 1)
    """
    if ties == "cs336":
        return lambda pair: (tokens[pair[0]], tokens[pair[1]])
    return lambda pair: (-pair[0], -pair[1])


def replay_word(row: Sequence[int], rank_of: Mapping[Pair, int]) -> list[int]:
    """Apply merges to one word, strictly by rank, each from left to right; quadratic.

    Args:
        row: the word as learning ids of its bytes.
        rank_of: rank of each merge.

    Example:
        >>> replay_word([97, 97, 97], {(97, 97): 0, (256, 97): 1})
        [257]
    """
    tokens = list(row)
    done = -1
    while ranks := [r for p in itertools.pairwise(tokens) if (r := rank_of.get(p, -1)) > done]:
        done = min(ranks)
        merged: list[int] = []
        for token in tokens:  # the token before takes this one in, unless it was just made itself
            if merged and rank_of.get((merged[-1], token)) == done:
                merged[-1] = N_BYTES + done
            else:
                merged.append(token)
        tokens = merged
    return tokens


def sample_words(counts: WordCounts, n_bytes: int, seed: int, longest: int | None = None) -> Int64Array:
    """Return the ids of the most frequent words and of a random sample of the others, ascending.

    Args:
        counts: the words.
        n_bytes: of all words together at most; half for the most frequent, half for the others. If
            not all fit, a word that would fill a half alone is left out.
        seed: of the sample.
        longest: words of more bytes are left out; None for none.

    Returns:
        int64[n] word ids; all of them if they fit.

    Example:
        >>> counts = WordCounts.from_dict({"aa": 1, "bb": 9, "cc": 5})
        >>> sample_words(counts, 4, seed=0).tolist()[-1], sample_words(counts, 99, seed=0).tolist()
        (2, [0, 1, 2])
    """
    lengths = np.diff(counts.word_offsets)
    words = np.argsort(-counts.word_counts, kind="stable")
    if longest is not None:
        words = words[lengths[words] <= longest]
    if int(lengths[words].sum()) <= n_bytes:
        return np.sort(words)
    words = words[lengths[words] <= n_bytes // 2]
    n_frequent = int(np.searchsorted(np.cumsum(lengths[words]), n_bytes // 2, side="right"))
    others = np.random.default_rng(seed).permutation(words[n_frequent:])
    n_others = int(np.searchsorted(np.cumsum(lengths[others]), n_bytes - n_bytes // 2, side="right"))
    return np.sort(np.concatenate([words[:n_frequent], others[:n_others]]))


class PairTally:
    """The counts of all pairs of some words, kept exact from merge to merge.

        tokens   -1 l o w -1 l o w e r -1       all words in one row, and what lies between them
        weights   5 5 5 5  2 2 2 2 2 2  …       the count of the word

    A merge reads the whole row. Counts are in a square table, so there may be some hundred merges.

    Args:
        counts: the words.
        words: int64[n], ids of those to take.
        byte_order: uint8[256], the byte of each of the learning ids 0…255.
        n_merges: the most merges to come.

    Attributes:
        pair_counts: int64[n_tokens, n_tokens], by left and right learning id.
    """

    def __init__(self, counts: WordCounts, words: Int64Array, byte_order: ByteArray, n_merges: int) -> None:
        lengths = np.diff(counts.word_offsets)[words]
        id_of_byte = np.empty(N_BYTES, dtype=np.int32)
        id_of_byte[byte_order] = np.arange(N_BYTES, dtype=np.int32)
        ends = np.cumsum(lengths + 1)  # in `tokens`, where each word is followed by a gap
        starts = ends - lengths
        of_word = np.repeat(np.arange(len(words)), lengths)
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        self._tokens = np.full(int(lengths.sum()) + len(words) + 1, _NO_TOKEN, dtype=np.int32)
        taken = counts.word_bytes[counts.word_offsets[:-1][words][of_word] + within]
        self._tokens[starts[of_word] + within] = id_of_byte[taken]
        self._weights: CountArray = np.zeros(self._tokens.shape[0], dtype=np.int64)
        self._weights[starts[of_word] + within] = counts.word_counts[words][of_word]
        n_tokens = N_BYTES + n_merges
        self.pair_counts = np.zeros((n_tokens, n_tokens), dtype=np.int64)
        self._count(np.arange(self._tokens.shape[0] - 1), 1)

    def _count(self, places: Int64Array, sign: int) -> None:
        """Add (or take away) the pairs that start at these places."""
        left, right = self._tokens[places], self._tokens[places + 1]
        pairs = (left != _NO_TOKEN) & (right != _NO_TOKEN)
        np.add.at(self.pair_counts, (left[pairs], right[pairs]), sign * self._weights[places[pairs]])

    def merge(self, left: int, right: int, made: int) -> None:
        """Replace a pair by `made` in every word, from left to right and without overlap."""
        hits = np.flatnonzero((self._tokens[:-1] == left) & (self._tokens[1:] == right))
        if left == right:  # in a run of hits side by side every second one is taken
            opens = np.diff(hits, prepend=-2) != 1
            first_of_run = np.maximum.accumulate(np.where(opens, np.arange(len(hits)), 0))
            hits = hits[(np.arange(len(hits)) - first_of_run) % 2 == 0]
        self._count(np.unique(np.concatenate([hits - 1, hits, hits + 1])), -1)
        self._tokens[hits] = made
        self._tokens = np.delete(self._tokens, hits + 1)
        self._weights = np.delete(self._weights, hits + 1)
        hits = hits - np.arange(len(hits))
        self._count(np.unique(np.concatenate([hits - 1, hits])), 1)
