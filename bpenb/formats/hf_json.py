"""tokenizer.json of Hugging Face's `tokenizers`: complete on writing, strict on reading.

Special tokens stand in `model.vocab` too, raw and with the same ids: `tokenizers` renumbers an added
token that it does not find there. It refuses keys that it does not know, so our own settings are
in bpenb.json beside it.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from bpenb.errors import FormatError
from bpenb.formats.hf_added import added_tokens, check_flags, parse_added_tokens
from bpenb.formats.hf_split import parse_pre_tokenizer, pre_tokenizer
from bpenb.formats.json_lines import object_lines, pair_lines
from bpenb.formats.reading import expect, model_errors, warn_missing_bytes
from bpenb.formats.token_strings import (
    merges_to_strings,
    parse_merges,
    parse_vocab,
    vocab_to_strings,
)
from bpenb.model import UNKNOWN, BPEModel
from bpenb.traits import NFC, Traits

__all__ = ["parse_tokenizer_json", "tokenizer_json"]

# What changes the ids, and that we do not do: the values that mean "off".
_MODEL_OFF: dict[str, tuple[Any, ...]] = {
    "dropout": (None, 0, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (None, False),
}
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def tokenizer_json(model: BPEModel) -> bytes:
    """Return the contents of tokenizer.json.

    Raises:
        OutputError: one string would have two ids.
    """
    traits = model.traits
    document: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(model.special_tokens, traits.flags),
        "normalizer": {"type": traits.normalizer} if traits.normalizer else None,
        "pre_tokenizer": pre_tokenizer(model.pattern),
        "post_processor": json.loads(traits.post_processor) if traits.post_processor else _BYTE_LEVEL,
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": traits.ignore_merges,
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
        if key == "end_of_word_suffix" and model.get(key) not in off:
            raise FormatError(
                f"{path}: model.{key} is {model[key]!r}: its tokens are made of characters, not of bytes; "
                "of such tokenizers bpenb reads its own folders, and the codes of subword-nmt"
            )
        if model.get(key) not in off:
            raise FormatError(f"{path}: model.{key} is {model[key]!r}, which is not supported")
    normalizer = _parse_normalizer(top.get("normalizer"), path)
    special_ids, flags = parse_added_tokens(top.get("added_tokens") or [], path)
    check_flags(special_ids, flags, normalizer, path)
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
    ignore_merges = expect(model.get("ignore_merges", False), bool, path, "model.ignore_merges")
    traits = Traits(ignore_merges, normalizer, flags, _kept_post_processor(top.get("post_processor")))
    _warn_of_losses(top, traits, path)
    return warn_missing_bytes(replace(bpe_model, traits=traits), path)


def _parse_normalizer(found: Any, path: Path) -> str | None:
    """Return NFC, or None.

    Raises:
        FormatError: any other; the message names it.
    """
    if found is None:
        return None
    row = expect(found, dict, path, "normalizer")
    if row.get("type") == "Sequence":
        rows = expect(row.get("normalizers"), list, path, "normalizer.normalizers")
        names = {_parse_normalizer(part, path) for part in rows} - {None}
        return names.pop() if names else None
    if row.get("type") != NFC:
        raise FormatError(
            f"{path}: normalizer {row.get('type')!r} is not supported: it changes the text; {NFC} alone is"
        )
    return NFC


def _kept_post_processor(found: Any) -> str | None:
    return None if found == _BYTE_LEVEL else json.dumps(found, ensure_ascii=False)


def _warn_of_losses(top: dict[str, Any], traits: Traits, path: Path) -> None:
    if traits.normalizer:
        warnings.warn(
            f"{path}: the normalizer {NFC} is applied to every text, so the decoded text may be another one",
            stacklevel=3,
        )
    for key in ("truncation", "padding"):
        if top.get(key) is not None:
            warnings.warn(f"{path}: {key} is left out: ids are those of the whole text", stacklevel=3)


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
