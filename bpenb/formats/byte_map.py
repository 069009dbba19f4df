"""GPT-2's byte map, as the files of vocab.json, merges.txt and tokenizer.json spell tokens."""

from bpenb._byte_map import (
    BYTE_TO_CHARACTER,
    GPT2_BYTE_ORDER,
    from_printable,
    is_printable,
    to_printable,
)

__all__ = ["BYTE_TO_CHARACTER", "GPT2_BYTE_ORDER", "from_printable", "is_printable", "to_printable"]
