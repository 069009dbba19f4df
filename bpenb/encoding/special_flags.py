"""Special tokens that take whitespace along, or must stand alone: flags that foreign tokenizers have.

    stretches   "say" "  " <mask> "  " "now"       found wherever they stand
    with flags  "say" [  <mask>  ] "now"           lstrip and rstrip; single_word may drop it altogether

A text may then be cut only where no flag reaches: at the start of a special token without any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import regex

from bpenb._arrays import ByteArray, Int64Array
from bpenb.encoding.encode_words import PLAIN
from bpenb.traits import TokenFlags

__all__ = ["FlagReader", "cut_tokens"]

# The 25 code points that are whitespace, in UTF-8.
_SPACE = re.compile(
    rb"[\t-\r ]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
_WIDEST = 3  # bytes of one of them
_IS_WORD = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]")


class FlagReader:
    """Applies the flags of special tokens to the stretches of a text.

    Args:
        flags: by the id of each token that has some.
    """

    def __init__(self, flags: Mapping[int, TokenFlags]) -> None:
        self._flags = dict(flags)
        self._ids = np.array(sorted(flags), dtype=np.int64)

    def apply(self, text: ByteArray, pieces: Int64Array, ranges: Int64Array) -> Int64Array:
        """Return the stretches as the flags have them.

        Args:
            text: uint8[]; what is not UTF-8 counts as no space and no word.
            pieces: int64[m, 4], first byte, end, id or PLAIN of each; the last column is open.
            ranges: int64[n, 2], first byte and end of each document.
        """
        if not np.isin(pieces[:, 2], self._ids).any():
            return pieces
        rows: list[tuple[int, int, int, int]] = []
        firsts = np.searchsorted(pieces[:, 0], ranges[:, 0]).tolist()
        lasts = np.searchsorted(pieces[:, 0], ranges[:, 1]).tolist()
        for (start, end), first, last in zip(ranges.tolist(), firsts, lasts, strict=True):
            found = [(a, b, i) for a, b, i, _ in pieces[first:last].tolist() if i != PLAIN]
            rows += self._document(text[start:end].tobytes(), start, found)
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    def _document(
        self, data: bytes, base: int, found: Iterable[tuple[int, int, int]]
    ) -> list[tuple[int, int, int, int]]:
        rows: list[tuple[int, int, int, int]] = []
        position = 0
        for first, last, token_id in found:
            start, end = first - base, last - base
            flags = self._flags.get(token_id, TokenFlags())
            if flags.single_word and _touches_word(data, start, end):
                continue
            if flags.lstrip:
                start = _skip_spaces_back(data, start, position)
            if flags.rstrip:
                end = _skip_spaces(data, end)
            start = max(start, position)  # the one before may have taken its first whitespace
            if position < start:
                rows.append((base + position, base + start, PLAIN, 0))
            rows.append((base + start, base + max(start, end), token_id, 0))
            position = max(end, position)
        if position < len(data):
            rows.append((base + position, base + len(data), PLAIN, 0))
        return rows


def _touches_word(data: bytes, start: int, end: int) -> bool:
    before = data[max(0, start - 4) : start].decode(errors="replace")[-1:]
    behind = data[end : end + 4].decode(errors="replace")[:1]
    return bool(_IS_WORD.match(before) or _IS_WORD.match(behind))


def _skip_spaces(data: bytes, i: int) -> int:
    while match := _SPACE.match(data, i):
        i = match.end()
    return i


def _skip_spaces_back(data: bytes, i: int, low: int) -> int:
    def width() -> int:
        widths = range(1, min(_WIDEST, i - low) + 1)
        return next((n for n in widths if _SPACE.fullmatch(data, i - n, i)), 0)

    while n := width():
        i -= n
    return i


def cut_tokens(special_tokens: Iterable[str], flags: Mapping[str, TokenFlags]) -> tuple[str, ...]:
    """Return the special tokens at whose start a text may be cut: no flag of another reaches over them."""
    plain = [token for token in special_tokens if flags.get(token, TokenFlags()).is_plain]
    if any(row.single_word for row in flags.values()):
        plain = [token for token in plain if not (_IS_WORD.match(token[0]) or _IS_WORD.match(token[-1]))]
    return tuple(plain)
