"""What training holds: flat arrays, grouped by what they are about.

    words    a row of token ids per distinct word, shrinking in place (rows.py has the layout)
    pairs    one line per pair ever born, and its postings (the rows that hold it)
    heap     (count, pair id), a binary heap; a count is an upper bound until it is checked
    tokens   the bytes of each token, and when a merge last used it
    births   scratch of one merge: the new pairs, indexed by their neighbour
    learned  the merges so far, and the cursor (where every growing array ends)

A pair is born once: all its occurrences appear in the step that mints the younger of its two
tokens, and from then on its count only falls. So postings are written once, in one block, and
no hash table is needed (docs/decisions/0004-merge-loop.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, CountArray, IdArray, Int64Array

__all__ = [
    "HEAP_SIZE",
    "N_CURSORS",
    "N_MERGES",
    "N_PAIRS",
    "N_POSTINGS",
    "N_POSTINGS_READ",
    "N_RECOUNTS",
    "N_STALE_CHECKS",
    "Births",
    "Learned",
    "Limits",
    "PairHeap",
    "PairIndex",
    "TokenTable",
    "WordStore",
]

# Places in `Learned.cursor`.
N_MERGES, N_PAIRS, N_POSTINGS, HEAP_SIZE, N_STALE_CHECKS, N_RECOUNTS, N_POSTINGS_READ = range(7)
N_CURSORS = 7


class WordStore(NamedTuple):
    """Distinct words as rows of token ids, each behind its count; row r begins at rows[2 r]."""

    rows: IdArray
    counts: CountArray  # the same memory, 8 bytes at a time: counts[r]
    places: IdArray  # int32[n_rows], where the rows are, ascending


class PairIndex(NamedTuple):
    """All pairs by pair id, and the inverted index: a block of postings for each."""

    keys: Int64Array  # left << 32 | right
    counts: CountArray  # as of `checked_at`
    checked_at: IdArray  # number of merges made when the pair was last counted
    posting_offsets: Int64Array
    posting_lengths: IdArray
    posting_rows: IdArray  # append-only; ascending within a pair


class PairHeap(NamedTuple):
    """A binary max-heap as parallel arrays."""

    counts: CountArray
    pair_ids: IdArray


class TokenTable(NamedTuple):
    """The tokens by learning id."""

    token_bytes: ByteArray
    token_offsets: Int64Array
    prefixes: np.ndarray[tuple[int], np.dtype[np.uint64]]  # first 8 bytes, big-endian, 0-padded
    last_as_left: IdArray  # the last merge that used the token as its left part, or -1
    last_as_right: IdArray


class Births(NamedTuple):
    """Scratch of one merge. Slot 2 t is the pair (t, new), slot 2 t + 1 is (new, t)."""

    counts: CountArray
    n_rows: IdArray
    last_row: IdArray  # last row noted for the slot; then the pair id that it was given
    slots: IdArray  # the slots in use
    event_slots: IdArray  # one event per slot and row: the postings to be
    event_rows: IdArray
    used: Int64Array  # slots and events in use


class Learned(NamedTuple):
    """The result so far."""

    merges: IdArray  # [n_merges, 2]
    merge_counts: CountArray
    cursor: Int64Array


class Limits(NamedTuple):
    """What bounds a training and one slice of it."""

    n_merges: int
    min_count: int
    max_token_length: int  # bytes, inclusive
    tie_rule: int
    n_base_tokens: int  # ids of the merges follow
    slice_postings: int  # postings read or rewritten before the loop returns
    parallel_postings: int  # a stale pair with more of them is left to the parallel recount
