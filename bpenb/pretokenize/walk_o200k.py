"""Where a pretoken of `o200k` ends, run by run of a bit plane: for the places that masks do not tell.

Each branch is headed by the alternative of the pattern that it implements; the alternatives are tried
in the pattern's order.

    U = [\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}] (plane UPPER)
    L = [\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}] (plane LOWER)
"""

from __future__ import annotations

import numpy as np

from bpenb._intrinsics import trailing_zeros
from bpenb._jit import helper
from bpenb.pretokenize.planes import (
    APOSTROPHE,
    BLANK,
    BREAK,
    CONT,
    LETTER,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    SLASH,
    UPPER,
    WHITESPACE,
    run_end,
)
from bpenb.pretokenize.scan_masks import contraction_length

__all__ = ["has", "pretoken_end"]

# mypy: disable-error-code="no-untyped-def"

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@helper
def has(planes, plane, i):
    """Tell whether byte i is in a plane."""
    return planes[plane, i >> 6] >> np.uint64(i & 63) & _ONE != _ZERO


@helper
def character_end(planes, i):
    """Return the position behind the character that starts at byte i."""
    i += 1
    while has(planes, CONT, i):
        i += 1
    return i


@helper
def last_in(planes, plane, start, end):
    """Return the position behind the last byte of [start, end) that is in a plane, or `start`."""
    while end > start and not has(planes, plane, end - 1):
        end -= 1
    return end


@helper
def word_end(planes, start, end, lone_mark_end):
    """Return the end of a word that starts at `start`, its leader aside.

    lone_mark_end : where the leader ends if it is a mark (it may be a word by itself), else 0
    """
    upper = min(run_end(planes, UPPER, start), end)
    lower = min(run_end(planes, LOWER, upper), end)
    if lower > upper:  # `U*L+`
        return lower
    both = last_in(planes, LOWER, start, upper)
    if both > start:  # `U*L+`, where U* gave back what L+ needs: at least one letter without case
        return both
    if lone_mark_end > 0:  # `U*L+` without a leader: the mark alone
        return lone_mark_end
    return upper  # `U+L*`


@helper
def with_contraction(text, planes, i, end, fold):
    """Return the end of `(?i:'s|'t|'re|'ve|'m|'ll|'d)?` at byte i."""
    if i < end and has(planes, APOSTROPHE, i):
        length = contraction_length(text, planes, i, fold)
        if length > 0:
            return i + 1 + length
    return i


@helper
def punctuation_end(planes, i, end):
    """Return the end of `[^\\s\\p{L}\\p{N}]+[\\r\\n/]*` whose first byte is i."""
    i += 1
    k = i >> 6
    stop = planes[LETTER, k] | planes[NUMBER, k] | planes[WHITESPACE, k] | planes[BREAK, k]
    stop = stop >> np.uint64(i & 63) << np.uint64(i & 63)
    while stop == _ZERO:
        k += 1
        stop = planes[LETTER, k] | planes[NUMBER, k] | planes[WHITESPACE, k] | planes[BREAK, k]
    i = (k << 6) + trailing_zeros(stop)
    while i < end and (has(planes, NEWLINE, i) or has(planes, SLASH, i)):
        i += 1
    return i


@helper
def whitespace_end(planes, i, end):
    """Return the end of `\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+` at byte i, a whitespace character."""
    run = min(run_end(planes, WHITESPACE, i), end)
    newline = last_in(planes, NEWLINE, i, run)
    if newline > i:  # `\s*[\r\n]+`
        return newline
    if run == end:  # `\s+(?!\S)` at the end of the text
        return run
    last = run - 1
    while has(planes, CONT, last):
        last -= 1
    if last > i:  # `\s+(?!\S)`
        return last
    return run  # `\s+`


@helper
def pretoken_end(text, planes, i, end, fold):
    """Return the end of the pretoken that starts at byte i."""
    letter = has(planes, LETTER, i)
    number = has(planes, NUMBER, i)
    mark = has(planes, MARK, i)
    if not letter and not number and not has(planes, NEWLINE, i):
        # `[^\r\n\p{L}\p{N}]?U*L+(?i:'s|…)?` and the same with U+L*, with a leader
        first = character_end(planes, i)
        if first < end and (has(planes, LETTER, first) or has(planes, MARK, first)):
            return with_contraction(
                text, planes, word_end(planes, first, end, first if mark else 0), end, fold
            )
    if letter or mark:  # … and without one
        return with_contraction(text, planes, word_end(planes, i, end, 0), end, fold)
    if number:  # `\p{N}{1,3}`
        n = 0
        while i < end and n < 3 and has(planes, NUMBER, i):
            i = character_end(planes, i)
            n += 1
        return i
    if has(planes, WHITESPACE, i):
        follows = i + 1 < end and not (
            has(planes, LETTER, i + 1) or has(planes, NUMBER, i + 1) or has(planes, WHITESPACE, i + 1)
        )
        if has(planes, BLANK, i) and follows:  # ` [^\s\p{L}\p{N}]+[\r\n/]*`
            return punctuation_end(planes, i + 1, end)
        return whitespace_end(planes, i, end)
    return punctuation_end(planes, i, end)  # `[^\s\p{L}\p{N}]+[\r\n/]*`
