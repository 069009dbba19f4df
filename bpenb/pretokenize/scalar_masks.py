"""The questions of `byte_masks` answered byte by byte, for processors without quick vector compares.

Where a vector of 64 answers becomes a number in one or two instructions (x86: pmovmskb; AArch64: a few
adds), compares are far ahead; elsewhere LLVM takes the vector apart, and a look-up is quicker.
"""

from __future__ import annotations

import numpy as np

from bpenb._intrinsics import BYTE_MASKS
from bpenb._jit import helper

__all__ = ["scalar_byte_masks"]

# mypy: disable-error-code="no-untyped-def"

# Bit q of entry b answers question q for byte b.
_ANSWERS = np.array(
    [
        sum(any(a <= byte <= b for a, b in ranges) << q for q, (_, ranges) in enumerate(BYTE_MASKS))
        for byte in range(256)
    ],
    dtype=np.uint64,
)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@helper
def scalar_byte_masks(text, index):
    """Return a uint64 for each question of BYTE_MASKS; bit i answers it for text[index + i]."""
    a = b = c = d = e = f = g = h = i = j = _ZERO
    for place in range(64):
        bits = _ANSWERS[text[index + place]]
        at = np.uint64(place)
        a |= (bits & _ONE) << at
        b |= (bits >> np.uint64(1) & _ONE) << at
        c |= (bits >> np.uint64(2) & _ONE) << at
        d |= (bits >> np.uint64(3) & _ONE) << at
        e |= (bits >> np.uint64(4) & _ONE) << at
        f |= (bits >> np.uint64(5) & _ONE) << at
        g |= (bits >> np.uint64(6) & _ONE) << at
        h |= (bits >> np.uint64(7) & _ONE) << at
        i |= (bits >> np.uint64(8) & _ONE) << at
        j |= (bits >> np.uint64(9) & _ONE) << at
    return a, b, c, d, e, f, g, h, i, j
