"""Rows: the tokens of a word behind its count, and what is done in one row.

    row r   begins at rows[2 r] (units of 8 bytes, so that an int32 reaches 16 GB)
      0, 1  the word's count, an int64: counts[r]
      2     number of tokens, and the flags of a long word
      3 …   the tokens; they move to the front as the row shrinks

All that a merge wants of a word is in one or two cache lines, asked for before it is its turn.

A long word is several rows of SEGMENT tokens at first, one behind the other at SEGMENT_UNITS: a
merge costs the rows that hold the pair, not the word. A pair that lies across two rows belongs to
the first, and merges into it.
"""

from __future__ import annotations

import numpy as np

from bpenb._intrinsics import PAIR_PLACES, count_ones, pair_mask, trailing_zeros
from bpenb._jit import helper
from bpenb.training.births import note_birth

__all__ = ["HAS_NEXT", "HAS_PREVIOUS", "LENGTH_MASK", "LONGEST_ROW", "PADDING", "SEGMENT", "SEGMENT_UNITS",
           "UNITS_BEFORE", "count_in_row", "first_behind", "merge_row"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def,assignment"

UNITS_BEFORE = 3  # int32 places before the tokens
SEGMENT = 61  # tokens: 256 bytes with what stands before them
SEGMENT_UNITS = (UNITS_BEFORE + SEGMENT + 1) // 2
LONGEST_ROW = 125  # tokens of a word that is one row

LENGTH_MASK = (1 << 24) - 1
HAS_NEXT = 1 << 24  # rows of the same word
HAS_PREVIOUS = 1 << 25
NOTHING = np.int64(-1)
PADDING = PAIR_PLACES + 1  # places behind all rows: 17 are read at once
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@helper
def row_behind(rows, r):
    """Return the next row of the word that holds a token, or −1."""
    while rows[2 * r + 2] & HAS_NEXT:
        r += SEGMENT_UNITS
        if rows[2 * r + 2] & LENGTH_MASK:
            return r
    return NOTHING


@helper
def row_before(rows, r):
    """Return the previous row of the word that holds a token, or −1."""
    while rows[2 * r + 2] & HAS_PREVIOUS:
        r -= SEGMENT_UNITS
        if rows[2 * r + 2] & LENGTH_MASK:
            return r
    return NOTHING


@helper
def first_behind(rows, r):
    """Return the first token behind row r in its word, or −1."""
    behind = row_behind(rows, r)
    return np.int64(rows[2 * behind + UNITS_BEFORE]) if behind >= 0 else NOTHING


@helper
def last_before(rows, r):
    """Return (the last token before row r in its word, its row), or (−1, −1)."""
    before = row_before(rows, r)
    if before < 0:
        return NOTHING, NOTHING
    length = rows[2 * before + 2] & LENGTH_MASK
    return np.int64(rows[2 * before + UNITS_BEFORE + length - 1]), before


@helper
def begins_behind(rows, r, left, right):
    """Tell whether the word goes on with (left, right) behind row r."""
    behind = row_behind(rows, r)
    if behind < 0 or rows[2 * behind + UNITS_BEFORE] != left:
        return False
    if rows[2 * behind + 2] & LENGTH_MASK > 1:
        return rows[2 * behind + UNITS_BEFORE + 1] == right
    return first_behind(rows, behind) == right


@helper
def drop_first(rows, r):
    """Take the first token of row r away, which has one."""
    start = 2 * r + UNITS_BEFORE
    length = rows[2 * r + 2] & LENGTH_MASK
    for i in range(start, start + length - 1):
        rows[i] = rows[i + 1]
    rows[2 * r + 2] -= 1


@helper
def pairs_at(rows, i, last, left, right):
    """Return where (left, right) begins among the places i … i + 15 before `last`, a bit for each.

    No branch: a row has few tokens, but none knows how many.
    """
    n_places = np.uint64(min(max(last - i, 0), PAIR_PLACES))
    return pair_mask(rows, i, np.int32(left), np.int32(right)) & ((_ONE << n_places) - _ONE)


@helper
def count_in_row(rows, r, left, right):
    """Count the adjacent positions of (left, right) whose left token is in row r, overlapping ones too."""
    head = rows[2 * r + 2]
    start = 2 * r + UNITS_BEFORE
    last = start + (head & LENGTH_MASK) - 1
    n = count_ones(pairs_at(rows, start, last, left, right))
    for i in range(start + PAIR_PLACES, last, PAIR_PLACES):
        n += count_ones(pairs_at(rows, i, last, left, right))
    if head & HAS_NEXT and last >= start and rows[last] == left and first_behind(rows, r) == right:
        n += 1
    return n


@helper
def find_in_row(rows, start, last, left, right):
    """Return the first place in [start, last) where (left, right) stands, or `last`."""
    i = start
    found = pairs_at(rows, i, last, left, right)
    while found == _ZERO and i + PAIR_PLACES < last:
        i += PAIR_PLACES
        found = pairs_at(rows, i, last, left, right)
    return i + trailing_zeros(found) if found else last


@helper
def merge_row(words, births, r, left, right, new):
    """Merge (left, right) in row r from left to right, and note every new adjacency.

    `aaaa` with (a, a) becomes `aa aa`; a row that holds no such pair is left alone. The rows of a
    long word are merged in their order.
    O(tokens of the row)
    """
    rows = words.rows
    head = np.int64(rows[2 * r + 2])
    start = 2 * r + UNITS_BEFORE
    end = start + (head & LENGTH_MASK)
    behind = first_behind(rows, r) if head & HAS_NEXT else NOTHING
    i = find_in_row(rows, start, end - 1, left, right)
    if i >= end - 1 and not (behind == right and end > start and rows[end - 1] == left):
        return
    count = words.counts[r]
    written = i
    while i < end:
        token = np.int64(rows[i])
        if token == left and (np.int64(rows[i + 1]) if i + 1 < end else behind) == right:
            token = new
            if i + 1 == end:
                drop_first(rows, row_behind(rows, r))
            i += 1
        i += 1
        rows[written] = token
        if written > start:
            before = np.int64(rows[written - 1])
            if token == new:
                note_birth(births, 2 * before, r, count)
            elif before == new:
                note_birth(births, 2 * token + 1, r, count)
        elif token == new and head & HAS_PREVIOUS:
            before, its_row = last_before(rows, r)
            if before >= 0:
                note_birth(births, 2 * before, its_row, count)
        written += 1
    rows[2 * r + 2] = (head & ~LENGTH_MASK) | (written - start)
    if head & HAS_NEXT and rows[written - 1] == new and not begins_behind(rows, r, left, right):
        behind = first_behind(rows, r)  # else it is noted when the next row is merged
        if behind >= 0:
            note_birth(births, 2 * behind + 1, r, count)
