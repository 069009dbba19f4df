"""`bpenb decode`: token ids in, the bytes of the text out."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _options as options
from bpenb_cli._choices import IdDtype
from bpenb_cli._either_kind import decoded, load_any
from bpenb_cli._progress import shown_progress

__all__ = ["EXAMPLE", "decode"]

EXAMPLE = "Example: bpenb decode ids.npy > file.txt"


def decode(
    ids: Annotated[
        str,
        typer.Argument(
            metavar="IDS",
            help="Token ids: a .npy, .bin or .ds file, a folder of them, or a manifest; "
            "`-` is a .npy on standard input.",
        ),
    ],
    tokenizer: options.TokenizerOption = options.TOKENIZER,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write.", show_default="standard output"),
    ] = None,
    dtype: Annotated[
        IdDtype | None,
        typer.Option(
            "--dtype",
            help="16 or 32 bits an id, if no manifest and no header tells it.",
            show_default="by the tokenizer's size",
        ),
    ] = None,
    errors: Annotated[
        options.Utf8Errors | None,
        typer.Option(
            "--errors",
            help="If the text must be UTF-8: stop and say at which token it is not, or write U+FFFD there.",
            show_default="the exact bytes",
        ),
    ] = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Decode token ids; the text goes to standard output or a file, byte for byte."""
    with shown_progress(progress, "encoding") as show, ExitStack() as stack:
        from bpenb.dataset import iterate_ids, open_target
        from bpenb.progress import make_reporter

        loaded = load_any(tokenizer)
        out = sys.stdout.buffer if output is None else stack.enter_context(open_target(output))
        blocks = iterate_ids(ids, dtype and dtype.value, n_vocab=loaded.n_vocab)
        name = "standard input" if ids == "-" else ids
        for text in decoded(loaded, blocks, errors and errors.value, name, make_reporter(show)):
            out.write(text)
        out.flush()
