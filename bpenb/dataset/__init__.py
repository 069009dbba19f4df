"""Token ids on disk: the only writer of tokens."""

from bpenb.dataset.npy import NpyWriter, id_dtype, read_ids

__all__ = ["NpyWriter", "id_dtype", "read_ids"]
