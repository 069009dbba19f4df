"""Where the heap overtakes the scan: nanoseconds per byte of merging words of one length.

    python benchmarks/merge_threshold.py TOKENIZER TEXT [TEXT ...]

TOKENIZER is anything `Tokenizer.load` reads; the first 2 MB of each TEXT are cut into words of n
bytes, as if the split pattern had done so. Each figure is the best of five.
"""

from __future__ import annotations

import base64
import sys
import time
from pathlib import Path

import numpy as np
from bpenb._jit import kernel
from bpenb.encoding import Tokenizer, encode_word
from bpenb.encoding.merge_scratch import make_scratch
from bpenb.encoding.pair_table import PairTable, make_pair_table

N_BYTES = 2_000_000
LENGTHS = (4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512)


@kernel
def encode_all(text, n, byte_ids, pairs, scratch, ids):
    """Encode words of n bytes each."""
    for start in range(0, text.shape[0] - n + 1, n):
        encode_word(text, start, start + n, byte_ids, pairs, scratch, ids)


def nanoseconds(text: bytes, n: int, byte_ids: np.ndarray, pairs: PairTable, short_word: int) -> float:
    data = np.frombuffer(text, dtype=np.uint8)
    ids = np.empty(n, dtype=np.int32)
    best = float("inf")
    for _ in range(5):
        scratch = make_scratch(n, short_word)
        started = time.perf_counter()
        encode_all(data, n, byte_ids, pairs, scratch, ids)
        best = min(best, time.perf_counter() - started)
    return best / len(text) * 1e9


def main() -> None:
    model = Tokenizer.load(sys.argv[1]).model
    byte_ids, pairs = np.array(model.byte_ids), make_pair_table(model.merges, model.merge_ids)
    texts = {
        "a": b"a" * N_BYTES,
        "base64": base64.b64encode(np.random.default_rng(0).bytes(N_BYTES))[:N_BYTES],
    }
    for path in map(Path, sys.argv[2:]):
        with path.open("rb") as file:
            texts[path.name] = file.read(N_BYTES)
    for name, text in texts.items():
        for n in LENGTHS:
            scan = nanoseconds(text, n, byte_ids, pairs, short_word=n)
            heap = nanoseconds(text, n, byte_ids, pairs, short_word=n - 1)
            print(f"{name:12} {n:4} bytes   scan {scan:6.1f}   heap {heap:6.1f}")


if __name__ == "__main__":
    main()
