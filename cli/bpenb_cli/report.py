"""`bpenb report`: a tokenizer and texts in, one HTML page out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _messages
from bpenb_cli import _on_files as on_files
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli._choices import Specials
from bpenb_cli._progress import shown_progress

__all__ = ["COMMAND", "EXAMPLE", "report"]

EXAMPLE = "Example: bpenb report tokenizer --on corpus.txt -o report.html"
COMMAND = on_files.OnFilesCommand


def report(
    tokenizer: Annotated[
        Path,
        typer.Argument(metavar="TOKENIZER", help="A tokenizer's folder, or one file.", show_default=False),
    ],
    on: on_files.OnOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    passage_tokens: Annotated[
        int, typer.Option("--passage-tokens", min=1, help="Tokens of the texts that can be pointed at.")
    ] = 2000,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
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
    """Write a page that shows a tokenizer: its compression, its tokens, and a passage to point at."""
    if not on:
        raise typer.BadParameter("on which texts? Give --on FILE...")
    with shown_progress(progress, "encoding", "counting") as show:
        import bpenb
        from bpenb.formats import read_training_report

        bpenb.write_report(
            looking.load_tokenizer(tokenizer, pattern),
            on,
            output,
            looking.chosen_settings(errors, special, field, document_separator, skip_bad_rows),
            name=str(tokenizer),
            training=read_training_report(tokenizer),
            passage_tokens=passage_tokens,
            force=force,
            workers=workers,
            max_memory=max_memory,
            progress=show,
        )
    _messages.note(f"{output}: {output.stat().st_size:,} bytes, one file; open it in a browser")
