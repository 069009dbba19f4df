"""Options that several commands share. Nothing here imports numpy or Numba: `--help` must be quick."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from bpenb.patterns import PATTERNS

__all__ = ["DEFAULT_SPECIAL_TOKEN", "PATTERN_NAMES", "TOKENIZER", "ErrorsOption", "ProgressOption",
           "ProgressStyle", "Ties", "TokenizerOption", "Utf8Errors"]  # fmt: skip

DEFAULT_SPECIAL_TOKEN = "<|endoftext|>"
TOKENIZER = Path("tokenizer")
PATTERN_NAMES = ", ".join(PATTERNS)


class ProgressStyle(StrEnum):
    """How a command tells what it does."""

    AUTO = "auto"
    JSON = "json"
    NONE = "none"


class Utf8Errors(StrEnum):
    """What to do about bytes that are not UTF-8."""

    STRICT = "strict"
    REPLACE = "replace"


class Ties(StrEnum):
    """Which of two equally frequent pairs merges first."""

    CS336 = "cs336"
    HUGGINGFACE = "huggingface"
    RUSTBPE = "rustbpe"


ProgressOption = Annotated[
    ProgressStyle,
    typer.Option(
        "--progress",
        help="On stderr: a bar (plain lines where it is no terminal), one JSON object per line, "
        "or nothing but warnings and errors.",
    ),
]
ErrorsOption = Annotated[
    Utf8Errors,
    typer.Option("--errors", help="Bytes that are not UTF-8: stop and say where, or read U+FFFD there."),
]
TokenizerOption = Annotated[
    Path,
    typer.Option(
        "--tokenizer",
        "-t",
        envvar="BPENB_TOKENIZER",
        help="A folder that `bpenb train` wrote, or one tokenizer file.",
    ),
]
