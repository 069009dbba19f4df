"""What word counts must be: shapes, dtypes, order, sums that an int64 holds."""

from __future__ import annotations

import operator

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array
from bpenb.counting.order import first_disorder
from bpenb.errors import CountsError

__all__ = ["INT64_MAX", "as_int64", "check_order", "check_shapes", "checked_count", "exact_sum", "spell_word"]

INT64_MAX = 2**63 - 1
_WORDS_AT_ONCE = 1 << 16  # words turned into `bytes` for a check: memory stays small


def check_shapes(word_bytes: ByteArray, word_offsets: Int64Array, word_counts: CountArray) -> None:
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


def check_order(word_bytes: ByteArray, word_offsets: Int64Array) -> None:
    """Refuse words that do not ascend, or that occur twice."""
    at = int(first_disorder(word_bytes, word_offsets))
    if at >= 0:
        word = word_bytes[word_offsets[at] : word_offsets[at + 1]].tobytes()
        raise CountsError(f"words must ascend by their bytes, each once: see after {word[:40]!r}")


def as_int64(name: str, array: object) -> Int64Array:
    """Return integers of any size as int64; what is no array of them, or does not fit, is refused."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        raise CountsError(f"{name} must be a one-dimensional array of integers")
    if array.dtype.kind == "u" and array.size and int(array.max()) > INT64_MAX:
        raise CountsError(f"{name} holds {array.max()}; the most is 2**63 - 1")
    return array.astype(np.int64)


def exact_sum(counts: CountArray, offsets: Int64Array | None = None) -> int:
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


def spell_word(word: object) -> bytes:
    """Return a word as bytes; a `str` is spelled in UTF-8."""
    if isinstance(word, bytes):
        return word
    if not isinstance(word, str):
        raise TypeError(f"a word must be a str or bytes, not {type(word).__name__}: {word!r}")
    try:
        return word.encode()
    except UnicodeEncodeError:
        raise CountsError(f"word {word!r} holds a lone surrogate, which UTF-8 cannot spell") from None


def checked_count(word: object, count: object) -> int:
    """Return the count of a word, if it is an int from 1 to 2**63 - 1."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise TypeError(f"the count of word {word!r} must be an int, not {type(count).__name__}")
    if not 1 <= count <= INT64_MAX:
        raise CountsError(f"the count of word {word!r} must be from 1 to 2**63 - 1, not {count}")
    return int(count)
