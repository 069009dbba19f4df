"""Stage 2 for `cl100k`, `llama3`, `qwen2` and `nanochat`: starts of pretokens on 64-bit masks.

It is also the first step of `o200k`, where marks are letters.

With O = neither letter, number nor whitespace; W = whitespace but CR and LF; "before" and
"after" never look over a BREAK. Where a pretoken starts, alternative by alternative:

    `[^\\r\\n\\p{L}\\p{N}]?\\p{L}+`
                    at a run of letters, unless a leader stands before it: any W, or an O that is
                    a run of its own and is not itself led by U+0020; then the leader is the start
    `\\p{N}{1,n}`    at a run of numbers, and again every n characters
    ` ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*`
                    at a run of O, unless U+0020 stands before it; CR and LF right behind the run
                    belong to it and start nothing ("absorbed")
    `\\s*[\\r\\n]+`   at a run of whitespace (less what is absorbed); it reaches to its last CR or LF
    `\\s+(?!\\S)`     at what is left behind that (the "tail")
    `\\s+`           at the last character of a run if it is W and something other follows: there
                    it leads, or stands alone
    `'(?i:[sdmt]|ll|ve|re)`
                    where an apostrophe is a start, look at the bytes behind it: rare
"""

from __future__ import annotations

import numpy as np

from bpenb._intrinsics import trailing_zeros
from bpenb._jit import helper, kernel
from bpenb.pretokenize.planes import (
    BLANK,
    BREAK,
    CONT,
    HARD,
    LETTER,
    MARK,
    NEWLINE,
    NUMBER,
    SLASH,
    START,
    WHITESPACE,
)
from bpenb.pretokenize.scan_masks import after, has_break, set_leads, set_start

__all__ = ["MARKS_ARE_LETTERS", "MARKS_ARE_OTHER", "scan_cl100k", "split_numbers"]

# mypy: disable-error-code="no-untyped-def"

MARKS_ARE_OTHER, MARKS_ARE_LETTERS = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TOP = np.uint64(63)


@helper
def drop_tail(planes, i):
    """Take back the start of the tail that turned out to end before the CR or LF at byte i."""
    k = i >> 6
    below = planes[START, k] & ((_ONE << np.uint64(i & 63)) - _ONE)
    while below == _ZERO:
        k -= 1
        below = planes[START, k]
    while below & (below - _ONE):  # the highest bit
        below &= below - _ONE
    planes[START, k] ^= below


@kernel
def scan_cl100k(planes, n_blocks, marks):
    """Mark the starts of the cl100k pattern; numbers and contractions are refined later.

    planes : uint64[N_PLANES, n_blocks + 1], filled, BREAK set also behind the last byte;
             START is written, and HARD: slashes right behind absorbed CR and LF
    marks  : MARKS_ARE_LETTERS or MARKS_ARE_OTHER
    O(n_bytes)
    """
    letters_before = numbers_before = other_before = blank_before = _ZERO
    space_before = w_before = newline_before = lone_before = absorbed_before = _ZERO
    absorb_carry = tail_carry = lone_carry = _ZERO
    for k in range(n_blocks):
        breaks = planes[BREAK, k]
        letters = planes[LETTER, k] | (planes[MARK, k] & marks)
        numbers = planes[NUMBER, k]
        white = planes[WHITESPACE, k]
        newline = planes[NEWLINE, k]
        blank = planes[BLANK, k]
        w = white & ~newline
        other = ~(letters | numbers | white)

        # ` ?[^\s\p{L}\p{N}]+[\r\n]*`: adding 1 at the first CR or LF of a run carries to its end
        other_starts = other & ~after(other, other_before, breaks) & ~after(blank, blank_before, breaks)
        chain = newline & ~breaks
        total = chain + (chain & after(other, other_before, breaks)) + absorb_carry
        absorb_carry = _ONE if total < chain else _ZERO
        absorbed = chain & ~total
        planes[HARD, k] = planes[SLASH, k] & after(absorbed, absorbed_before, breaks)
        absorbed_before = absorbed
        space = white & ~absorbed

        # `\s*[\r\n]+|\s+(?!\S)|\s+`
        kept_newline = newline & space
        tails = w & after(kept_newline, newline_before, breaks)
        starts = other_starts | tails | (space & ~after(space, space_before, breaks))
        chain = w & ~breaks
        total = chain + tails + tail_carry
        tail_carry = _ONE if total < chain else _ZERO
        dropped = total & ~chain & newline & ~breaks

        # `[^\r\n\p{L}\p{N}]?\p{L}+`: a lone O is its first byte, its continuation bytes, then a letter
        chain = planes[CONT, k] & other & ~breaks
        ends = after(other_starts, lone_before, breaks)
        total = chain + (chain & ends) + lone_carry
        lone_carry = _ONE if total < chain else _ZERO
        led = after(w, w_before, breaks) | ((ends | total) & ~chain & ~breaks)
        starts |= letters & ~after(letters, letters_before, breaks) & ~led

        starts |= numbers & ~after(numbers, numbers_before, breaks)
        planes[START, k] = starts
        while dropped:  # lines of blanks only: rare
            drop_tail(planes, (k << 6) + trailing_zeros(dropped))
            dropped &= dropped - _ONE
        ends_run = (planes[WHITESPACE, k + 1] << _TOP) | (white >> _ONE)
        ends_text = (planes[BREAK, k + 1] << _TOP) | (breaks >> _ONE)
        set_leads(planes, k, w & ~ends_run & ~ends_text)

        letters_before, numbers_before, other_before, blank_before = letters, numbers, other, blank
        space_before, w_before, newline_before, lone_before = space, w, kept_newline, other_starts


@kernel
def split_numbers(planes, n_blocks, longest):
    """Let a pretoken start every `longest` characters within a run of numbers.

    Assumes that START marks the first byte of every run.
    O(n_blocks + bytes of numbers)
    """
    i = np.int64(0)
    for k in range(n_blocks):
        firsts = planes[NUMBER, k] & planes[START, k]
        while firsts:
            first = (k << 6) + trailing_zeros(firsts)
            firsts &= firsts - _ONE
            if first < i:  # a start that was set here, in an earlier block as well, is no first
                continue
            i = first + 1
            n = 0
            while planes[NUMBER, i >> 6] >> np.uint64(i & 63) & _ONE and not has_break(planes, i):
                if not planes[CONT, i >> 6] >> np.uint64(i & 63) & _ONE:
                    n += 1
                    if n % longest == 0:
                        set_start(planes, i)
                i += 1
