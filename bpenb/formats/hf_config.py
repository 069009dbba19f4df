"""tokenizer_config.json: what `transformers` needs beside tokenizer.json to load a folder."""

from __future__ import annotations

import json
from typing import Any

from bpenb.formats.hf_added import added_tokens
from bpenb.model import BPEModel

__all__ = ["END_OF_TEXT", "TOKENIZER_CONFIG", "tokenizer_config_json"]

TOKENIZER_CONFIG = "tokenizer_config.json"
END_OF_TEXT = "<|endoftext|>"
_NO_LIMIT = int(1e30)  # what transformers itself writes for "none"


def tokenizer_config_json(model: BPEModel) -> bytes:
    """Return the contents of tokenizer_config.json.

    The class is the one that does what tokenizer.json says and nothing else. The roles of special tokens
    stand there as `bos_token` and so on; `<|endoftext|>`, where it is a special token, is the end of a text
    unless another is named; no other token gets a role by its name. `padded_vocab_size` is for people and
    programs that size a model: `transformers` keeps it as it is.
    """
    rows = added_tokens(model.special_tokens, model.traits.flags)
    document: dict[str, Any] = {
        "added_tokens_decoder": {str(row.pop("id")): row for row in rows},
        "clean_up_tokenization_spaces": False,  # it would change what is decoded
        "model_max_length": _NO_LIMIT,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    if END_OF_TEXT in model.special_tokens:
        document["eos_token"] = END_OF_TEXT
    document |= {f"{role}_token": name for role, name in model.roles.items()}
    if model.pad_multiple > 1:
        document["padded_vocab_size"] = model.padded_vocab_size
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
