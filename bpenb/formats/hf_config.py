"""tokenizer_config.json: what Hugging Face's `transformers` reads beside tokenizer.json."""

from __future__ import annotations

import json
from typing import Any

from bpenb.model import BPEModel

__all__ = ["TOKENIZER_CONFIG", "tokenizer_config_json"]

TOKENIZER_CONFIG = "tokenizer_config.json"


def tokenizer_config_json(model: BPEModel) -> bytes:
    """Return the contents of tokenizer_config.json.

    The roles of special tokens stand there as `bos_token` and so on; what is not named is not written.
    `padded_vocab_size` is for people and programs that size a model: `transformers` keeps it as it is.
    """
    document: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    document |= {f"{role}_token": name for role, name in model.roles.items()}
    document["clean_up_tokenization_spaces"] = False  # it would change what is decoded
    if model.pad_multiple > 1:
        document["padded_vocab_size"] = model.padded_vocab_size
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
