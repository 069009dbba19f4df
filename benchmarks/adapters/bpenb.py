"""bpenb; BPENB_BENCH_WORKERS sets the number of workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import bpenb

WORKERS = int(os.environ.get("BPENB_BENCH_WORKERS", "0")) or None
TWIN = None


def version() -> str:
    return bpenb.__version__


def count(path: str, special: str, pattern: str) -> Callable[[], Mapping[bytes, int]]:
    return bpenb.count_words(path, special_tokens=[special], pattern=pattern, workers=WORKERS).to_dict


def train(path: str, vocab_size: int, special: str) -> Callable[[], list[tuple[bytes, ...]]]:
    _, merges = bpenb.train_bpe(path, vocab_size, [special], workers=WORKERS)
    return lambda: list(merges)


def twin(
    path: str, vocab_size: int, special: str, *, ties: str, reads: str, gives: str
) -> list[tuple[bytes, ...]]:
    """Train as a peer does, which reads `documents` or `lines` and gives `pairs` or `tokens`."""
    if reads == "lines":  # and takes the special token in the text for ordinary text
        lines = [line + b"\n" for line in Path(path).read_bytes().split(b"\n")]
        lines[-1] = lines[-1][:-1]
        tokenizer = bpenb.train_from_iterator(lines, vocab_size=vocab_size - 1, special_tokens=(), ties=ties)
    else:
        tokenizer = bpenb.train(path, vocab_size=vocab_size, special_tokens=[special], ties=ties)
    return [(a + b,) for a, b in tokenizer.merges] if gives == "tokens" else list(tokenizer.merges)
