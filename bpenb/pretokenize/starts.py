"""Reading the START plane: from one bit per byte to positions."""

from __future__ import annotations

import numpy as np

from bpenb._arrays import Int64Array
from bpenb._intrinsics import trailing_zeros
from bpenb._jit import helper, kernel

__all__ = ["ends_in_block", "list_ends"]

# mypy: disable-error-code="no-untyped-def"

_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@helper
def ends_in_block(starts, k, start, end):
    """Return the bits of block k where pretokens end: starts behind `start`, and `end` itself.

    The byte at `end`, first of a special token or of another segment, counts as a start.
    """
    bits = starts[k]
    if k == start >> 6:
        bits &= _ALL << np.uint64(start & 63) << _ONE
    if k == end >> 6:
        bit = _ONE << np.uint64(end & 63)
        bits = (bits & (bit - _ONE)) | bit
    return bits


@kernel
def write_ends(starts, n_bytes, ends):
    """Write where each pretoken of a text of one segment ends.

    starts  : uint64[], the START plane; byte 0 is a start
    ends    : int64[n_bytes], written as far as there are pretokens
    Returns : int64, number of pretokens
    O(n_bytes / 64 + pretokens)
    """
    n = 0
    for k in range((n_bytes + 63) >> 6):
        bits = starts[k]
        if k == 0:
            bits &= ~_ONE
        while bits:
            position = (k << 6) + trailing_zeros(bits)
            bits &= bits - _ONE
            if position < n_bytes:
                ends[n] = position
                n += 1
    ends[n] = n_bytes
    return n + 1


def list_ends(starts: np.ndarray[tuple[int], np.dtype[np.uint64]], n_bytes: int) -> Int64Array:
    """Return int64[n], where each pretoken of a text of one segment, not empty, ends."""
    ends = np.empty(n_bytes, dtype=np.int64)  # touched only as far as it is written
    return ends[: write_ends(starts, n_bytes, ends)]
