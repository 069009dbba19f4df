"""Published vocabs, as ours and as tiktoken's."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import tiktoken
from benchmarks.vocabs import VOCABS, our_tokenizer, tiktoken_encoding
from bpenb.encoding import Tokenizer


@functools.cache
def load(folder: Path, name: str) -> tuple[Tokenizer, tiktoken.Encoding]:
    """The vocab `name` (gpt2, cl100k, o200k) of the folder of reference files, twice."""
    ours, theirs = our_tokenizer(name, folder), tiktoken_encoding(name, folder)
    facts = json.loads((folder / "encodings.json").read_text("utf-8"))
    told = facts[VOCABS[name].file.removesuffix(".tiktoken")]["special_tokens"]
    assert ours.special_tokens == told == theirs._special_tokens
    assert ours.n_vocab == theirs.n_vocab
    return ours, theirs
