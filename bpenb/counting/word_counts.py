"""`WordCounts`: the distinct words of a corpus, and how often each occurs.

The only product of counting, and all that training reads. It can be saved, loaded and merged, so
a corpus can be counted in parts, at different times and on different machines.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array, offsets_from_lengths, ranges_to_bytes
from bpenb.corpus import normalize_special_tokens
from bpenb.counting import npz
from bpenb.counting.order import first_disorder
from bpenb.counting.table import WordTable
from bpenb.errors import CountsError
from bpenb.patterns import DEFAULT_PATTERN, SplitPattern, resolve_pattern

__all__ = ["WordCounts"]

_INT64_MAX = 2**63 - 1
_WORDS_AT_ONCE = 1 << 16  # words turned into `bytes` for a check: memory stays small


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

    def __post_init__(self) -> None:
        _check_shapes(self.word_bytes, self.word_offsets, self.word_counts)
        for name in ("word_bytes", "word_offsets", "word_counts"):
            # Kernels are compiled for one kind of array: contiguous, and not read-only.
            array = np.require(getattr(self, name), requirements=["C", "W", "A"])
            object.__setattr__(self, name, array)
        _check_order(self.word_bytes, self.word_offsets)
        if self.n_bytes > _INT64_MAX:
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
            data = _spell(word)
            counts[data] = counts.get(data, 0) + _checked_count(word, count)
        counts.pop(b"", None)
        words = sorted(counts)
        for word in words:
            _checked_count(word, counts[word])  # a str and a bytes key may be one word
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
        return _exact_sum(self.word_counts)

    @property
    def n_bytes(self) -> int:
        """Bytes of text that the pretokens fill; special tokens are not among them."""
        return _exact_sum(self.word_counts, self.word_offsets)

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
            CountsError: counts made in another way, or sums that pass 2**63 - 1.

        Example:
            >>> WordCounts.from_dict({"a": 1}).merge(WordCounts.from_dict({"a": 2, "b": 1})).to_dict()
            {b'a': 3, b'b': 1}
        """
        for other in others:
            self._check_made_alike(other)
        table = WordTable()
        for counts in (self, *others):
            table.add(counts.word_bytes, counts.word_offsets, counts.word_counts)
        words, offsets, sums = table.to_arrays()
        return replace(self, word_bytes=words, word_offsets=offsets, word_counts=sums)

    def equals(self, other: WordCounts) -> bool:
        """Tell whether the other counts hold the same words and counts, made in the same way."""
        return (
            self._made_by() == other._made_by()
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
        npz.write(path, arrays, self.pattern, self._made_by())

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
            )
        except (TypeError, ValueError) as error:
            raise CountsError(f"{os.fspath(path)}: damaged word counts: {error}") from error

    def _made_by(self) -> dict[str, object]:
        """Return all that decides which words a text has; a pattern is its regex, whatever its name."""
        return {
            "pattern": self.pattern.regex,
            "special_tokens": list(self.special_tokens),
            "engine": self.engine,
            "unicode_version": self.unicode_version,
        }

    def _check_made_alike(self, other: WordCounts) -> None:
        if not isinstance(other, WordCounts):
            raise TypeError(f"only WordCounts can be merged, not {type(other).__name__}")
        theirs = other._made_by()
        for what, ours in self._made_by().items():
            if theirs[what] != ours:
                raise CountsError(
                    f"these counts were made differently and cannot be merged: {what.replace('_', ' ')} "
                    f"{ours!r} here, {theirs[what]!r} there; count the texts again in one way"
                )


# --- checks ---------------------------------------------------------------------------------------


def _check_shapes(word_bytes: ByteArray, word_offsets: Int64Array, word_counts: CountArray) -> None:
    """Refuse arrays that are no words with counts, whatever their order."""
    for name, array, dtype in (
        ("word_bytes", word_bytes, np.uint8),
        ("word_offsets", word_offsets, np.int64),
        ("word_counts", word_counts, np.int64),
    ):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise CountsError(f"{name} must be a one-dimensional array of {np.dtype(dtype).name}")
    n_words = word_counts.shape[0]
    if word_offsets.shape[0] != n_words + 1:
        raise CountsError(f"{n_words} counts need {n_words + 1} offsets, not {word_offsets.shape[0]}")
    if word_offsets[0] != 0 or word_offsets[-1] != word_bytes.shape[0]:
        raise CountsError(f"word_offsets must run from 0 to {word_bytes.shape[0]}, the length of word_bytes")
    if (word_offsets[1:] <= word_offsets[:-1]).any():
        raise CountsError("word_offsets must ascend: a word holds at least one byte")
    if (word_counts < 1).any():
        raise CountsError(f"a count must be at least 1, not {word_counts.min()}")


def _check_order(word_bytes: ByteArray, word_offsets: Int64Array) -> None:
    """Refuse words that do not ascend, or that occur twice."""
    at = int(first_disorder(word_bytes, word_offsets))
    if at >= 0:
        word = word_bytes[word_offsets[at] : word_offsets[at + 1]].tobytes()
        raise CountsError(f"words must ascend by their bytes, each once: see after {word[:40]!r}")


def _exact_sum(counts: CountArray, offsets: Int64Array | None = None) -> int:
    """Return sum(counts), or with offsets sum(counts * lengths), as a Python int, which no sum overflows."""
    total = 0
    for first in range(0, counts.shape[0], _WORDS_AT_ONCE):
        some = counts[first : first + _WORDS_AT_ONCE]
        factors = (
            np.ones_like(some) if offsets is None else np.diff(offsets[first : first + _WORDS_AT_ONCE + 1])
        )
        # Not np.dot of floats: it starts BLAS threads, which spin for a tenth of a second.
        if float(np.multiply(factors, some, dtype=np.float64).sum()) < 2.0**62:
            total += int(np.dot(factors, some))
        else:
            total += sum(map(operator.mul, factors.tolist(), some.tolist()))
    return total


def _spell(word: object) -> bytes:
    if isinstance(word, bytes):
        return word
    if not isinstance(word, str):
        raise TypeError(f"a word must be a str or bytes, not {type(word).__name__}: {word!r}")
    try:
        return word.encode()
    except UnicodeEncodeError:
        raise CountsError(f"word {word!r} holds a lone surrogate, which UTF-8 cannot spell") from None


def _checked_count(word: object, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise TypeError(f"the count of word {word!r} must be an int, not {type(count).__name__}")
    if not 1 <= count <= _INT64_MAX:
        raise CountsError(f"the count of word {word!r} must be from 1 to 2**63 - 1, not {count}")
    return int(count)
