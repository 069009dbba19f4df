"""gigabpe; it reads lines, and takes a special token in the text for ordinary text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata

import gigabpe
from bpenb._byte_map import from_printable

TWIN = {"ties": "huggingface", "reads": "lines", "gives": "pairs"}
count = None


def version() -> str:
    return metadata.version("gigabpe")


def train(path: str, vocab_size: int, special: str) -> Callable[[], list[tuple[bytes, ...]]]:
    _, merges = gigabpe.train_bpe(
        [path], vocab_size, special_tokens=[special], pretokenizer="bytelevel", min_frequency=1
    )
    return lambda: [tuple(map(from_printable, merge)) for merge in merges]


if __name__ == "__main__":
    corpus, size, special_token, out = sys.argv[1:]
    gigabpe.train_tokenizer(
        [corpus], int(size), out, special_tokens=[special_token], pretokenizer="bytelevel", min_frequency=1
    )
