"""`bpenb inspect`: what a tokenizer is, and what it makes of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _on_files as on_files
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli._choices import Specials
from bpenb_cli._inspect_tables import show_inspection
from bpenb_cli._progress import shown_progress

__all__ = ["COMMAND", "EXAMPLE", "inspect"]

EXAMPLE = "Example: bpenb inspect tokenizer --on corpus.txt"
COMMAND = on_files.OnFilesCommand


def inspect(
    tokenizer: Annotated[
        Path,
        typer.Argument(metavar="TOKENIZER", help="A tokenizer's folder, or one file.", show_default=False),
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
    """Look at a tokenizer and, with --on, at what it makes of texts; --csv has a row for each token."""
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other")
    with shown_progress(progress, "encoding", "counting") as show:
        import bpenb

        found = bpenb.inspect_tokenizer(
            looking.load_tokenizer(tokenizer, pattern),
            on or None,
            looking.chosen_settings(errors, special, field, document_separator, skip_bad_rows),
            top=top,
            workers=workers,
            max_memory=max_memory,
            progress=show,
        )
    if as_json or as_csv:
        looking.print_data(found.to_json(top) if as_json else {}, found.csv_rows(), as_json)
    else:
        show_inspection(found, top)
