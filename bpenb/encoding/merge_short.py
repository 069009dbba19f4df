"""Merge a short word: look at all its pairs, apply the one of lowest rank, and again.

    ids     l  o  w  e  r          values[i] belongs to the pair (ids[i], ids[i + 1])
    values   7  3  9  1            the least value goes first: er; what is behind moves up by one

Quadratic, and the quickest there is up to SHORT_WORD bytes (docs/decisions/0005-encoder-merge.md).
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import helper
from bpenb.encoding.pair_table import NO_MERGE, find_merge

__all__ = ["SHORT_WORD", "merge_short"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

SHORT_WORD = 32  # bytes: up to here the scan beats the heap

_ID = np.int64(0xFFFFFFFF)  # the part of a value that is the merged id


@helper
def _lowest(values, n_pairs):
    """Return the position of the leftmost least of values[:n_pairs], n_pairs > 0."""
    at = np.int64(0)
    best = values[0]
    for i in range(1, n_pairs):
        at = i if values[i] < best else at  # two selects: a branch would be guessed wrong too often
        best = min(best, values[i])
    return at


@helper
def merge_short(pairs, values, ids, start, n):
    """Merge the word ids[start : start + n] in place.

    pairs   : PairTable
    values  : int64[>= n], of each pair of neighbours as `find_pair` returns it; read and written
    ids     : int32[], the ids of the word's bytes at `start`; read and written
    Returns : int64, how many ids are left, from `start`
    O(n**2)
    """
    while n > 1:
        at = _lowest(values, n - 1)
        if values[at] == NO_MERGE:
            break
        here = start + at
        ids[here] = values[at] & _ID
        n -= 1
        for i in range(at + 1, n):
            ids[start + i] = ids[start + i + 1]
            values[i] = values[i + 1]  # the last one is of no pair, and not read again
        if at > 0:
            values[at - 1] = find_merge(pairs, ids[here - 1], ids[here])
        if at < n - 1:
            values[at] = find_merge(pairs, ids[here], ids[here + 1])
    return n
