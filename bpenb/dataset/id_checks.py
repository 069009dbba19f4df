"""What a writer takes: ids that fit, and ends of documents that ascend."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb.errors import OutputError

__all__ = ["NO_ENDS", "check_ends", "fit_ids"]

NO_ENDS: Int64Array = np.zeros(0, dtype=np.int64)
NO_ENDS.flags.writeable = False


def fit_ids(
    ids: npt.NDArray[Any], dtype: np.dtype[Any], n_vocab: int, checked: bool = False
) -> npt.NDArray[Any]:
    """Return ids as an array of the file's dtype; nothing ever wraps.

    Args:
        ids: one dimension, any integer dtype.
        dtype: of the file.
        n_vocab: every id must be below.
        checked: the caller has looked; if the dtype is the file's, no id is looked at again.

    Returns:
        C-contiguous; `ids` itself where it will do.

    Raises:
        OutputError: an id that is negative or not below `n_vocab`.
        TypeError: no integers, or not one dimension.

    Example:
        >>> fit_ids(np.array([1, 2]), np.dtype("<u2"), 300).dtype
        dtype('uint16')
    """
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise TypeError(f"ids must be integers in one dimension, not {ids.dtype} in {ids.ndim}")
    if ids.size and not (checked and ids.dtype == dtype):
        low, high = 0 if ids.dtype.kind == "u" else int(ids.min()), int(ids.max())
        if low < 0 or high >= n_vocab:
            wrong = low if low < 0 else high
            raise OutputError(f"id {wrong} is not in 0..{n_vocab - 1}, and is not cut down to fit")
    return np.ascontiguousarray(ids, dtype=dtype)


def check_ends(document_ends: npt.NDArray[Any], n_ids: int) -> Int64Array:
    """Return the ends of documents within `n_ids` ids as int64.

    Args:
        document_ends: ascending; an end twice is an empty document.
        n_ids: none is beyond.

    Raises:
        OutputError: ends that do not ascend, or that are not in 0..n_ids.
        TypeError: no integers, or not one dimension.
    """
    if document_ends.ndim != 1 or (document_ends.size and document_ends.dtype.kind not in "iu"):
        raise TypeError(f"document_ends must be integers in one dimension, not {document_ends.dtype}")
    ends = np.ascontiguousarray(document_ends, dtype=np.int64)
    if ends.size and (ends[0] < 0 or ends[-1] > n_ids or bool((ends[1:] < ends[:-1]).any())):
        raise OutputError(f"document_ends must ascend within 0..{n_ids}, where the ids are that they end")
    return ends
