"""Stage 0 of the compiled scanners: the plain stretches between special tokens.

A special is looked for by its first two bytes, 64 places at a time; only where both are found is
the rest compared, the longest special first. So the scan is leftmost, then longest, and runs at
memory speed as long as those two bytes are rare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, Int64Array, offsets_from_lengths, ranges_to_bytes
from bpenb._intrinsics import equal_mask, trailing_zeros
from bpenb._jit import helper, kernel
from bpenb.corpus import normalize_special_tokens
from bpenb.pretokenize.planes import BREAK, CONT, START

__all__ = ["SegmentFinder", "SpecialTable", "find_segments", "make_special_table", "set_breaks"]

# mypy: disable-error-code="no-untyped-def"

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class SpecialTable(NamedTuple):
    """Special tokens for a kernel, the longest first.

    Attributes:
        token_bytes, token_offsets: uint8[], int64[n+1].
        heads: uint8[k, 2], the distinct first two bytes (a one-byte special: its byte twice).
        single: bool[k], whether the head is one byte only.
    """

    token_bytes: ByteArray
    token_offsets: Int64Array
    heads: ByteArray
    single: np.ndarray[tuple[int], np.dtype[np.bool_]]


def make_special_table(special_tokens: tuple[str, ...]) -> SpecialTable:
    """Return the table of special tokens; none is fine."""
    tokens = sorted((t.encode() for t in normalize_special_tokens(special_tokens)), key=len, reverse=True)
    singles = {t for t in tokens if len(t) == 1}
    heads = sorted(singles) + sorted({t[:2] for t in tokens if len(t) > 1 and t[:1] not in singles})
    return SpecialTable(
        np.array(list(b"".join(tokens)), dtype=np.uint8),
        offsets_from_lengths(np.array([len(t) for t in tokens], dtype=np.int64)),
        np.array([[h[0], h[-1]] for h in heads], dtype=np.uint8).reshape(-1, 2),
        np.array([len(h) == 1 for h in heads], dtype=np.bool_),
    )


@helper
def special_at(text, i, end, specials):
    """Return the number of the longest special token at text[i:end], or −1."""
    for t in range(specials.token_offsets.shape[0] - 1):
        first = specials.token_offsets[t]
        length = specials.token_offsets[t + 1] - first
        if i + length <= end:
            k = 0
            while k < length and text[i + k] == specials.token_bytes[first + k]:
                k += 1
            if k == length:
                return t
    return np.int64(-1)


@helper
def head_mask(text, i, specials):
    """Return where in text[i : i + 64] a special token may begin."""
    mask = _ZERO
    for h in range(specials.heads.shape[0]):
        found = equal_mask(text, i, specials.heads[h, 0])
        if found and not specials.single[h]:
            found &= equal_mask(text, i + 1, specials.heads[h, 1])
        mask |= found
    return mask


@kernel
def find_segments(text, ranges, specials, segments):
    """List the plain stretches of every range of a text, empty ones left out; and special tokens, if asked.

    text     : uint8[], padded with PADDING
    ranges   : int64[n, 2], first byte and end of each, ascending; no special reaches over two
    specials : SpecialTable
    segments : int64[m, 2], written as far as there is room: first byte and end; or int64[m, ≥ 3]: special
               tokens are listed too, and the third column is their number, −1 for plain text
    Returns  : int64, how many there are; more than m: call again with more room
    O(n_bytes)
    """
    n = np.int64(0)
    plain = np.int64(-1)
    for r in range(ranges.shape[0]):
        position = ranges[r, 0]
        end = ranges[r, 1]
        block = position
        while block < end:
            mask = head_mask(text, block, specials)
            while mask:
                i = block + trailing_zeros(mask)
                mask &= mask - _ONE
                number = special_at(text, i, end, specials) if i >= position else plain
                if number >= 0:
                    n = add_segment(segments, n, position, i, plain)
                    position = i + specials.token_offsets[number + 1] - specials.token_offsets[number]
                    if segments.shape[1] > 2:
                        n = add_segment(segments, n, i, position, number)
            block += 64
        n = add_segment(segments, n, position, end, plain)
    return n


@helper
def add_segment(segments, n, start, end, number):
    """Write segment n if it is not empty and has room; returns the new number of segments."""
    if start >= end:
        return n
    if n < segments.shape[0]:
        segments[n, 0] = start
        segments[n, 1] = end
        if segments.shape[1] > 2:
            segments[n, 2] = number
    return n + 1


@kernel
def set_breaks(planes, n_blocks, segments):
    """Mark the first byte of every segment and the byte behind it as BREAK, and clear START.

    planes   : uint64[N_PLANES, n_blocks + 1], filled but for BREAK and START
    segments : int64[n, 2]
    Returns  : int64, −1, or the first segment that begins inside a character
    """
    for k in range(n_blocks + 1):
        planes[BREAK, k] = _ZERO
        planes[START, k] = _ZERO
    for s in range(segments.shape[0]):
        i = segments[s, 0]
        if planes[CONT, i >> 6] >> np.uint64(i & 63) & _ONE:
            return s
        planes[BREAK, i >> 6] |= _ONE << np.uint64(i & 63)
        i = segments[s, 1]
        planes[BREAK, i >> 6] |= _ONE << np.uint64(i & 63)
    return np.int64(-1)


class SegmentFinder:
    """Finds special tokens in buffers, and the stretches between them.

    Args:
        special_tokens: any; none is fine.

    Attributes:
        special_tokens: in the order of their numbers: the longest first.
    """

    def __init__(self, special_tokens: tuple[str, ...]) -> None:
        self._table = make_special_table(special_tokens)
        self.special_tokens = tuple(
            token.decode() for token in ranges_to_bytes(self._table.token_bytes, self._table.token_offsets)
        )
        self._usual = 64  # in a buffer; a search that finds more runs again

    def find(self, text: ByteArray, ranges: Int64Array, columns: int = 2) -> Int64Array:
        """Return the stretches of a text.

        Args:
            text: uint8[], padded with PADDING.
            ranges: int64[n, 2], first byte and end of each document in it.
            columns: of the result; with 3 or more special tokens are listed too.

        Returns:
            int64[m, columns], first byte, end, and number of the special token, −1 for plain text.
        """
        segments = np.empty((ranges.shape[0] + self._usual, columns), dtype=np.int64)
        n = int(find_segments(text, ranges, self._table, segments))
        if n > segments.shape[0]:
            self._usual = n + n // 4
            segments = np.empty((n, columns), dtype=np.int64)
            find_segments(text, ranges, self._table, segments)
        return segments[:n]
