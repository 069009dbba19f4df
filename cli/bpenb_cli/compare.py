"""`bpenb compare`: tokenizers side by side on the same texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _on_files as on_files
from bpenb_cli._compare_tables import show_comparison
from bpenb_cli._on_texts import OnTexts, with_texts

__all__ = ["COMMAND", "EXAMPLE", "compare"]

EXAMPLE = "Example: bpenb compare tokenizer other/tokenizer.json --on corpus.txt"
COMMAND = on_files.OnFilesCommand


@with_texts
def compare(
    tokenizers: Annotated[
        list[Path],
        typer.Argument(metavar="TOKENIZER...", help="Folders, or files, two or more.", show_default=False),
    ],
    chosen: OnTexts,
) -> None:
    """Hold tokenizers side by side: tokens, bytes per token, speed, and the words on which they differ."""
    if not chosen.on:
        raise typer.BadParameter("on which texts? Give --on FILE...")
    if len({str(path) for path in tokenizers}) < max(2, len(tokenizers)):
        raise typer.BadParameter("give two or more tokenizers, each once")
    with chosen.at_work() as arguments:
        import bpenb

        loaded = {str(path): looking.load_tokenizer(path, chosen.pattern) for path in tokenizers}
        found = bpenb.compare_tokenizers(loaded, chosen.on, **arguments)
    if chosen.as_data:
        looking.print_data(found.to_json() if chosen.as_json else {}, found.csv_rows(), chosen.as_json)
    else:
        show_comparison(found)
