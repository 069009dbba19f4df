"""token_bytes.npy: how many bytes each id stands for, to turn a loss per token into bits per byte."""

from __future__ import annotations

import io

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.model import BPEModel

__all__ = ["byte_counts", "token_bytes_npy"]


def byte_counts(model: BPEModel) -> Int64Array:
    """Return int64[n_vocab]: the bytes of each id; 0 for special tokens, which are no text, and for holes.

    Example:
        >>> model = BPEModel.from_vocab({0: b"a", 1: b"ab", 2: b"b"}, [(b"a", b"b")], ["<s>"], "gpt2")
        >>> byte_counts(model).tolist()
        [1, 2, 1, 0]
    """
    counts = np.diff(model.token_offsets)
    counts[list(model.special_tokens.values())] = 0
    return counts


def token_bytes_npy(model: BPEModel) -> bytes:
    """Return the contents of token_bytes.npy: int32[n_vocab]."""
    out = io.BytesIO()
    np.save(out, byte_counts(model).astype("<i4"))
    return out.getvalue()
