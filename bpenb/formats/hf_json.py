"""tokenizer.json of Hugging Face's `tokenizers`: complete on writing, strict on reading.

Special tokens stand in `model.vocab` too, raw and with the same ids: `tokenizers` renumbers an added
token that it does not find there. It refuses keys that it does not know, so our own settings are
in bpenb.json beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bpenb.errors import FormatError
from bpenb.formats.boundaries import self_made_ids
from bpenb.formats.hf_split import parse_pre_tokenizer, pre_tokenizer
from bpenb.formats.json_lines import object_lines, pair_lines
from bpenb.formats.reading import checked_id, expect, model_errors, warn_missing_bytes
from bpenb.formats.token_strings import (
    merges_to_strings,
    parse_merges,
    parse_vocab,
    vocab_to_strings,
)
from bpenb.model import UNKNOWN, BPEModel

__all__ = ["parse_tokenizer_json", "tokenizer_json"]

# What changes the ids, and that we do not do: the values that mean "off".
_MODEL_OFF: dict[str, tuple[Any, ...]] = {
    "dropout": (None, 0, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (None, False),
}
_ADDED_TOKEN_OFF = ("single_word", "lstrip", "rstrip")


def tokenizer_json(model: BPEModel) -> bytes:
    """Return the contents of tokenizer.json.

    Raises:
        OutputError: one string would have two ids.
    """
    off = dict.fromkeys((*_ADDED_TOKEN_OFF, "normalized"), False)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    added = sorted((token_id, name) for name, token_id in model.special_tokens.items())
    document: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": name, **off, "special": True} for i, name in added],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer(model.pattern),
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {},
            "merges": [],
        },
    }
    text = json.dumps(document, ensure_ascii=False, indent=1)
    head, tail = text.rsplit('"vocab": {},\n  "merges": []', 1)  # the last two, so no special token's text
    vocab = object_lines(vocab_to_strings(model), "   ")
    merges = pair_lines(merges_to_strings(model), "   ")
    return f'{head}"vocab": {vocab},\n  "merges": {merges}{tail}\n'.encode()


def parse_tokenizer_json(document: Any, path: Path) -> BPEModel:
    """Return the model of what a tokenizer.json holds.

    Args:
        document: the JSON as read.
        path: the file, for messages.

    Raises:
        FormatError: not a byte-level BPE tokenizer, or one whose ids we would not give.
    """
    top = expect(document, dict, path, "the file")
    model = expect(top.get("model"), dict, path, "model")
    if model.get("type", "BPE") != "BPE":
        raise FormatError(f"{path}: model.type is {model['type']!r}; only BPE is supported")
    for key, off in _MODEL_OFF.items():
        if model.get(key) not in off:
            raise FormatError(f"{path}: model.{key} is {model[key]!r}, which is not supported")
    if top.get("normalizer") not in (None, {"type": "Sequence", "normalizers": []}):
        raise FormatError(f"{path}: a normalizer is not supported: it changes the text")
    special_ids = _parse_added_tokens(top.get("added_tokens") or [], path)
    parsed = parse_vocab(model.get("vocab"), special_ids, path, "model.vocab")
    for name, token_id in parsed.special_ids.items():
        if special_ids[name] != token_id:
            raise FormatError(
                f"{path}: added token {name!r} has id {special_ids[name]}, but {token_id} in model.vocab"
            )
    merges = _parse_merges(model.get("merges"), path)
    with model_errors(path):
        pattern = parse_pre_tokenizer(top.get("pre_tokenizer"), path)
        bpe_model = BPEModel.from_ids(parsed.ordinary, merges, special_ids, pattern, ties=UNKNOWN)
    if model.get("ignore_merges"):
        _check_merges_suffice(bpe_model, path)
    return warn_missing_bytes(bpe_model, path)


def _parse_added_tokens(rows: Any, path: Path) -> dict[str, int]:
    special_ids: dict[str, int] = {}
    for n, row in enumerate(expect(rows, list, path, "added_tokens")):
        place = f"added_tokens[{n}]"
        token = expect(row, dict, path, place)
        content = expect(token.get("content"), str, path, f"{place}.content")
        for key in _ADDED_TOKEN_OFF:
            if token.get(key, False) is not False:
                raise FormatError(f"{path}: {place} ({content!r}): {key} is not supported")
        if content in special_ids:
            raise FormatError(f"{path}: {place}: the token {content!r} once more")
        special_ids[content] = checked_id(token.get("id"), path, f"{place}.id")
    return special_ids


def _parse_merges(rows: Any, path: Path) -> list[tuple[bytes, bytes]]:
    """Return merges that are written as "a b", or as ["a", "b"]."""
    found: list[str] = []
    for n, row in enumerate(expect(rows, list, path, "model.merges")):
        place = f"model.merges[{n}]"
        parts = row.split(" ") if isinstance(row, str) else expect(row, list, path, place)
        if len(parts) != 2 or not all(isinstance(part, str) for part in parts):
            raise FormatError(f"{path}: {place} must be two parts, not {row!r}")
        found += parts
    return parse_merges(found, path, "model.merges[{}]".format)


def _check_merges_suffice(model: BPEModel, path: Path) -> None:
    """`ignore_merges` takes a pretoken that is in the vocab as it is: the same, if its merges make it."""
    vocab = model.ordinary_vocab()
    strange = vocab.keys() - self_made_ids(model)
    if strange:
        raise FormatError(
            f"{path}: model.ignore_merges is not supported here: token {min(strange)} "
            f"({vocab[min(strange)]!r}) is not what its own bytes merge to"
        )
