"""`bpenb compare`: tokenizers side by side on the same texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _on_files as on_files
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli._choices import Specials
from bpenb_cli._compare_tables import show_comparison
from bpenb_cli._progress import shown_progress

__all__ = ["COMMAND", "EXAMPLE", "compare"]

EXAMPLE = "Example: bpenb compare tokenizer other/tokenizer.json --on corpus.txt"
COMMAND = on_files.OnFilesCommand


def compare(
    tokenizers: Annotated[
        list[Path],
        typer.Argument(metavar="TOKENIZER...", help="Folders, or files, two or more.", show_default=False),
    ],
    on: on_files.OnOption = None,
    as_json: looking.JsonOption = False,
    as_csv: looking.CsvOption = False,
    top: looking.TopOption = 20,
    pattern: looking.PatternOption = None,
    special: looking.SpecialOption = Specials.ALL,
    field: reading.FieldOption = "text",
    document_separator: reading.SeparatorOption = None,
    skip_bad_rows: reading.SkipBadRowsOption = False,
    workers: options.WorkersOption = None,
    max_memory: options.MaxMemoryOption = None,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Hold tokenizers side by side: tokens, bytes per token, speed, and the words on which they differ."""
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other")
    if not on:
        raise typer.BadParameter("on which texts? Give --on FILE...")
    if len({str(path) for path in tokenizers}) < max(2, len(tokenizers)):
        raise typer.BadParameter("give two or more tokenizers, each once")
    with shown_progress(progress, "encoding", "counting") as show:
        import bpenb

        found = bpenb.compare_tokenizers(
            {str(path): looking.load_tokenizer(path, pattern) for path in tokenizers},
            on,
            looking.chosen_settings(errors, special, field, document_separator, skip_bad_rows),
            top=top,
            workers=workers,
            max_memory=max_memory,
            progress=show,
        )
    if as_json or as_csv:
        looking.print_data(found.to_json() if as_json else {}, found.csv_rows(), as_json)
    else:
        show_comparison(found)
