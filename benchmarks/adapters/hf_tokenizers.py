"""Hugging Face tokenizers, fed whole documents, with all bytes in the alphabet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import tokenizers
from bpenb._byte_map import from_printable
from tokenizers import models, pre_tokenizers, trainers

from benchmarks.documents import read_documents

TWIN = {"ties": "huggingface", "reads": "documents", "gives": "pairs"}
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
count = None


def version() -> str:
    return tokenizers.__version__


def _train(path: str, vocab_size: int, special: str) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[special], initial_alphabet=ALPHABET, show_progress=False
    )
    tokenizer.train_from_iterator(read_documents(path, special), trainer)
    return tokenizer


def train(path: str, vocab_size: int, special: str) -> Callable[[], list[tuple[bytes, ...]]]:
    tokenizer = _train(path, vocab_size, special)
    return lambda: [tuple(map(from_printable, m)) for m in json.loads(tokenizer.to_str())["model"]["merges"]]


if __name__ == "__main__":
    _train(sys.argv[1], int(sys.argv[2]), sys.argv[3]).save(sys.argv[4])
