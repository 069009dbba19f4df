"""Options that several commands share. Nothing here imports numpy or Numba: `--help` must be quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli._choices import Engine, Pool, ProgressStyle, Ties, Utf8Errors
from bpenb_cli._pattern_option import PatternOption

__all__ = ["DEFAULT_SPECIAL_TOKEN", "TOKENIZER", "ChunkSizeOption", "Engine", "EngineOption",
           "ErrorsOption", "MaxMemoryOption", "NoSpecialTokensOption", "PatternOption", "Pool", "PoolOption",
           "ProgressOption", "ProgressStyle", "SpecialTokenOption", "Ties", "TokenizerOption", "Utf8Errors",
           "WorkersOption", "chosen_special_tokens"]  # fmt: skip

DEFAULT_SPECIAL_TOKEN = "<|endoftext|>"
TOKENIZER = Path("tokenizer")

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
EngineOption = Annotated[
    Engine,
    typer.Option("--engine", help="The compiled engine knows the named patterns; auto takes it for those."),
]
PoolOption = Annotated[
    Pool, typer.Option("--pool", help="Where counting runs; auto: threads for the compiled engine.")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Processes and threads.", show_default="all processors")
]
ChunkSizeOption = Annotated[
    int | None,
    typer.Option("--chunk-size", help="Bytes of text in a unit of work.", show_default="what measured best"),
]
MaxMemoryOption = Annotated[
    str | None,
    typer.Option("--max-memory", help="Such as 512MB or 2GB; what does not fit goes to temporary files."),
]
SpecialTokenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--special-token",
        help="Separates documents and is never learned; may be given several times.",
        show_default=DEFAULT_SPECIAL_TOKEN,
    ),
]
NoSpecialTokensOption = Annotated[bool, typer.Option("--no-special-tokens", help="Have none.")]
TokenizerOption = Annotated[
    Path,
    typer.Option(
        "--tokenizer",
        "-t",
        envvar="BPENB_TOKENIZER",
        help="A folder that `bpenb train` wrote, or one tokenizer file.",
    ),
]


def chosen_special_tokens(given: list[str] | None, none: bool) -> list[str] | None:
    """Return the special tokens that two options name together; None: neither was given."""
    if given and none:
        raise typer.BadParameter("--special-token and --no-special-tokens exclude each other")
    return [] if none else given or None
