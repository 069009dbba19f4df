"""bpenb with the engine that runs any pattern: the `regex` package in processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import metadata

import bpenb

from benchmarks.adapters.bpenb import WORKERS

train = TWIN = None


def version() -> str:
    return f"{bpenb.__version__}, regex {metadata.version('regex')}"


def count(path: str, special: str, pattern: str) -> Callable[[], Mapping[bytes, int]]:
    counts = bpenb.count_words(
        path, special_tokens=[special], pattern=pattern, workers=WORKERS, engine="regex"
    )
    return counts.to_dict
