"""gigatoken's trainer; it gives plain Python objects and has no file to save them in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata

import gigatoken

TWIN = {"ties": "huggingface", "reads": "documents", "gives": "pairs"}
count = None


def version() -> str:
    return metadata.version("gigatoken")


def train(path: str, vocab_size: int, special: str) -> Callable[[], list[tuple[bytes, ...]]]:
    source = gigatoken.TextFileSource([path], separator=special)
    _, merges = gigatoken.train_bpe(source, vocab_size, [special])
    return lambda: list(merges)


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]), sys.argv[3])
