"""Room to merge one word in; its sizes decide which way a word goes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import IdArray, Int64Array
from bpenb.encoding.merge_long import NODE_FIELDS
from bpenb.encoding.merge_short import SHORT_WORD

__all__ = ["EncodeScratch", "make_scratch"]


class EncodeScratch(NamedTuple):
    """Room to merge one word in.

    Attributes:
        ids: int32[≥ longest].
        values: int64[short_word]; words up to that many bytes are merged by scanning.
        nodes: int64[longest, 4], for the longer ones.
        heap: int64[2 * longest], for the longer ones.
    """

    ids: IdArray
    values: Int64Array
    nodes: Int64Array
    heap: Int64Array


def make_scratch(longest: int, short_word: int = SHORT_WORD) -> EncodeScratch:
    """Return scratch for words of at most `longest` bytes: 52 bytes per byte of a long one."""
    n = longest if longest > short_word else 0
    return EncodeScratch(
        np.empty(max(longest, short_word), dtype=np.int32),
        np.empty(short_word, dtype=np.int64),
        np.empty((n, NODE_FIELDS), dtype=np.int64),
        np.empty(2 * n, dtype=np.int64),
    )
