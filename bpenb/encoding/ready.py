"""Whether this room's kernels are compiled, and compiling them ahead of need."""

from __future__ import annotations

from bpenb._jit import is_compiled
from bpenb.encoding.encode_words import encode_words
from bpenb.encoding.pair_table import build_pair_table
from bpenb.encoding.token_rows import decode_some
from bpenb.encoding.tokenizer import Tokenizer

__all__ = ["kernels_compiled", "warmup"]


def kernels_compiled() -> bool:
    """Tell whether encoding and decoding can start without compiling."""
    return is_compiled(build_pair_table, encode_words, decode_some)


def warmup() -> None:
    """Compile (or load) every kernel of this room: the constructor of any tokenizer does."""
    Tokenizer({0: b"a"}, [])
