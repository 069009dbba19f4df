"""From word counts to words of characters: which are known, and where a word is cut because one is not.

word        n a ï v e            ï is rare, so it is unknown and takes part in no merge:
sequences   n a | v e</w>        what stands before and behind it are sequences of their own
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from bpenb._arrays import CountArray, IdArray, Int64Array, offsets_from_lengths
from bpenb.classic.model import UNKNOWN_TOKEN, check_end_of_word, classic_pattern
from bpenb.counting import WordCounts
from bpenb.errors import CountsError
from bpenb.patterns import SPACES

__all__ = ["WHITESPACE", "ClassicWords", "classic_words", "separators"]

WHITESPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_CONTINUES = 0xC0  # the two bits of a byte of UTF-8 that say that it begins no character
_LISTED = 10  # unknown characters that a report names


def separators(regex: str) -> str:
    """Return the characters that stand between words, for the regex of `classic_pattern`."""
    return " \r\n" if regex == SPACES else WHITESPACE


@dataclass(frozen=True)
class ClassicWords:
    """What learning on characters starts from.

    Attributes:
        tokens: int32[], of all sequences: twice the place of a character in `characters`, and one more
            at the end of a word.
        offsets: int64[n + 1], where each sequence begins.
        counts: int64[n], how often each occurs.
        characters: the known ones, by code point.
        left_out: words that no merge is learned from, with their counts: with the mark, or the unknown
            token, within them, a merge could make a string that is another token already.
        unknown: the rare characters and their counts, the most frequent first.
        n_characters: of all words, with their counts.
    """

    tokens: IdArray
    offsets: Int64Array
    counts: CountArray
    characters: tuple[str, ...]
    left_out: dict[str, int]
    unknown: dict[str, int]
    n_characters: int

    @property
    def n_unknown(self) -> int:
        """Occurrences of unknown characters."""
        return sum(self.unknown.values())

    def report(self, min_character_count: int) -> dict[str, Any]:
        """Return what report.json tells of the characters."""
        return {
            "known": len(self.characters),
            "min_character_count": min_character_count,
            "unknown": len(self.unknown),
            "unknown_occurrences": self.n_unknown,
            "unknown_share": self.n_unknown / self.n_characters if self.n_characters else 0.0,
            "most_frequent_unknown": dict(list(self.unknown.items())[:_LISTED]),
            "words_left_out": len(self.left_out),
            "words_left_out_occurrences": sum(self.left_out.values()),
        }


def classic_words(counts: WordCounts, end_of_word: str, min_character_count: int = 1) -> ClassicWords:
    """Return the words of a corpus as sequences of characters.

    Args:
        counts: made with SPACES or `whitespace`.
        end_of_word: the mark.
        min_character_count: characters that occur less often are unknown.

    Raises:
        CountsError: counts of another pattern, or of bytes that are not UTF-8.

    Example:
        >>> words = classic_words(WordCounts.from_dict({"ab": 3, " ": 2, "aé": 1}, pattern=SPACES), "</w>", 2)
        >>> words.characters, words.tokens.tolist(), words.counts.tolist(), words.unknown
        (('a', 'b'), [0, 3, 0], [3, 1], {'é': 1})
    """
    mark, pattern = check_end_of_word(end_of_word), classic_pattern(counts.pattern)
    codes, word_of = _characters(counts)
    ends = np.append(word_of[1:] != word_of[:-1], [True] * bool(codes.size)).astype(bool)
    between = np.array([ord(c) for c in separators(pattern.regex)], dtype=codes.dtype)
    is_word = ~np.isin(codes, between)
    left_out = _left_out(counts, mark)
    alphabet, places = np.unique(codes, return_inverse=True)
    weights = counts.word_counts[word_of] * is_word
    totals = np.zeros(alphabet.shape[0], dtype=np.int64)
    np.add.at(totals, places, weights)
    is_known = totals >= max(1, min_character_count)
    rare = np.flatnonzero(~is_known & (totals > 0)).tolist()
    rare.sort(key=lambda i: (-int(totals[i]), int(alphabet[i])))
    # A sequence ends where its word does, and before an unknown character, which is dropped.
    known = is_known[places]
    starts = np.append([True] * bool(codes.size), ends[:-1]).astype(bool)
    sequence_of = np.cumsum(starts | ~known)
    kept = known & is_word & ~np.isin(word_of, list(left_out))
    ids = (2 * (np.cumsum(is_known) - 1)[places] + ends)[kept].astype(np.int32)
    _, first, lengths = np.unique(sequence_of[kept], return_index=True, return_counts=True)
    return ClassicWords(
        tokens=ids,
        offsets=offsets_from_lengths(lengths),
        counts=counts.word_counts[word_of[kept][first]],
        characters=tuple(chr(c) for c in alphabet[is_known].tolist()),
        left_out={_word(counts, w): int(counts.word_counts[w]) for w in left_out},
        unknown={chr(int(alphabet[i])): int(totals[i]) for i in rare},
        n_characters=int(weights.sum()),
    )


def _characters(counts: WordCounts) -> tuple[np.ndarray[Any, Any], Int64Array]:
    """Return the code points of all words, and the word that each is of."""
    try:
        text = counts.word_bytes.tobytes().decode()
    except UnicodeDecodeError as error:
        raise CountsError(f"a word is not UTF-8 ({error.reason}), so it has no characters") from None
    begins = np.flatnonzero(counts.word_bytes & _CONTINUES != 0x80)
    word_of = np.searchsorted(counts.word_offsets, begins, side="right") - 1
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4"), word_of


def _left_out(counts: WordCounts, mark: str) -> list[int]:
    """Return the words with the mark, or the unknown token, before their last character."""
    data, found = counts.word_bytes.tobytes(), set()
    for string in (mark, UNKNOWN_TOKEN):
        for match in re.finditer(b"(?=" + re.escape(string.encode()) + b")", data):
            found.add(int(np.searchsorted(counts.word_offsets, match.start(), side="right")) - 1)
    return sorted(w for w in found if any(s in _word(counts, w)[:-1] for s in (mark, UNKNOWN_TOKEN)))


def _word(counts: WordCounts, w: int) -> str:
    start, end = counts.word_offsets[w : w + 2].tolist()
    return counts.word_bytes[start:end].tobytes().decode()
