"""A GGUF file with a tokenizer and no tensors, for llama.cpp and what reads its files.

llama.cpp has the split patterns built in, and takes one by name (`tokenizer.ggml.pre`). A pattern that it
does not know would be cut by another one, without an error: so that is refused here.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from bpenb._atomic import temporary_sibling
from bpenb.errors import OutputError
from bpenb.formats.boundaries import self_made_ids
from bpenb.formats.hf_config import END_OF_TEXT
from bpenb.formats.token_strings import merges_to_strings, vocab_to_strings
from bpenb.model import BPEModel
from bpenb.patterns import PATTERNS, THEN, SplitPattern

__all__ = ["GGUF_NAMES", "gguf_pre", "write_gguf"]

GGUF_NAMES = {
    "gpt2": "gpt-2",
    "cl100k": "llama-bpe",
    "llama3": "llama-bpe",
    "qwen2": "qwen2",
    "o200k": "gpt-4o",
}
"""Names that llama.cpp has for our patterns."""

_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!" + "\"#$%&'" + r"()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
_BY_REGEX = {
    THEN.join(_DEEPSEEK_V3): "deepseek-v3",
    THEN.join((r"\p{N}", PATTERNS["gpt2"])): "starcoder",
}
_TAKES_WORDS_WHOLE = {"llama-bpe"}  # as by ignore_merges


def gguf_pre(pattern: SplitPattern) -> str | None:
    """Return the name that llama.cpp has for a split pattern, or None.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> gguf_pre(resolve_pattern("o200k")), gguf_pre(resolve_pattern("whitespace"))
        ('gpt-4o', None)
    """
    if pattern.name is not None:
        return GGUF_NAMES.get(pattern.name)
    return _BY_REGEX.get(pattern.regex.replace("\r", r"\r").replace("\n", r"\n"))


def write_gguf(model: BPEModel, path: Path, pre: str | None = None) -> None:
    """Write a tokenizer as a GGUF file; it appears under its name as a whole.

    Args:
        model: what to write.
        path: the file; one that exists is replaced.
        pre: the name of the pattern in llama.cpp, where we know none; it is written as it is.

    Raises:
        OutputError: a pattern without a name and no `pre`; a tokenizer that llama.cpp would run
            otherwise; the package `gguf` is missing; the file cannot be written.
    """
    name = _chosen_pre(model, pre)
    _check_whole_words(model, name)
    tokens, kinds = _tokens(model)
    gguf = _import_gguf()
    for message in model.traits.lost_on("llama.cpp"):
        warnings.warn(message, stacklevel=3)
    part = temporary_sibling(path)
    try:
        writer = gguf.GGUFWriter(part, "llama")
        writer.add_vocab_size(len(tokens))
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(name)
        writer.add_token_list(tokens)
        writer.add_token_types([getattr(gguf.TokenType, kind) for kind in kinds])
        writer.add_token_merges([" ".join(pair) for pair in merges_to_strings(model)])
        if END_OF_TEXT in model.special_tokens:
            writer.add_eos_token_id(model.special_tokens[END_OF_TEXT])
        writer.add_add_bos_token(False)
        writer.add_add_eos_token(False)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def _import_gguf() -> Any:
    try:
        import gguf
    except ImportError:
        raise OutputError("a GGUF file needs the package gguf: pip install 'bpenb[gguf]'") from None
    return gguf


def _chosen_pre(model: BPEModel, pre: str | None) -> str:
    known = gguf_pre(model.pattern)
    if known is None and pre is None:
        names = ", ".join(sorted({*GGUF_NAMES.values(), *_BY_REGEX.values()}))
        raise OutputError(
            f"the split pattern {str(model.pattern)!r} has no name in llama.cpp that we know, and by another "
            f"one it would cut text otherwise; if there is a name, give it (pre=, --pre); known are {names}"
        )
    if pre is not None and pre != known:
        what = f"is {known!r} there" if known else "was not compared with it"
        warnings.warn(
            f"tokenizer.ggml.pre is {pre!r}, as you say; the split pattern {str(model.pattern)!r} {what}",
            stacklevel=4,
        )
    return pre or known or ""


def _check_whole_words(model: BPEModel, pre: str) -> None:
    """Refuse tokens that merges do not make, if only one of llama.cpp and this tokenizer takes them whole."""
    takes_whole = pre in _TAKES_WORDS_WHOLE
    if takes_whole == model.traits.ignore_merges:
        return
    vocab = model.ordinary_vocab()
    strange = vocab.keys() - self_made_ids(model)
    if strange:
        token = min(strange)
        raise OutputError(
            f"token {token} ({vocab[token]!r}) is not what its own bytes merge to: llama.cpp "
            f"{'takes' if takes_whole else 'does not take'} such tokens whole with pre {pre!r}, "
            f"and this tokenizer {'does not' if takes_whole else 'does'} (ignore_merges)"
        )


def _tokens(model: BPEModel) -> tuple[list[str], list[str]]:
    """Return the string and the kind of each id; ids without a token get a name that nothing else has."""
    strings = vocab_to_strings(model)
    tokens, kinds = [""] * model.n_vocab, ["UNUSED"] * model.n_vocab
    for string, token_id in strings.items():
        if tokens[token_id]:
            raise OutputError(
                f"id {token_id} is the token {tokens[token_id]!r} and the special token {string!r}: "
                "a GGUF file has one string for each id"
            )
        tokens[token_id], kinds[token_id] = string, "NORMAL"
    for name, token_id in model.special_tokens.items():
        kinds[token_id] = "CONTROL" if model.traits.flags_of(name).special else "USER_DEFINED"
    for token_id, string in enumerate(tokens):
        if not string:
            name = f"[UNUSED {token_id}]"
            while name in strings:
                name += " "
            tokens[token_id] = name
    return tokens, kinds
