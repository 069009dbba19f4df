"""The table of merges that encoding looks pairs up in: open addressing, one row per slot.

    slots  ┌─────────┬────────────────────┐   key   left << 32 | right, or EMPTY
           │ key     │ value              │   value rank << 32 | merged id
           ├─────────┼────────────────────┤
           │ EMPTY   │                    │   the smaller value is the merge that goes first
           └─────────┴────────────────────┘   a lookup touches one cache line, most often

At most half of the slots are taken, so a search that fails (most do) ends after 1.5 slots; and most of
those are answered by `filter`, one bit per hash, which stays in the processor's cache while the slots
of a large vocab do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import IdArray, Int64Array
from bpenb._jit import helper, kernel

__all__ = ["MAX_TOKENS", "NO_MERGE", "PairTable", "build_pair_table", "find_merge", "find_pair",
           "make_pair_table"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

MAX_TOKENS = 1 << 24  # ids and ranks below it: the hash does not overflow, the heap's keys fit
EMPTY = np.int64(-1)
NO_MERGE = np.int64(2**63 - 1)  # greater than every value

# Odd, random, of 37 bits: a token id below 2**24 times one of them, twice, stays below 2**62, so
# the hash is plain int64 arithmetic, the same under NumPy as compiled.
_MIX_LEFT = np.int64(0x15B2A9E6D7)
_MIX_RIGHT = np.int64(0x1A4F1C83B5)
_FOLD = np.int64(29)
_HALF = np.int64(32)
_FILTER_SHIFT = np.int64(20)
_ONE = np.uint64(1)


class PairTable(NamedTuple):
    """Every merge by its pair.

    Attributes:
        slots: int64[capacity, 2], key and value; capacity is a power of two.
        filter: uint64[], a power of two of bits; none of a pair's is 0.
    """

    slots: Int64Array
    filter: np.ndarray[tuple[int], np.dtype[np.uint64]]


@helper
def _hash(left, right):
    mixed = left * _MIX_LEFT + right * _MIX_RIGHT
    return mixed ^ (mixed >> _FOLD)


@helper
def _filter_bit(filter, mixed):
    """Return the place of a hash's bit."""
    return (mixed >> _FILTER_SHIFT) & (np.int64(filter.shape[0]) * 64 - 1)


@helper
def find_pair(slots, left, right):
    """Look a pair of token ids up.

    slots   : int64[capacity, 2]
    left, right : token ids
    Returns : int64, rank << 32 | merged id, or NO_MERGE
    O(1)

    Example:
        >>> import numba
        >>> @numba.njit
        ... def rank_and_id(slots, left, right):
        ...     value = find_pair(slots, left, right)
        ...     return value >> 32, value & 0xFFFFFFFF
        >>> table = make_pair_table(np.array([[97, 98]], np.int32), np.array([256], np.int32))
        >>> rank_and_id(table.slots, 97, 98)
        (0, 256)
    """
    left = np.int64(left)
    right = np.int64(right)
    key = (left << _HALF) | right
    mask = np.int64(slots.shape[0] - 1)
    slot = _hash(left, right) & mask
    while slots[slot, 0] != key:
        if slots[slot, 0] == EMPTY:
            return NO_MERGE
        slot = (slot + 1) & mask
    return slots[slot, 1]


@helper
def find_merge(pairs, left, right):
    """Look a pair up as `find_pair` does, asking the filter first: quicker where most pairs do not merge."""
    left = np.int64(left)
    right = np.int64(right)
    bit = _filter_bit(pairs.filter, _hash(left, right))
    if pairs.filter[bit >> 6] >> np.uint64(bit & 63) & _ONE:
        return find_pair(pairs.slots, left, right)
    return NO_MERGE


@kernel
def build_pair_table(merges, merge_ids, slots, filter):
    """Insert every merge into empty slots.

    merges    : int32[n, 2], token ids, row = rank; no pair twice
    merge_ids : int32[n], id of the result
    slots     : int64[capacity, 2], written; all EMPTY before; capacity >= 2 n, a power of two
    filter    : uint64[], written; zeros before
    O(n)
    """
    mask = np.int64(slots.shape[0] - 1)
    for rank in range(merges.shape[0]):
        left = np.int64(merges[rank, 0])
        right = np.int64(merges[rank, 1])
        mixed = _hash(left, right)
        bit = _filter_bit(filter, mixed)
        filter[bit >> 6] |= _ONE << np.uint64(bit & 63)
        slot = mixed & mask
        while slots[slot, 0] != EMPTY:
            slot = (slot + 1) & mask
        slots[slot, 0] = (left << _HALF) | right
        slots[slot, 1] = (np.int64(rank) << _HALF) | np.int64(merge_ids[rank])


def make_pair_table(merges: IdArray, merge_ids: IdArray) -> PairTable:
    """Return the table of all merges.

    Args:
        merges: int32[n, 2], token ids of the parts; row = rank; no pair twice.
        merge_ids: int32[n], token id of each result.

    Returns:
        The table, of 16 bytes for each of 2 n to 4 n slots, and a bit for each of 8 n to 16 n hashes.

    Example:
        >>> table = make_pair_table(np.array([[97, 98]], np.int32), np.array([256], np.int32))
        >>> table.slots.shape
        (2, 2)
    """
    n_merges = merges.shape[0]
    highest = max(int(merges.max(initial=0)), int(merge_ids.max(initial=0)), n_merges - 1)
    assert highest < MAX_TOKENS, f"{highest} is not below {MAX_TOKENS}"
    capacity = 1 << max(1, (2 * n_merges - 1).bit_length())
    slots = np.full((capacity, 2), EMPTY, dtype=np.int64)
    filter = np.zeros(max(1, 4 * capacity // 64), dtype=np.uint64)
    # Own copies: a frozen model's arrays are read-only, and that would be another signature.
    own_merges, own_ids = (np.array(array, dtype=np.int32, order="C") for array in (merges, merge_ids))
    build_pair_table(own_merges, own_ids, slots, filter)
    return PairTable(slots, filter)
