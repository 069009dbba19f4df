"""tiktoken; it reads and writes no files: documents in memory, from and to Python lists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken

from benchmarks.vocabs import VOCABS, tiktoken_encoding

THREADS = int(os.environ.get("BPENB_BENCH_WORKERS", "0")) or os.cpu_count() or 1
encode_file = None


def version() -> str:
    return tiktoken.__version__


def load(path: str) -> tiktoken.Encoding:
    name = next(name for name, vocab in VOCABS.items() if vocab.file == Path(path).name)
    return tiktoken_encoding(name, Path(path).parent)


def encode_batch(tokenizer: tiktoken.Encoding, documents: list[str]) -> list[list[int]]:
    return tokenizer.encode_ordinary_batch(documents, num_threads=THREADS)


def flat(batch: list[list[int]]) -> Any:
    return np.concatenate([np.array(ids, dtype=np.uint32) for ids in batch])
