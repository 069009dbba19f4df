"""Looking at tokenizers: options, tables and data that `inspect`, `compare` and `tokens` share."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bpenb_cli._choices import Specials, Utf8Errors
from bpenb_cli._reading import input_options

if TYPE_CHECKING:
    from bpenb import EncodeSettings, Tokenizer

__all__ = ["CsvOption", "JsonOption", "PatternOption", "SpecialOption", "TopOption", "chosen_settings",
           "load_tokenizer", "print_data"]  # fmt: skip

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV, for spreadsheets and data frames.")]
TopOption = Annotated[int, typer.Option("--top", min=0, help="How many entries a list has at most.")]
PatternOption = Annotated[
    str | None, typer.Option("--pattern", help="Of .tiktoken files, which tell none: a name, or a regex.")
]
SpecialOption = Annotated[
    Specials,
    typer.Option("--special", help="Special tokens in a text get their ids, are text, or are an error."),
]


def load_tokenizer(path: Path, pattern: str | None) -> Tokenizer:
    """Return a tokenizer; the pattern is for files that tell none."""
    from bpenb import Tokenizer

    return Tokenizer.load(path, pattern=pattern if path.name.endswith(".tiktoken") else None)


def chosen_settings(
    errors: Utf8Errors, special: Specials, field: str, separator: str | None, skip_bad_rows: bool
) -> EncodeSettings:
    """Return how texts are read and encoded."""
    from bpenb import EncodeSettings

    inputs = input_options(field, separator, skip_bad_rows)
    return EncodeSettings(inputs, errors=errors.value, special=special.value)


def print_data(data: dict[str, Any], rows: Iterable[tuple[Any, ...]], as_json: bool) -> None:
    """Print JSON, or the rows as CSV; in UTF-8, whatever the terminal."""
    if as_json:
        print(json.dumps(data, indent=2))
        return
    sys.stdout.flush()
    out = io.TextIOWrapper(sys.stdout.buffer, "utf-8", errors="surrogateescape", newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    out.detach()  # flushes; stdout stays open
