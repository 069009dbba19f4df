"""`WordCounts`: the distinct words of a corpus, and how often each occurs.

The only product of counting, and all that training reads. It can be saved, loaded and merged, so
a corpus can be counted in parts, at different times and on different machines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, CountArray, Int64Array, offsets_from_lengths, ranges_to_bytes
from bpenb.corpus import normalize_special_tokens
from bpenb.counting import npz
from bpenb.counting.merge import merge_counts
from bpenb.counting.rare import DroppedWords, drop_rare_words
from bpenb.counting.shards import Shard, parse_shards
from bpenb.counting.table import WordTable
from bpenb.counting.word_checks import (
    INT64_MAX,
    as_int64,
    check_order,
    check_shapes,
    checked_count,
    exact_sum,
    spell_word,
)
from bpenb.errors import CountsError
from bpenb.patterns import DEFAULT_PATTERN, SplitPattern, resolve_pattern

__all__ = ["WordCounts"]


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts:
    """Distinct words with their counts, ascending by their bytes.

    Attributes:
        word_bytes: uint8[n_bytes], all words one after the other.
        word_offsets: int64[n_words+1], where each begins.
        word_counts: int64[n_words], each at least 1.
        pattern: the split pattern that cut the text.
        special_tokens: what was cut out before, in order.
        engine: name of the engine that ran the pattern.
        unicode_version: that its letters and numbers are of.
        shards: which shares of which corpus these counts hold, if they were counted as such.
        document_separator: what was cut out of text files beside the special tokens, if anything.

    Raises:
        CountsError: arrays that are not as described, or more text than an int64 can count.

    Example:
        >>> counts = WordCounts.from_dict({"low": 5, "er": 2})
        >>> counts.to_dict()
        {b'er': 2, b'low': 5}
        >>> counts
        WordCounts(2 words, 7 pretokens, 19 bytes, pattern='gpt2')
    """

    word_bytes: ByteArray
    word_offsets: Int64Array
    word_counts: CountArray
    pattern: SplitPattern
    special_tokens: tuple[str, ...]
    engine: str
    unicode_version: str
    shards: tuple[Shard, ...] = ()
    document_separator: str | None = None

    def __post_init__(self) -> None:
        check_shapes(self.word_bytes, self.word_offsets, self.word_counts)
        for name in ("word_bytes", "word_offsets", "word_counts"):
            # Kernels are compiled for one kind of array: contiguous, and not read-only.
            array = np.require(getattr(self, name), requirements=["C", "W", "A"])
            object.__setattr__(self, name, array)
        check_order(self.word_bytes, self.word_offsets)
        if self.n_bytes > INT64_MAX:
            raise CountsError(f"the counts stand for {self.n_bytes:,} bytes of text; the most is 2**63 - 1")

    @classmethod
    def from_dict(
        cls,
        mapping: Mapping[str, int] | Mapping[bytes, int],
        *,
        pattern: str | SplitPattern = DEFAULT_PATTERN,
        special_tokens: Iterable[str] = (),
        engine: str = "external",
        unicode_version: str = "unknown",
    ) -> WordCounts:
        """Return the counts that a mapping of words holds; an empty word is left out.

        Args:
            mapping: word (`str` or `bytes`) → count, at least 1.
            pattern: the split pattern that the words were made with.
            special_tokens: what was cut out before.
            engine: who cut the words.
            unicode_version: that its letters and numbers are of.

        Raises:
            CountsError: a count below 1 or above 2**63 - 1, or a lone surrogate in a word.
            TypeError: a word or count of another type.
        """
        counts: dict[bytes, int] = {}
        for word, count in mapping.items():
            data = spell_word(word)
            counts[data] = counts.get(data, 0) + checked_count(word, count)
        counts.pop(b"", None)
        words = sorted(counts)
        for word in words:
            checked_count(word, counts[word])  # a str and a bytes key may be one word
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        return cls(
            np.frombuffer(b"".join(words), dtype=np.uint8),
            offsets_from_lengths(lengths),
            np.fromiter(map(counts.__getitem__, words), dtype=np.int64, count=len(words)),
            resolve_pattern(pattern),
            normalize_special_tokens(special_tokens),
            engine,
            unicode_version,
        )

    @classmethod
    def from_arrays(
        cls,
        word_bytes: ByteArray,
        word_offsets: npt.NDArray[np.integer[Any]],
        word_counts: npt.NDArray[np.integer[Any]],
        *,
        pattern: str | SplitPattern = DEFAULT_PATTERN,
        special_tokens: Iterable[str] = (),
        engine: str = "external",
        unicode_version: str = "unknown",
    ) -> WordCounts:
        """Return the counts of words in any order; the counts of a word that occurs twice are added up.

        Args:
            word_bytes: uint8[n_bytes], all words one after the other.
            word_offsets: integers[n_words+1], where each begins; none is empty.
            word_counts: integers[n_words], each at least 1.
            pattern, special_tokens, engine, unicode_version: as of `from_dict`.

        Raises:
            CountsError: arrays that are not as described, or sums that pass 2**63 - 1.

        Example:
            >>> text = np.frombuffer(b"lowerlow", dtype=np.uint8)
            >>> WordCounts.from_arrays(text, np.array([0, 3, 5, 8]), np.array([1, 7, 4])).to_dict()
            {b'er': 7, b'low': 5}
        """
        offsets = as_int64("word_offsets", word_offsets)
        counts = as_int64("word_counts", word_counts)
        check_shapes(word_bytes, offsets, counts)
        table = WordTable()
        table.add(word_bytes, offsets, counts)
        return cls(
            *table.to_arrays(),
            resolve_pattern(pattern),
            normalize_special_tokens(special_tokens),
            engine,
            unicode_version,
        )

    def __len__(self) -> int:
        return int(self.word_counts.shape[0])

    def __repr__(self) -> str:
        return (
            f"WordCounts({len(self):,} words, {self.n_pretokens:,} pretokens, {self.n_bytes:,} bytes, "
            f"pattern={str(self.pattern)!r})"
        )

    @property
    def n_pretokens(self) -> int:
        """Pretokens counted: the sum of all counts."""
        return exact_sum(self.word_counts)

    @property
    def n_bytes(self) -> int:
        """Bytes of text that the pretokens fill; special tokens are not among them."""
        return exact_sum(self.word_counts, self.word_offsets)

    def to_dict(self) -> dict[bytes, int]:
        """Return the counts as a dict, words ascending."""
        words = ranges_to_bytes(self.word_bytes, self.word_offsets)
        return dict(zip(words, self.word_counts.tolist(), strict=True))

    def most_common(self, n: int) -> list[tuple[bytes, int]]:
        """Return the `n` most frequent words with their counts; equal counts ascend by their bytes.

        Example:
            >>> WordCounts.from_dict({"a": 1, "b": 3, "c": 3}).most_common(2)
            [(b'b', 3), (b'c', 3)]
        """
        order = np.argsort(-self.word_counts, kind="stable")[: max(n, 0)].tolist()
        offsets = self.word_offsets
        return [
            (self.word_bytes[offsets[w] : offsets[w + 1]].tobytes(), int(self.word_counts[w])) for w in order
        ]

    def merge(self, *others: WordCounts) -> WordCounts:
        """Return the counts of this corpus and of others together.

        Args:
            others: made with the same pattern, special tokens, engine and Unicode version.

        Raises:
            CountsError: counts made in another way, a shard twice, or sums that pass 2**63 - 1.

        Example:
            >>> WordCounts.from_dict({"a": 1}).merge(WordCounts.from_dict({"a": 2, "b": 1})).to_dict()
            {b'a': 3, b'b': 1}
        """
        for other in others:
            if not isinstance(other, WordCounts):
                raise TypeError(f"only WordCounts can be merged, not {type(other).__name__}")
        return merge_counts((self, *others), allow_missing=True)

    def drop_rare(self, min_word_count: int) -> tuple[WordCounts, DroppedWords]:
        """Return the counts without the words of a lower count, and what was left out.

        Raises:
            CountsError: a least count below 1.

        Example:
            >>> kept, dropped = WordCounts.from_dict({"low": 8, "er": 2, "x": 1}).drop_rare(2)
            >>> print(kept, "–", dropped)
            WordCounts(2 words, 10 pretokens, 28 bytes, pattern='gpt2') –
            1 words of a count below 2 were left out, 3.45 % of the text (1 bytes)
        """
        return drop_rare_words(self, min_word_count)

    def without_words(self) -> WordCounts:
        """Return how these counts were made, and none of them."""
        nothing = np.empty(0, dtype=np.int64)
        return replace(
            self, word_bytes=nothing.astype(np.uint8), word_offsets=offsets_from_lengths(nothing),
            word_counts=nothing, shards=(),
        )  # fmt: skip

    def equals(self, other: WordCounts) -> bool:
        """Tell whether the other counts hold the same words and counts, made in the same way."""
        return (
            self.made_by == other.made_by
            and np.array_equal(self.word_offsets, other.word_offsets)
            and np.array_equal(self.word_bytes, other.word_bytes)
            and np.array_equal(self.word_counts, other.word_counts)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file (.npz); it appears as a whole or not at all.

        Args:
            path: the file, under exactly this name; one that exists is replaced.

        Raises:
            OutputError: the file cannot be written.
        """
        arrays = {name: getattr(self, name) for name in npz.ARRAY_NAMES}
        shards = {"shards": self.shards} if self.shards else {}
        npz.write(path, arrays, self.pattern, self.made_by | shards)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WordCounts:
        """Return the counts that `save` wrote.

        Raises:
            CountsError: the file is missing, damaged, of another kind or of another version.
        """
        arrays, pattern, made_by = npz.read(path)
        try:
            return cls(
                **arrays,
                pattern=pattern,
                special_tokens=normalize_special_tokens(made_by["special_tokens"]),
                engine=str(made_by["engine"]),
                unicode_version=str(made_by["unicode_version"]),
                shards=parse_shards(made_by.get("shards", [])),
                document_separator=_separator(made_by["document_separator"]),
            )
        except (TypeError, ValueError) as error:
            raise CountsError(f"{os.fspath(path)}: damaged word counts: {error}") from error

    @property
    def made_by(self) -> dict[str, object]:
        """All that decides which words a text has; a pattern is its regex, whatever its name."""
        return {
            "pattern": self.pattern.regex,
            "special_tokens": list(self.special_tokens),
            "engine": self.engine,
            "unicode_version": self.unicode_version,
            "document_separator": self.document_separator,
        }


def _separator(stored: object) -> str | None:
    if stored is None or isinstance(stored, str):
        return stored
    raise CountsError(f"the document separator is {stored!r}, no string")
