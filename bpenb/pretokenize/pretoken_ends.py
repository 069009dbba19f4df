"""Where the pretokens of one text end, in one call from jitted code: planes → starts → ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, Int64Array
from bpenb._jit import kernel
from bpenb.pretokenize.classes import class_table
from bpenb.pretokenize.planes import BREAK, N_PLANES, PADDING, START, Planes, fill_planes
from bpenb.pretokenize.scan_cl100k import MARKS_ARE_OTHER, scan_cl100k, split_numbers
from bpenb.pretokenize.scan_masks import FOLD, NO_FOLD, scan_gpt2, scan_whitespace, split_contractions
from bpenb.pretokenize.starts import write_ends

__all__ = ["CL100K", "GPT2", "NANOCHAT", "QWEN2", "SPLIT_WHITESPACE", "ScanArrays", "list_pretoken_ends",
           "make_scan_arrays"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def"

# The patterns; of those with numbers in groups the value is the longest group.
SPLIT_WHITESPACE, QWEN2, NANOCHAT, CL100K, GPT2 = 0, 1, 2, 3, 4

_ONE = np.uint64(1)


class ScanArrays(NamedTuple):
    """What `list_pretoken_ends` reads and writes; use them again for the next text.

    Attributes:
        text: uint8[capacity + 72], zeros: a text goes to the front, and zeros stay behind it.
        classes: uint8[0x110000], the class of every code point in Unicode 16.0.
        planes: uint64[14, …], scratch.
        ends: int64[capacity], the result.
    """

    text: ByteArray
    classes: ByteArray
    planes: Planes
    ends: Int64Array


def make_scan_arrays(text: bytes = b"", capacity: int = 0) -> ScanArrays:
    """Return arrays for texts of at most `capacity` bytes, or for one text, which is put in.

    Example:
        >>> make_scan_arrays(b"it's").text[:5].tolist()
        [105, 116, 39, 115, 0]
    """
    n_bytes = max(len(text), capacity)
    padded = np.zeros(n_bytes + PADDING, dtype=np.uint8)
    padded[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    planes = np.zeros((N_PLANES, n_bytes // 64 + 3), dtype=np.uint64)
    return ScanArrays(padded, class_table(), planes, np.empty(n_bytes, dtype=np.int64))


@kernel
def list_pretoken_ends(pattern, text, n_bytes, classes, planes, ends):
    """List where each pretoken of a text ends.

    pattern : GPT2, CL100K (llama3 is the same), QWEN2, NANOCHAT or SPLIT_WHITESPACE
    text    : uint8[≥ n_bytes + 72], UTF-8; zeros behind n_bytes
    n_bytes : of the text; it holds no special token
    classes, planes : of `make_scan_arrays`
    ends    : int64[≥ n_bytes], written; ascending, the last is n_bytes
    Returns : int64, how many there are; or ~i if the 64 bytes at byte i, or the character that
              reaches into them, are not UTF-8
    O(n_bytes)

    Example:
        >>> text, classes, planes, ends = make_scan_arrays("it's  été".encode())
        >>> n = int(list_pretoken_ends(GPT2, text, 11, classes, planes, ends))
        >>> ends[:n].tolist()
        [2, 4, 5, 11]
    """
    if n_bytes == 0:
        return np.int64(0)
    invalid = fill_planes(text, n_bytes, classes, planes)
    if invalid >= 0:
        return ~np.int64(invalid)
    n_blocks = (n_bytes >> 6) + 1
    for k in range(n_blocks + 1):
        planes[BREAK, k] = np.uint64(0)
        planes[START, k] = np.uint64(0)
    planes[BREAK, 0] = _ONE
    planes[BREAK, n_bytes >> 6] |= _ONE << np.uint64(n_bytes & 63)
    if pattern == GPT2:
        scan_gpt2(planes, n_blocks)
        split_contractions(text, planes, n_blocks, NO_FOLD)
    elif pattern == SPLIT_WHITESPACE:
        scan_whitespace(planes, n_blocks)
    else:
        scan_cl100k(planes, n_blocks, MARKS_ARE_OTHER)
        split_numbers(planes, n_blocks, pattern)
        split_contractions(text, planes, n_blocks, FOLD)
    return np.int64(write_ends(planes[START], n_bytes, ends))
