"""Small models for the tests of formats: made by the oracle trainer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from bpenb._byte_map import BYTE_TO_CHARACTER, GPT2_BYTE_ORDER
from bpenb._special_ids import ROLES
from bpenb.model import BPEModel
from bpenb.patterns import resolve_pattern
from hypothesis import strategies as st
from tests.oracles import trainer
from tests.oracles.encoder import encode
from tests.oracles.pretokenizer import pretokens
from tests.oracles.specials import plain_stretches

EOT = "<|endoftext|>"
BYTES = {i: bytes([i]) for i in range(256)}
ALPHABET = "ab c'#\n\réÿ中😀\u00a0\u0085Ġ<|"
SPECIALS = [EOT, "<s>", "<s><s>", "[END OF DOC]", " ", "\n", "é中", "#version", "ab", "Ġb "]


def byte_order(ties: str, special_tokens: list[str]) -> np.ndarray:
    """The order of bytes in learning ids."""
    if ties != "huggingface":
        return np.arange(256, dtype=np.uint8)
    first = [BYTE_TO_CHARACTER.index(s) for s in special_tokens if s in BYTE_TO_CHARACTER]
    return np.array(first + [b for b in GPT2_BYTE_ORDER if b not in first], dtype=np.uint8)


def trained(
    text: str,
    n_merges: int = 20,
    special_tokens: list[str] | None = None,
    ties: str = "cs336",
    pattern: str = "gpt2",
) -> BPEModel:
    """The model of a text."""
    names = special_tokens or []
    regex = resolve_pattern(pattern).regex
    stretches = [stretch.decode() for stretch in plain_stretches(text.encode(), names)]
    words = Counter(p.encode() for stretch in stretches for p in pretokens(stretch, regex))
    order = byte_order(ties, names)
    merges, _ = trainer.train(words, n_merges, ties=ties, byte_order=order.tobytes())
    rows = np.array(merges, dtype=np.int32).reshape(-1, 2)
    return BPEModel.from_training(rows, order, names, pattern, ties, "regex", "16.0.0")


def texts(max_size: int = 60) -> st.SearchStrategy[str]:
    """Texts in which much repeats."""
    words = st.sampled_from(["ab", "aab", " the", "'s", "\r\n", "##", " é", "中中", EOT, "<s><s>", "bab "])
    return st.lists(words | st.text(ALPHABET, max_size=4), max_size=max_size // 4).map("".join)


@st.composite
def models(draw: st.DrawFn, pattern: str | None = None) -> BPEModel:
    """Models of every tie mode and pattern, with some special tokens."""
    specials = draw(st.lists(st.sampled_from(SPECIALS), unique=True, max_size=4))
    model = trained(
        draw(texts()),
        draw(st.integers(0, 25)),
        specials,
        draw(st.sampled_from(["cs336", "huggingface", "rustbpe"])),
        pattern or draw(st.sampled_from(["gpt2", "cl100k", "qwen2", "o200k", "whitespace", r"[a-z]+|\d"])),
    )
    roles = st.dictionaries(st.sampled_from(ROLES), st.sampled_from(specials)) if specials else st.just({})
    return model.with_roles(draw(roles), draw(st.sampled_from([1, 1, 2, 64])))


def ids_of(model: BPEModel, text: str) -> list[int]:
    """The ids of a text, by the oracle."""
    names = model.special_tokens
    vocab = model.ordinary_vocab() | {token_id: name.encode() for name, token_id in names.items()}
    return encode(text, vocab, model.merge_pairs(), list(names), model.pattern.regex)


def facts(model: BPEModel, *leave_out: str) -> dict[str, Any]:
    """Everything that makes two models one."""
    found = {
        "vocab": model.vocab(),
        "merges": model.merge_pairs(),
        "merge_ids": model.merge_ids.tolist(),
        "byte_ids": model.byte_ids.tolist(),
        "special_tokens": list(model.special_tokens.items()),
        "regex": model.pattern.regex,
        "name": model.pattern.name,
        "ties": model.ties,
        "engine": model.engine,
        "unicode_version": model.unicode_version,
        "roles": dict(model.roles),
        "pad_multiple": model.pad_multiple,
    }
    return {key: value for key, value in found.items() if key not in leave_out}


FROM_A_FILE = ("ties", "engine", "unicode_version", "roles", "pad_multiple")  # what only bpenb.json tells
