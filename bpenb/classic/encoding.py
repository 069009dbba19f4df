"""The driver of encoding words of characters: each distinct word is merged once, and remembered."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np

from bpenb._arrays import IdArray, offsets_from_lengths
from bpenb.classic.model import ClassicModel
from bpenb.classic.words import separators
from bpenb.encoding import make_pair_table, make_scratch, merge_words

__all__ = ["WordEncoder"]

# mypy: disable-error-code="no-untyped-call"

MOST_WORDS = 1 << 20  # remembered; then all are forgotten


class WordEncoder:
    """Encodes stretches of text without special tokens; threads may share it.

    Args:
        model: checked already.
    """

    def __init__(self, model: ClassicModel) -> None:
        self._pairs = make_pair_table(model.merges, model.merge_ids)
        self._codes = np.array([ord(c) for c in model.characters], dtype="<u4")
        self._first = model.first_character
        self._find_words = re.compile(f"[^{re.escape(separators(model.pattern.regex))}]+").findall
        self._cache: dict[str, list[int]] = {}

    def words(self, text: str) -> list[str]:
        """Return what stands between spaces."""
        return self._find_words(text)

    def encode(self, text: str) -> list[int]:
        """Return the ids of all words of a text; an unknown character is 0."""
        if len(self._cache) > MOST_WORDS:
            self._cache = {}
        cache = self._cache  # that of this call: another thread may begin a new one
        words = self.words(text)
        new = [word for word in dict.fromkeys(words) if word not in cache]
        if new:
            cache.update(zip(new, self._merge(new), strict=True))
        return list(chain.from_iterable(map(cache.__getitem__, words)))

    def _merge(self, words: list[str]) -> list[list[int]]:
        """Return the ids of words that are not known yet."""
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        offsets = offsets_from_lengths(lengths)
        ids = self._character_ids("".join(words))
        ends = offsets[1:] - 1
        ids[ends] += ids[ends] > 0  # the form at the end of a word follows the other one
        scratch, left = make_scratch(int(lengths.max())), np.zeros(len(words), dtype=np.int64)
        merge_words(self._pairs, scratch, ids, offsets, left)
        flat, bounds = ids.tolist(), zip(offsets.tolist(), left.tolist(), strict=False)
        return [flat[start : start + n] for start, n in bounds]

    def _character_ids(self, text: str) -> IdArray:
        """Return int32[n], the id of each character within a word; 0 where it is unknown."""
        codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        if not self._codes.size:
            return np.zeros(codes.shape[0], dtype=np.int32)
        places = np.minimum(np.searchsorted(self._codes, codes), self._codes.shape[0] - 1)
        ids = np.where(self._codes[places] == codes, self._first + 2 * places, 0)
        return ids.astype(np.int32)
