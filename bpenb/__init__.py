"""bpenb: byte-level BPE tokenizers, trained and applied at speed, in pure Python and Numba.

    train, train_from_iterator, train_from_counts     text or counts → Tokenizer
    train_bpe                                         the same with the signature of CS336
    count_words, count_words_from_iterator            text → WordCounts
    Tokenizer, WordCounts                             encode, decode, save, load; count, merge
    Checkpoint                                        where a training keeps its merges
    learn_merges, apply_merges                        the same on sequences of any whole numbers

Importing the package imports neither NumPy nor Numba: each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpenb.api import (
        count_words,
        count_words_from_iterator,
        train,
        train_bpe,
        train_from_counts,
        train_from_iterator,
    )
    from bpenb.counting import WordCounts, Workforce
    from bpenb.encoding import Tokenizer
    from bpenb.errors import BpenbError
    from bpenb.progress import Progress
    from bpenb.training import Checkpoint, apply_merges, learn_merges

__version__ = "0.1.0"

__all__ = [
    "BpenbError",
    "Checkpoint",
    "Progress",
    "Tokenizer",
    "WordCounts",
    "Workforce",
    "__version__",
    "apply_merges",
    "count_words",
    "count_words_from_iterator",
    "learn_merges",
    "train",
    "train_bpe",
    "train_from_counts",
    "train_from_iterator",
]

_HOMES = {
    "BpenbError": "bpenb.errors",
    "Checkpoint": "bpenb.training",
    "Progress": "bpenb.progress",
    "Tokenizer": "bpenb.encoding",
    "WordCounts": "bpenb.counting",
    "Workforce": "bpenb.counting",
    "apply_merges": "bpenb.training",
    "learn_merges": "bpenb.training",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bpenb' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES.get(name, "bpenb.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
