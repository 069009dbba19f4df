"""tokenizer.json of a tokenizer on characters, for Hugging Face's `tokenizers`: the same ids."""

from __future__ import annotations

import json
from typing import Any

from bpenb.classic.model import UNKNOWN_TOKEN, ClassicModel
from bpenb.formats import added_tokens, object_lines, pair_lines
from bpenb.patterns import SPACES

__all__ = ["classic_tokenizer_json"]

_SPLIT = {"type": "Split", "pattern": {"Regex": "[ \\r\\n]+"}, "behavior": "Removed", "invert": False}
_SPLIT_WHITESPACE = {"type": "WhitespaceSplit"}


def classic_tokenizer_json(model: ClassicModel) -> bytes:
    """Return the contents of tokenizer.json."""
    document: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(model.special_tokens, {}),
        "normalizer": None,
        "pre_tokenizer": _SPLIT if model.pattern.regex == SPACES else _SPLIT_WHITESPACE,
        "post_processor": None,
        "decoder": {"type": "BPEDecoder", "suffix": model.end_of_word},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": UNKNOWN_TOKEN,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": model.end_of_word,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {},
            "merges": [],
        },
    }
    text = json.dumps(document, ensure_ascii=False, indent=1)
    head, tail = text.rsplit('"vocab": {},\n  "merges": []', 1)  # the last two, so no special token's text
    vocab = object_lines({token: i for i, token in enumerate(model.tokens)}, "   ")
    merges = pair_lines(model.merge_pairs(), "   ")
    return f'{head}"vocab": {vocab},\n  "merges": {merges}{tail}\n'.encode()
