"""Whether this room's kernels are compiled, and compiling them ahead of need."""

from __future__ import annotations

import numpy as np

from bpenb._jit import is_compiled
from bpenb.preparing.document_hash import gather_documents, hash_documents

__all__ = ["kernels_compiled", "warmup"]


def kernels_compiled() -> bool:
    """Tell whether documents can be split and shuffled without compiling."""
    return is_compiled(gather_documents, hash_documents)


def warmup() -> None:
    """Compile (or load) every kernel of this room, for ids of both widths."""
    starts, ends = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    for dtype in (np.uint16, np.uint32):
        ids = np.zeros(1, dtype=dtype)
        hash_documents(ids, starts, ends, np.uint64(1), np.zeros(1, dtype=np.uint64))
        gather_documents(ids, starts, ends, starts, np.empty_like(ids))
