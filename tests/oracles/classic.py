"""BPE on characters with an end-of-word mark, slow and readable; tokens are strings, or None if unknown."""

from __future__ import annotations

import itertools
import re
from collections import Counter

Word = list[str | None]


def words_of(text: str) -> list[str]:
    return [word for word in re.split("[ \r\n]", text) if word]


def spell(word: str, known: set[str], mark: str = "</w>") -> Word:
    """The characters of a word, the last one with the mark."""
    spelled = [*word[:-1], word[-1] + mark]
    return [token if c in known else None for c, token in zip(word, spelled, strict=True)]


def learn(
    text: str, n_merges: int, *, min_frequency: int = 2, min_character_count: int = 1, mark: str = "</w>"
) -> list[tuple[str, str]]:
    """Count all pairs, merge the most frequent and then greatest one, start over."""
    characters = Counter("".join(words_of(text)))
    known = {c for c, n in characters.items() if n >= min_character_count}
    rows = {w: spell(w, known, mark) for w in words_of(text) if not {mark, "<unk>"} & _within(w, mark)}
    counts = Counter(words_of(text))
    merges: list[tuple[str, str]] = []
    while len(merges) < n_merges:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, row in rows.items():
            for left, right in itertools.pairwise(row):
                if left is not None and right is not None:
                    pairs[left, right] += counts[word]
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < max(1, min_frequency):
            break
        rows = {word: merge(row, best) for word, row in rows.items()}
        merges.append(best)
    return merges


def _within(word: str, mark: str) -> set[str]:
    return {string for string in (mark, "<unk>") if string in word[:-1]}


def merge(row: Word, pair: tuple[str, str]) -> Word:
    """Replace a pair from left to right, without overlap."""
    merged: Word = []
    i = 0
    while i < len(row):
        if tuple(row[i : i + 2]) == pair:
            merged.append(pair[0] + pair[1])
            i += 2
        else:
            merged.append(row[i])
            i += 1
    return merged


def encode(text: str, merges: list[tuple[str, str]], known: set[str], mark: str = "</w>") -> Word:
    """Make the merges one after the other, by rank, in every word."""
    tokens: Word = []
    for word in words_of(text):
        row = spell(word, known, mark)
        for pair in merges:
            row = merge(row, pair)
        tokens += row
    return tokens
