"""Options of `bpenb train`: where the tokenizer goes, and how long its tokens may be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ForceOption", "MaxTokenLengthOption", "OutputOption", "ProfileOption"]

MaxTokenLengthOption = Annotated[
    int | None, typer.Option("--max-token-length", help="Longest token, in bytes.")
]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a folder of something else.")]
ProfileOption = Annotated[Path | None, typer.Option("--profile", help="Write cProfile data to this file.")]
