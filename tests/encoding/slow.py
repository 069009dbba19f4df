"""Small tokenizers for tests, made slowly; and arrays for the kernels."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bpenb.encoding.pair_table import PairTable, make_pair_table
from tests.oracles.encoder import merge

Merge = tuple[bytes, bytes]


@dataclass(frozen=True)
class SlowModel:
    """A vocab and merges, as `Tokenizer` takes them."""

    vocab: dict[int, bytes]
    merges: list[Merge]

    def ids(self) -> dict[bytes, int]:
        return {token: i for i, token in self.vocab.items()}

    def arrays(self) -> tuple[np.ndarray, PairTable]:
        """`byte_ids` and the pair table."""
        ids = self.ids()
        merges = np.array([(ids[a], ids[b]) for a, b in self.merges], dtype=np.int32).reshape(-1, 2)
        merge_ids = np.array([ids[a + b] for a, b in self.merges], dtype=np.int32)
        byte_ids = np.array([ids.get(bytes([b]), -1) for b in range(256)], dtype=np.int32)
        return byte_ids, make_pair_table(merges, merge_ids)


def train(words: Sequence[bytes], n_merges: int, seed: int) -> SlowModel:
    """Merge adjacent pairs in an order of chance, and give ids by chance too: only rank decides."""
    chance = random.Random(seed)
    rows = [[bytes([b]) for b in word] for word in words]
    merges: list[Merge] = []
    tokens = {bytes([b]) for b in range(256)}
    while len(merges) < n_merges:
        pairs = sorted({p for row in rows for p in itertools.pairwise(row) if p[0] + p[1] not in tokens})
        if not pairs:
            break
        pair = chance.choice(pairs)
        rows = [merge(row, pair) for row in rows]
        merges.append(pair)
        tokens.add(pair[0] + pair[1])
    ids = chance.sample(range(len(tokens) + 20), len(tokens))  # with holes
    return SlowModel(dict(zip(ids, sorted(tokens), strict=True)), merges)


def gpt2(folder: Path) -> SlowModel:
    """GPT-2's vocab and merges; its one special token left out of the merges, as there."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    byte_of = {chr(b): b for b in printable} | {chr(256 + n): b for n, b in enumerate(others)}

    def spell(token: str) -> bytes:
        return bytes(byte_of[c] for c in token)

    raw = json.loads((folder / "gpt2_vocab.json").read_text("utf-8"))
    lines = (folder / "gpt2_merges.txt").read_text("utf-8").split("\n")
    merges = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    return SlowModel({i: spell(t) for t, i in raw.items()}, [(spell(a), spell(b)) for a, b in merges])


def decode(ids: Sequence[int], vocab: dict[int, bytes]) -> bytes | int:
    """The bytes of ids, one after the other; or the position of the first id without a token."""
    joined = b""
    for position, token_id in enumerate(ids):
        if token_id not in vocab:
            return position
        joined += vocab[token_id]
    return joined
