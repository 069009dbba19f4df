"""`bpenb inspect`: what a tokenizer is, and what it makes of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _on_files as on_files
from bpenb_cli._inspect_tables import show_inspection
from bpenb_cli._on_texts import OnTexts, with_texts

__all__ = ["COMMAND", "EXAMPLE", "inspect"]

EXAMPLE = "Example: bpenb inspect tokenizer --on corpus.txt"
COMMAND = on_files.OnFilesCommand


@with_texts
def inspect(
    tokenizer: Annotated[
        Path,
        typer.Argument(metavar="TOKENIZER", help="A tokenizer's folder, or one file.", show_default=False),
    ],
    chosen: OnTexts,
) -> None:
    """Look at a tokenizer and, with --on, at what it makes of texts; --csv has a row for each token."""
    with chosen.at_work() as arguments:
        import bpenb

        found = bpenb.inspect_tokenizer(
            looking.load_tokenizer(tokenizer, chosen.pattern), chosen.on or None, **arguments
        )
    if chosen.as_data:
        data = found.to_json(chosen.top) if chosen.as_json else {}
        looking.print_data(data, found.csv_rows(), chosen.as_json)
    else:
        show_inspection(found, chosen.top)
