"""rustbpe, fed whole documents; it keeps tokens rather than pairs, and saves nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata

import rustbpe
from bpenb.patterns import PATTERNS

from benchmarks.documents import read_documents

TWIN = {"ties": "rustbpe", "reads": "documents", "gives": "tokens"}
count = None


def version() -> str:
    return metadata.version("rustbpe")


def train(path: str, vocab_size: int, special: str) -> Callable[[], list[tuple[bytes, ...]]]:
    tokenizer = rustbpe.Tokenizer()
    documents = read_documents(path, special)
    tokenizer.train_from_iterator(documents, vocab_size - 1, pattern=PATTERNS["gpt2"])
    return lambda: [(bytes(token),) for token, _ in tokenizer.get_mergeable_ranks()[256:]]


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]), sys.argv[3])
