"""gigatoken; it writes no files, so NumPy saves its ids. RAYON_NUM_THREADS sets the number of threads."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any

import awkward as ak
import gigatoken
import numpy as np


def version() -> str:
    return metadata.version("gigatoken")


def load(path: str) -> Any:
    return gigatoken.Tokenizer.from_tiktoken(path)


def encode_file(tokenizer: Any, path: str, out: str) -> None:
    np.save(out, flat(tokenizer.encode_files([path])))


def encode_batch(tokenizer: Any, documents: list[str]) -> Any:
    return tokenizer.encode_batch(documents)


def flat(batch: Any) -> Any:
    return ak.to_numpy(ak.flatten(batch, axis=None))


if __name__ == "__main__":
    encode_file(load(sys.argv[1]), *sys.argv[2:])
