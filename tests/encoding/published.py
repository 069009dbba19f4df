"""Published vocabs, as ours and as tiktoken's."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import tiktoken
from bpenb.encoding import Tokenizer
from bpenb.formats import load_model

PATTERN_NAMES = {"gpt2": "gpt2", "cl100k_base": "cl100k"}


def load(folder: Path, name: str) -> tuple[Tokenizer, tiktoken.Encoding]:
    """The tokenizer `name` of the folder of reference files, twice."""
    facts = json.loads((folder / "encodings.json").read_text("utf-8"))[name]
    special_tokens: dict[str, int] = facts["special_tokens"]
    path = folder / f"{name}.tiktoken"
    model = load_model(path, pattern=PATTERN_NAMES[name])
    vocab = model.vocab() | {i: token.encode() for token, i in special_tokens.items()}
    ours = Tokenizer(vocab, model.merge_pairs(), special_tokens, PATTERN_NAMES[name])
    rows = (line.split() for line in path.read_bytes().splitlines())
    theirs = tiktoken.Encoding(
        name,
        pat_str=facts["pat_str"],
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in rows},
        special_tokens=special_tokens,
    )
    assert ours.special_tokens == special_tokens
    return ours, theirs
