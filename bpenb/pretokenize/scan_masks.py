"""Stage 2 for `gpt2` and `whitespace`: the starts of pretokens by arithmetic on 64-bit masks.

Reading the pattern as rules of where a pretoken starts, with O = neither letter, number nor
whitespace, and "before" and "after" never looking over a BREAK:

    ` ?\\p{L}+`, ` ?\\p{N}+`, ` ?[^\\s\\p{L}\\p{N}]+`
                    a run of L, N or O starts one, unless U+0020 stands before it: then that does
    `\\s+(?!\\S)`     a run of whitespace starts one …
    `\\s+`           … and its last character another, if something other follows
    `'(?:[sdmt]|ll|ve|re)`
                    where an apostrophe starts one, look at the two bytes behind it: rare
"""

from __future__ import annotations

import numpy as np

from bpenb._intrinsics import trailing_zeros
from bpenb._jit import helper, kernel
from bpenb.pretokenize.planes import (
    APOSTROPHE,
    BLANK,
    BREAK,
    CONT,
    LETTER,
    NUMBER,
    START,
    WHITESPACE,
)

__all__ = [
    "ASCII_FOLD",
    "FOLD",
    "NO_FOLD",
    "contraction_length",
    "scan_gpt2",
    "scan_whitespace",
    "split_contractions",
]

# mypy: disable-error-code="no-untyped-def"

NO_FOLD, ASCII_FOLD, FOLD = 0, 32, 96  # 32: the bit between upper and lower case; 64: U+017F too

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TOP = np.uint64(63)


@helper
def after(mask, before, breaks):
    """Shift a mask up by one byte: "the byte before is …"; `before` is the mask of the last block."""
    return ((mask << _ONE) | (before >> _TOP)) & ~breaks


@helper
def set_start(planes, i):
    """Let a pretoken start at byte i."""
    planes[START, i >> 6] |= _ONE << np.uint64(i & 63)


@helper
def set_leads(planes, k, ends):
    """Let a pretoken start at each character of block k whose last byte is in `ends`."""
    cont = planes[CONT, k]
    planes[START, k] |= ends & ~cont
    ends &= cont
    while ends:  # whitespace of two or three bytes: rare
        i = (k << 6) + trailing_zeros(ends)
        ends &= ends - _ONE
        while planes[CONT, i >> 6] >> np.uint64(i & 63) & _ONE:
            i -= 1
        set_start(planes, i)


@kernel
def scan_whitespace(planes, n_blocks):
    """Mark the starts of `\\s+|\\S+`. planes: filled, BREAK set; START is written. O(n_bytes)."""
    before = _ZERO
    for k in range(n_blocks):
        white = planes[WHITESPACE, k]
        planes[START, k] = (white ^ ((white << _ONE) | (before >> _TOP))) | planes[BREAK, k]
        before = white


@kernel
def scan_gpt2(planes, n_blocks):
    """Mark the starts of the GPT-2 pattern, contractions aside (`split_contractions`).

    planes : uint64[N_PLANES, n_blocks + 1], filled, BREAK set also behind the last byte;
             START is written
    O(n_bytes)
    """
    letters_before = numbers_before = white_before = other_before = blank_before = _ZERO
    for k in range(n_blocks):
        breaks = planes[BREAK, k]
        letters = planes[LETTER, k]
        numbers = planes[NUMBER, k]
        white = planes[WHITESPACE, k]
        blank = planes[BLANK, k]
        other = ~(letters | numbers | white)
        run_starts = (
            (letters & ~after(letters, letters_before, breaks))
            | (numbers & ~after(numbers, numbers_before, breaks))
            | (other & ~after(other, other_before, breaks))
        )
        starts = (run_starts & ~after(blank, blank_before, breaks)) | (
            white & ~after(white, white_before, breaks)
        )
        ends_run = (planes[WHITESPACE, k + 1] << _TOP) | (white >> _ONE)
        ends_text = (planes[BREAK, k + 1] << _TOP) | (breaks >> _ONE)
        planes[START, k] = starts
        set_leads(planes, k, white & ~ends_run & ~ends_text)
        letters_before, numbers_before, white_before = letters, numbers, white
        other_before, blank_before = other, blank


@kernel
def split_contractions(text, planes, n_blocks, fold):
    """Let a pretoken start behind each contraction whose apostrophe is a start, and none in it.

    planes : START as `scan_gpt2` or `scan_cl100k` left it
    fold   : FOLD, ASCII_FOLD or NO_FOLD, as in `contraction_length`
    O(n_blocks + apostrophes)
    """
    for k in range(n_blocks):
        found = planes[APOSTROPHE, k] & planes[START, k]
        while found:
            i = (k << 6) + trailing_zeros(found)
            found &= found - _ONE
            length = contraction_length(text, planes, i, fold)
            if length > 0:
                planes[START, (i + 1) >> 6] &= ~(_ONE << np.uint64((i + 1) & 63))
                set_start(planes, i + 1 + length)


@helper
def has_break(planes, i):
    """Tell whether a segment begins at byte i."""
    return planes[BREAK, i >> 6] >> np.uint64(i & 63) & _ONE


@helper
def contraction_length(text, planes, i, fold):
    """Return the bytes of `[sdmt]|ll|ve|re` behind the apostrophe at byte i, or 0.

    fold : NO_FOLD; ASCII_FOLD, where upper case counts; or FOLD for `(?i:…)`, where U+017F (two bytes)
           counts as `s` as well
    """
    if has_break(planes, i + 1):
        return 0
    case = fold & ASCII_FOLD
    a = text[i + 1] | case
    if a == 115 or a == 100 or a == 109 or a == 116:  # s d m t
        return 1
    if has_break(planes, i + 2):
        return 0
    if fold == FOLD and text[i + 1] == 0xC5 and text[i + 2] == 0xBF:
        return 2
    b = text[i + 2] | case
    if (a == 108 and b == 108) or (b == 101 and (a == 118 or a == 114)):  # ll ve re
        return 2
    return 0
