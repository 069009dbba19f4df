"""Stage 2 for `o200k`: starts of pretokens on 64-bit masks, and a walk where those do not tell.

    U = [\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}] (plane UPPER)     L = [\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}] (plane LOWER)

Against `cl100k` (scan_cl100k.py, with marks for letters):

    `U*L+`, `U+L*`   a run of letters is cut before what is only U, behind what is only L, with or
                     without letters that are both between them
    `(?i:'s|…)?`     a contraction belongs to the word before it
    `[\\r\\n/]*`     slashes behind CR and LF belong to the punctuation before those

Masks do not tell, and a walk (walk_o200k.py) does, around HARD places: marks that follow no letter (they
lead, or are punctuation); what is only U behind letters that are both, where no L stands before those (it
depends on what comes after); slashes behind absorbed CR and LF. All are rare.
docs/decisions/0019-o200k-by-masks.md
"""

from __future__ import annotations

import numpy as np

from bpenb._intrinsics import trailing_zeros
from bpenb._jit import helper, kernel
from bpenb.pretokenize.planes import APOSTROPHE, BREAK, HARD, LETTER, LOWER, MARK, START, UPPER
from bpenb.pretokenize.scan_masks import after, contraction_length, has_break, set_start
from bpenb.pretokenize.walk_o200k import has, pretoken_end

__all__ = ["join_contractions", "split_cases", "walk_hard_places"]

# mypy: disable-error-code="no-untyped-def"

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def split_cases(planes, n_blocks):
    """Let a pretoken start where the case of letters asks for it, and note the HARD places.

    planes : START and HARD as `scan_cl100k` left them
    O(n_blocks)
    """
    seen_before = open_before = run_before = carry = _ZERO
    for k in range(n_blocks):
        breaks = planes[BREAK, k]
        upper = planes[UPPER, k] & ~planes[LOWER, k]
        lower = planes[LOWER, k] & ~planes[UPPER, k]
        both = planes[UPPER, k] & planes[LOWER, k]
        run = planes[LETTER, k] | planes[MARK, k]
        # Adding 1 at the first of the letters that are both, right behind an L, carries to their end.
        chain = both & ~breaks
        total = chain + (chain & after(lower, seen_before, breaks)) + carry
        carry = _ONE if total < chain else _ZERO
        reached = chain & ~total
        seen = lower | reached
        unseen = both & ~reached
        planes[START, k] |= upper & after(seen, seen_before, breaks)
        planes[HARD, k] |= upper & after(unseen, open_before, breaks)
        planes[HARD, k] |= planes[MARK, k] & ~after(run, run_before, breaks)
        seen_before, open_before, run_before = seen, unseen, run


@kernel
def join_contractions(text, planes, n_blocks, fold):
    """Let no pretoken start in a contraction that follows a word, but one behind it.

    planes : START as `split_cases` left it; HARD is added to
    fold   : FOLD or ASCII_FOLD, as in `contraction_length`
    O(n_blocks + apostrophes)
    """
    last_end = np.int64(-1)
    for k in range(n_blocks):
        found = planes[APOSTROPHE, k]
        while found:
            i = (k << 6) + trailing_zeros(found)
            found &= found - _ONE
            if i == 0 or i == last_end or has_break(planes, i):
                continue
            if has(planes, LETTER, i - 1) or has(planes, MARK, i - 1):
                length = contraction_length(text, planes, i, fold)
                if length > 0:
                    last_end = i + 1 + length
                    clear_starts(planes, i, last_end)
                    set_start(planes, last_end)
                    if has(planes, UPPER, last_end) and has(planes, LOWER, last_end):
                        planes[HARD, last_end >> 6] |= _ONE << np.uint64(last_end & 63)


@helper
def clear_starts(planes, start, end):
    """Let no pretoken start at the bytes start to end − 1."""
    for k in range(start >> 6, (end + 63) >> 6):
        bits = _ALL
        if k == start >> 6:
            bits &= _ALL << np.uint64(start & 63)
        if k == end >> 6:
            bits &= (_ONE << np.uint64(end & 63)) - _ONE
        planes[START, k] &= ~bits


@helper
def start_before(planes, i, low):
    """Return the last place before byte i where a pretoken starts, or `low`."""
    i -= 1
    while i > low and not has(planes, START, i):
        i -= 1
    return max(i, low)


@helper
def walk(text, planes, i, hard, end, fold):
    """Walk from the pretoken that starts at i until the masks have told the same twice, behind `hard`."""
    agreed = 0
    while i < end and agreed < 2:
        stop = pretoken_end(text, planes, i, end, fold)
        clear_starts(planes, i + 1, stop)
        if stop < end:
            agreed = agreed + 1 if stop > hard and has(planes, START, stop) else 0
            set_start(planes, stop)
        i = stop
    return i


@kernel
def walk_hard_places(text, planes, segments, fold):
    """Walk around the HARD places of every segment.

    planes   : START and HARD as `join_contractions` left them
    segments : int64[n, ≥ 2]
    fold     : FOLD or ASCII_FOLD, as in `contraction_length`
    O(n_blocks + bytes around hard places)
    """
    for s in range(segments.shape[0]):
        low = segments[s, 0]
        end = segments[s, 1]
        for k in range(low >> 6, (end + 63) >> 6):
            found = planes[HARD, k]
            while found:
                hard = (k << 6) + trailing_zeros(found)
                found &= found - _ONE
                if low <= hard < end:
                    # The last but one: whether the last one is a start may depend on the hard place.
                    last = start_before(planes, hard + 1, low)
                    low = walk(text, planes, start_before(planes, last, low), hard, end, fold)
