"""Published vocabs, as ours and as tiktoken's: gpt2, cl100k and o200k, from their .tiktoken files.

The files gpt2.tiktoken (which tiktoken names r50k_base), cl100k_base.tiktoken and o200k_base.tiktoken
lie in one folder: $BPENB_BENCH_VOCABS, or --vocabs, or beside the corpora.
"""

from __future__ import annotations

import base64
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.corpora import SPECIAL, CorpusMissingError, corpora_folder

if TYPE_CHECKING:
    import bpenb
    import tiktoken

END_OF_PROMPT = "<|endofprompt|>"


class Vocab(NamedTuple):
    """A published vocab: its file, its name in tiktoken, its split pattern, its special tokens."""

    file: str
    tiktoken_name: str
    pattern: str
    special_tokens: dict[str, int]


VOCABS = {
    "gpt2": Vocab("gpt2.tiktoken", "r50k_base", "gpt2", {SPECIAL: 50256}),
    "cl100k": Vocab(
        "cl100k_base.tiktoken",
        "cl100k_base",
        "cl100k",
        {
            SPECIAL: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            END_OF_PROMPT: 100276,
        },
    ),
    "o200k": Vocab("o200k_base.tiktoken", "o200k_base", "o200k", {SPECIAL: 199999, END_OF_PROMPT: 200018}),
}


def vocabs_folder(option: Path | None, corpora: Path | None = None) -> Path:
    """Return the folder of the vocabs: the option, the environment's, or that of the corpora."""
    folder = option or os.environ.get("BPENB_BENCH_VOCABS")
    return Path(folder).expanduser() if folder else corpora_folder(corpora)


def find_vocab(name: str, folder: Path) -> Path:
    """Return the file of a vocab.

    Raises:
        CorpusMissingError: it is not there.
    """
    path = folder / VOCABS[name].file
    if not path.is_file():
        raise CorpusMissingError(f"no file {path}; put {path.name} there, or name its folder by --vocabs")
    return path


def our_tokenizer(name: str, folder: Path) -> bpenb.Tokenizer:
    """Return a vocab as bpenb loads it, with its special tokens."""
    import bpenb

    vocab = VOCABS[name]
    loaded = bpenb.Tokenizer.load(find_vocab(name, folder), pattern=vocab.pattern)
    tokens = loaded.vocab | {i: token.encode() for token, i in vocab.special_tokens.items()}
    tokenizer = bpenb.Tokenizer(tokens, loaded.merges, vocab.special_tokens, vocab.pattern)
    assert tokenizer.special_tokens == vocab.special_tokens
    return tokenizer


def tiktoken_encoding(name: str, folder: Path) -> tiktoken.Encoding:
    """Return a vocab as tiktoken defines it: its own pattern and special tokens, the file from `folder`."""
    import tiktoken
    import tiktoken_ext.openai_public as definitions

    path, known = find_vocab(name, folder), definitions.load_tiktoken_bpe

    def from_folder(*_: Any, **__: Any) -> dict[bytes, int]:
        rows = (line.split() for line in path.read_bytes().splitlines())
        return {base64.b64decode(token): int(rank) for token, rank in rows}

    definitions.load_tiktoken_bpe = from_folder  # it would load the file from the network
    try:
        return tiktoken.Encoding(**getattr(definitions, VOCABS[name].tiktoken_name)())
    finally:
        definitions.load_tiktoken_bpe = known


def copy_for_gigatoken(name: str, folder: Path, out: Path) -> Path:
    """Copy a vocab's file under the name by which gigatoken knows its pattern and special tokens."""
    return Path(shutil.copy(find_vocab(name, folder), out / f"{VOCABS[name].tiktoken_name}.tiktoken"))
