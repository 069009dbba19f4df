"""BPE training, slow and readable: count every adjacent pair, merge the best, start over."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping

Token = tuple[int, ...]  # learning ids are expanded to what they stand for


def train(
    word_counts: Mapping[bytes, int],
    n_merges: int,
    *,
    ties: str = "cs336",
    byte_order: bytes = bytes(range(256)),
    min_frequency: int = 1,
    max_token_length: int | None = None,
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the merges in learning ids, and their counts."""
    words = {word: [byte_order.index(b) for b in word] for word in word_counts}
    token_bytes = [bytes([b]) for b in byte_order]
    merges: list[tuple[int, int]] = []
    counts: list[int] = []
    while len(merges) < n_merges:
        pairs = count_pairs(words, word_counts)
        if max_token_length is not None:
            pairs = {
                (a, b): n for (a, b), n in pairs.items()
                if len(token_bytes[a]) + len(token_bytes[b]) <= max_token_length
            }  # fmt: skip
        if not pairs:
            break
        key = rank_key(pairs, ties, token_bytes)
        best = max(pairs, key=key)
        if pairs[best] < max(1, min_frequency):
            break
        for word, row in words.items():
            words[word] = merge(row, best, len(token_bytes))
        token_bytes.append(token_bytes[best[0]] + token_bytes[best[1]])
        merges.append(best)
        counts.append(pairs[best])
    return merges, counts


def rank_key(
    pairs: Mapping[tuple[int, int], int], ties: str, token_bytes: list[bytes]
) -> Callable[[tuple[int, int]], tuple[object, ...]]:
    """The total order: what is greatest by this key merges first."""
    if ties == "cs336":
        return lambda pair: (pairs[pair], token_bytes[pair[0]], token_bytes[pair[1]])
    return lambda pair: (pairs[pair], -pair[0], -pair[1])


def count_pairs(
    words: Mapping[bytes, list[int]], word_counts: Mapping[bytes, int]
) -> Counter[tuple[int, int]]:
    """Count every adjacent position: `aaaa` holds (a, a) three times."""
    pairs: Counter[tuple[int, int]] = Counter()
    for word, row in words.items():
        for pair in itertools.pairwise(row):
            pairs[pair] += word_counts[word]
    return pairs


def merge(row: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Replace `pair` by `new` from left to right, without overlap."""
    merged: list[int] = []
    i = 0
    while i < len(row):
        if tuple(row[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(row[i])
            i += 1
    return merged
