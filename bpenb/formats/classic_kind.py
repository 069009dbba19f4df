"""Which files hold a tokenizer on characters: asked before either kind is read, so it costs no imports."""

from __future__ import annotations

import os
from pathlib import Path

from bpenb.errors import FormatError
from bpenb.formats.reading import read_json
from bpenb.formats.replacing import settled
from bpenb.formats.settings import CLASSIC_FORMAT

__all__ = ["CLASSIC_FILES", "SETTINGS", "is_classic"]

SETTINGS = "bpenb.json"
# A folder of either kind may be replaced.
CLASSIC_FILES = (SETTINGS, "codes.txt", "tokenizer.json", "report.json", "tokenizer_config.json",
                 "vocab.json", "merges.txt", "tokenizer.tiktoken", "token_bytes.npy")  # fmt: skip
_CODES_LINE = 16  # bytes of the first line of codes, `#version: 0.2`, with its end


def is_classic(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path holds a tokenizer on characters: such a folder, or codes of subword-nmt."""
    place = settled(Path(path), CLASSIC_FILES, SETTINGS)
    if place.is_file() and place.name != SETTINGS:
        with place.open("rb") as file:
            return file.readline(_CODES_LINE).strip().startswith(b"#version:")
    settings = place if place.name == SETTINGS else place / SETTINGS
    if not settings.is_file():
        return False
    try:
        found = read_json(settings)
    except FormatError:
        return False  # who reads it as the other kind says what is wrong
    return isinstance(found, dict) and found.get("format") == CLASSIC_FORMAT
