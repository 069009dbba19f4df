"""One tokenizer as the files of one program.

kind       written                                        for
bpenb      a folder with everything                       `Tokenizer.load`, and all below but gguf
hf         tokenizer.json, tokenizer_config.json          `transformers.AutoTokenizer`, `tokenizers`
gpt2       vocab.json, merges.txt                         GPT-2's own code, the CS336 course
tiktoken   tokenizer.tiktoken, tokenizer_tiktoken.py      `tiktoken`
gguf       one file                                       llama.cpp

hf, gpt2 and tiktoken get a token_bytes.npy as well.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

from bpenb.errors import OutputError
from bpenb.formats.byte_counts import token_bytes_npy
from bpenb.formats.folder import (
    BYTE_COUNTS,
    MERGES,
    TIKTOKEN,
    TOKENIZER,
    VOCAB,
    save_folder,
)
from bpenb.formats.gguf_file import write_gguf
from bpenb.formats.gpt2_files import merges_txt, vocab_json
from bpenb.formats.hf_config import TOKENIZER_CONFIG, tokenizer_config_json
from bpenb.formats.hf_json import tokenizer_json
from bpenb.formats.hf_split import warn_if_cut_differently
from bpenb.formats.replacing import write_folder
from bpenb.formats.tiktoken_file import tiktoken_file
from bpenb.formats.tiktoken_snippet import tiktoken_snippet, tiktoken_warnings
from bpenb.model import BPEModel
from bpenb.patterns import DEFAULT_PATTERN, PATTERNS

__all__ = ["EXPORT_KINDS", "check_export", "export_model"]

EXPORT_KINDS = ("bpenb", "hf", "gpt2", "tiktoken", "gguf")
"""What `export_model` writes."""

_SNIPPET_MODULE = "tokenizer_tiktoken"


def check_export(kind: str, pre: str | None = None) -> None:
    """Raise now what `export_model` would raise because of its arguments.

    Raises:
        OutputError: an unknown kind; a `pre` for another kind than gguf.
    """
    if kind == "subword-nmt":
        raise OutputError("subword-nmt holds tokens of characters; those of this tokenizer are bytes")
    if kind not in EXPORT_KINDS:
        raise OutputError(f"unknown kind {kind!r}; there are: {', '.join(EXPORT_KINDS)}")
    if pre is not None and kind != "gguf":
        raise OutputError(f"pre names the split pattern in a GGUF file; {kind} has none (pre=, --pre)")


def export_model(
    model: BPEModel,
    path: str | os.PathLike[str],
    kind: str,
    *,
    pre: str | None = None,
    force: bool = False,
) -> None:
    """Write a tokenizer for one program; a warning tells what that cannot know of it.

    Args:
        model: what to write.
        path: a folder that is missing or empty, or for `bpenb` one that bpenb wrote; for `gguf` a file.
        kind: one of EXPORT_KINDS.
        pre: for gguf: the name of the split pattern in llama.cpp, where we know none.
        force: write into any other folder too, file by file; replace a GGUF file.

    Raises:
        OutputError: an unknown kind; a folder or file that must not be overwritten or cannot be written;
            a tokenizer that this kind cannot hold.
    """
    check_export(kind, pre)
    target = Path(path)
    if kind == "bpenb":
        save_folder(model, target, None, force)
    elif kind == "gguf":
        _check_file(target, force)
        write_gguf(model, target, pre)
    else:
        files = _FILES[kind](model)
        write_folder(target, {**files, BYTE_COUNTS: token_bytes_npy(model)}, (), next(iter(files)), force)


def _check_file(target: Path, force: bool) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a folder; a GGUF file needs a name of its own")
    if target.exists() and not force:
        raise OutputError(f"{target} exists; choose another name, or replace it (force=True, --force)")


def _hf(model: BPEModel) -> Mapping[str, bytes]:
    warn_if_cut_differently(model.pattern)
    return {TOKENIZER: tokenizer_json(model), TOKENIZER_CONFIG: tokenizer_config_json(model)}


def _gpt2(model: BPEModel) -> Mapping[str, bytes]:
    files = {VOCAB: vocab_json(model), MERGES: merges_txt(model)}
    if model.pattern.regex != PATTERNS[DEFAULT_PATTERN]:
        _warn(f"{VOCAB} and {MERGES} hold no split pattern; who loads them must know {str(model.pattern)!r}")
    if model.traits.change_ids:
        lost = ", ".join(key for key in model.traits.to_json() if key != "post_processor")
        _warn(f"{VOCAB} and {MERGES} have no place for what this tokenizer does besides: {lost}")
    return files


def _tiktoken(model: BPEModel) -> Mapping[str, bytes]:
    module = f"{_SNIPPET_MODULE}.py"
    files = {TIKTOKEN: tiktoken_file(model), module: tiktoken_snippet(model, TIKTOKEN, _SNIPPET_MODULE)}
    for message in tiktoken_warnings(model):
        _warn(message)
    return files


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)


_FILES = {"hf": _hf, "gpt2": _gpt2, "tiktoken": _tiktoken}
