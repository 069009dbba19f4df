"""Stage 1 of the compiled scanners: from text to bit planes, one bit per byte and question.

    text      H  e  l  l  o  ' '  ä(2 bytes)  1
    LETTER    1  1  1  1  1   0    1  1       0      bit i of plane p is planes[p, i >> 6] >> (i & 63)
    CONT      0  0  0  0  0   0    0  1       0      all bytes of a character have its class

ASCII is answered 64 bytes at a time; every other character is decoded once, checked, and looked
up in the class table. The rules of a pattern (stage 2) see planes only.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from bpenb._intrinsics import byte_masks as vector_byte_masks
from bpenb._intrinsics import trailing_zeros
from bpenb._jit import HAS_VECTOR_MASKS, helper, kernel
from bpenb.pretokenize.classes import LETTER as FLAG_LETTER
from bpenb.pretokenize.classes import LOWER_LIKE as FLAG_LOWER
from bpenb.pretokenize.classes import MARK as FLAG_MARK
from bpenb.pretokenize.classes import NUMBER as FLAG_NUMBER
from bpenb.pretokenize.classes import UPPER_LIKE as FLAG_UPPER
from bpenb.pretokenize.classes import WHITESPACE as FLAG_WHITESPACE
from bpenb.pretokenize.scalar_masks import scalar_byte_masks

__all__ = [
    "APOSTROPHE",
    "BLANK",
    "BREAK",
    "CONT",
    "HARD",
    "LETTER",
    "LOWER",
    "MARK",
    "NEWLINE",
    "NUMBER",
    "N_PLANES",
    "PADDING",
    "SLASH",
    "START",
    "UPPER",
    "WHITESPACE",
    "Planes",
    "fill_planes",
    "run_end",
]  # fmt: skip

# mypy: disable-error-code="no-untyped-def"

Planes: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.uint64]]

# The planes. START is the result of stage 2, BREAK its other input: the first byte of each segment.
# HARD is between the two steps of o200k: where masks do not tell.
(LETTER, NUMBER, WHITESPACE, UPPER, LOWER, MARK, NEWLINE, BLANK, APOSTROPHE, SLASH, CONT, START, BREAK,
 HARD) = range(14)  # fmt: skip
N_PLANES = 14
PADDING = 72  # bytes of zeros behind a text: a whole block, and eight more

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

byte_masks: Any = vector_byte_masks if HAS_VECTOR_MASKS else scalar_byte_masks


@helper
def decode(text, i):
    """Decode the character that starts at text[i], a byte ≥ 0xC0.

    Returns : (int64 code point, int64 length), or (−1, 1) if it is not valid UTF-8
    """
    b0 = np.int64(text[i])
    b1 = np.int64(text[i + 1])
    if b0 < 0xE0:
        if b0 >= 0xC2 and b1 & 0xC0 == 0x80:
            return (b0 & 0x1F) << 6 | (b1 & 0x3F), np.int64(2)
        return np.int64(-1), np.int64(1)
    b2 = np.int64(text[i + 2])
    if b0 < 0xF0:
        value = (b0 & 0x0F) << 12 | (b1 & 0x3F) << 6 | (b2 & 0x3F)
        if b1 & 0xC0 == 0x80 and b2 & 0xC0 == 0x80 and value >= 0x800 and value >> 11 != 0x1B:
            return value, np.int64(3)
        return np.int64(-1), np.int64(1)
    b3 = np.int64(text[i + 3])
    value = (b0 & 0x07) << 18 | (b1 & 0x3F) << 12 | (b2 & 0x3F) << 6 | (b3 & 0x3F)
    tail = b1 & 0xC0 == 0x80 and b2 & 0xC0 == 0x80 and b3 & 0xC0 == 0x80
    if b0 <= 0xF4 and tail and 0x10000 <= value <= 0x10FFFF:
        return value, np.int64(4)
    return np.int64(-1), np.int64(1)


@helper
def mark_character(planes, k, flags, bits, spill):
    """Set the class of one character in block k, and in block k + 1 where it reaches over."""
    for plane, flag in ((LETTER, FLAG_LETTER), (NUMBER, FLAG_NUMBER), (WHITESPACE, FLAG_WHITESPACE),
                        (UPPER, FLAG_UPPER), (LOWER, FLAG_LOWER), (MARK, FLAG_MARK)):  # fmt: skip
        if flags & flag:
            planes[plane, k] |= bits
            if spill:
                planes[plane, k + 1] |= spill


@helper
def fill_characters(text, planes, k, leads, classes, expected):
    """Classify the characters beyond ASCII whose lead bytes are `leads` in block k.

    Returns : (uint64 continuation bytes seen in block k, those in block k + 1, bool valid)
    """
    spilled = _ZERO
    while leads:
        b = trailing_zeros(leads)
        leads &= leads - _ONE
        code_point, length = decode(text, (k << 6) + b)
        if code_point < 0:
            return expected, spilled, False
        mask = (_ONE << np.uint64(length)) - _ONE
        bits = mask << np.uint64(b)
        spill = mask >> np.uint64(64 - b) if b + length > 64 else _ZERO
        expected |= bits & ~(_ONE << np.uint64(b))
        spilled |= spill
        mark_character(planes, k, np.int64(classes[code_point]), bits, spill)
    return expected, spilled, True


@kernel
def fill_planes(text, n_bytes, classes, planes):
    """Fill all planes but START and BREAK for text[:n_bytes], and check that it is UTF-8.

    text    : uint8[], padded with PADDING zeros behind n_bytes
    classes : uint8[0x110000], class flags by code point
    planes  : uint64[N_PLANES, ≥ n_blocks + 1], n_blocks = n_bytes // 64 + 1; written
    Returns : int64, −1, or the start of the block that holds the first invalid byte
    O(n_bytes)
    """
    n_blocks = (n_bytes >> 6) + 1
    for k in range(n_blocks + 1):
        planes[MARK, k] = _ZERO
    spilled = _ZERO
    for k in range(n_blocks):
        upper, lower, digit, white, newline, blank, apostrophe, slash, cont, leads = byte_masks(text, k << 6)
        if spilled == _ZERO:
            planes[LETTER, k] = upper | lower
            planes[NUMBER, k] = digit
            planes[WHITESPACE, k] = white
            planes[UPPER, k] = upper
            planes[LOWER, k] = lower
        else:  # a character of the last block reaches into this one
            planes[LETTER, k] |= upper | lower
            planes[NUMBER, k] |= digit
            planes[WHITESPACE, k] |= white
            planes[UPPER, k] |= upper
            planes[LOWER, k] |= lower
        planes[NEWLINE, k] = newline
        planes[BLANK, k] = blank
        planes[APOSTROPHE, k] = apostrophe
        planes[SLASH, k] = slash
        planes[CONT, k] = cont
        if leads | cont:
            for plane in (LETTER, NUMBER, WHITESPACE, UPPER, LOWER):
                planes[plane, k + 1] = _ZERO
            expected, spilled, valid = fill_characters(text, planes, k, leads, classes, spilled)
            if not valid or expected != cont:
                return k << 6
    return np.int64(-1)


@helper
def run_end(planes, plane, i):
    """Return the first position ≥ i whose bit is 0; the padding behind a text ends every run."""
    k = i >> 6
    word = ~planes[plane, k] >> np.uint64(i & 63)
    if word:
        return i + trailing_zeros(word)
    k += 1
    while planes[plane, k] == _ALL:
        k += 1
    return (k << 6) + trailing_zeros(~planes[plane, k])
