"""One measurement of encoding, in a process of its own: `python -m benchmarks.encoding_child REQUEST`.

As child.py: a JSON object in, a JSON line out. The tokenizer is loaded off the clock, unless loading is
what is measured. `file` and `batch` are first calls; what is `warm` is called twice before.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

from benchmarks.child import Request, answer, timed
from benchmarks.corpora import SPECIAL
from benchmarks.documents import read_documents
from benchmarks.vocabs import our_tokenizer

SHORT_TEXT = "A text of 20 letters"
_SHORT_CALLS = 5000
_HASHED_AT_ONCE = 1 << 22


def file(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Encode a file into a file: a first call."""
    import numpy as np

    tokenizer, path, out = encoder.load(request["tokenizer"]), request["path"], request["out"]
    _, took = timed(lambda: encoder.encode_file(tokenizer, path, out))
    ids = np.load(out, mmap_mode="r")
    return took | {"n_ids": len(ids)} | (_digest(ids) if request.get("digest") else {})


def batch(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Encode the documents of a file in memory: a first call."""
    return _batch(encoder, request, calls_before=0)


def warm(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Encode the documents of a file in memory: a third call."""
    return _batch(encoder, request, calls_before=2)


def _batch(encoder: ModuleType, request: Request, calls_before: int) -> dict[str, Any]:
    tokenizer = encoder.load(request["tokenizer"])
    documents = list(read_documents(request["path"], SPECIAL))
    for _ in range(calls_before):
        encoder.encode_batch(tokenizer, documents)
    found, took = timed(lambda: encoder.encode_batch(tokenizer, documents))
    ids = encoder.flat(found)
    return took | {"n_ids": len(ids)} | _digest(ids)


def tokens(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Count the tokens of a file: a first call."""
    import bpenb

    count, tokenizer, workers = bpenb.count_tokens, encoder.load(request["tokenizer"]), encoder.WORKERS
    found, took = timed(lambda: count(tokenizer, request["path"], workers=workers))
    return took | {"n_ids": found.total.tokens}


def decode(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Decode the ids of a file to bytes: a third call."""
    return _decode(encoder, request, lambda tokenizer, ids: tokenizer.decode_bytes(ids))


def decode_text(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Decode the ids of a file to a str: a third call."""
    return _decode(encoder, request, lambda tokenizer, ids: tokenizer.decode(ids))


def _decode(encoder: ModuleType, request: Request, call: Callable[[Any, Any], Any]) -> dict[str, Any]:
    from bpenb.preparing import encode_to_arrays

    tokenizer = encoder.load(request["tokenizer"])
    ids = encode_to_arrays(tokenizer, request["path"]).ids
    for _ in range(2):
        call(tokenizer, ids)
    found, took = timed(lambda: call(tokenizer, ids))
    data = found if isinstance(found, bytes) else found.encode()
    if data != Path(request["path"]).read_bytes():
        raise SystemExit("the text is not what was encoded")
    return took | {"n_ids": len(ids)}


def short(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Encode a string of 20 characters, again and again: seconds of one call, the median of nine rounds."""
    tokenizer, rounds = encoder.load(request["tokenizer"]), []
    for _ in range(10):
        started = time.perf_counter()
        for _ in range(_SHORT_CALLS):
            tokenizer.encode(SHORT_TEXT)
        rounds.append((time.perf_counter() - started) / _SHORT_CALLS)
    return {"seconds": median(rounds[1:]), "peak_rss_bytes": None}


def load(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Load a saved tokenizer: a third call."""
    for _ in range(2):
        encoder.load(request["tokenizer"])
    _, took = timed(lambda: encoder.load(request["tokenizer"]))
    return took


def prepare(encoder: ModuleType, request: Request) -> dict[str, Any]:
    """Save a vocab as bpenb's folder. Here, so that the runner stays small: children inherit its peak."""
    our_tokenizer(request["vocab"], Path(request["vocabs"])).save(request["out"])
    return {}


def _digest(ids: Any) -> dict[str, str]:
    """Return one line that stands for ids, whatever their dtype."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, len(ids), _HASHED_AT_ONCE):
        digest.update(ids[start : start + _HASHED_AT_ONCE].astype("<u4").tobytes())
    return {"digest": digest.hexdigest()}


DOES = {
    "file": file,
    "batch": batch,
    "warm": warm,
    "tokens": tokens,
    "decode": decode,
    "decode_text": decode_text,
    "short": short,
    "load": load,
    "prepare": prepare,
}

if __name__ == "__main__":
    answer("encoders", DOES)
