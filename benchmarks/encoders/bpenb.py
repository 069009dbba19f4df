"""bpenb; BPENB_BENCH_WORKERS sets the number of threads. From the shell it is `bpenb encode`."""

from __future__ import annotations

from typing import Any

import bpenb

from benchmarks.adapters.bpenb import WORKERS

encode_to_files = bpenb.encode_to_files  # imported now, as the others are, not in the first call


def version() -> str:
    return bpenb.__version__


def load(path: str) -> bpenb.Tokenizer:
    return bpenb.Tokenizer.load(path)


def encode_file(tokenizer: bpenb.Tokenizer, path: str, out: str) -> None:
    encode_to_files(tokenizer, path, out, workers=WORKERS)


def encode_batch(tokenizer: bpenb.Tokenizer, documents: list[str]) -> Any:
    return tokenizer.encode_batch_ragged(documents, workers=WORKERS)


def flat(batch: Any) -> Any:
    return batch.ids
