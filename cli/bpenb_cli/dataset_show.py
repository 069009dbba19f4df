"""`bpenb dataset show`: the figures of a dataset, or the text of a part of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _messages
from bpenb_cli import _options as options
from bpenb_cli._choices import IdDtype
from bpenb_cli._dataset_rows import print_figures

__all__ = ["EXAMPLE", "dataset_show"]

EXAMPLE = "Example: bpenb dataset show data/ --document 0"


def _read_range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+):(\d+)", text)
    if not found or int(found[1]) > int(found[2]):
        raise typer.BadParameter(f"--tokens {text}: write A:B for tokens A to B - 1, counted from 0")
    return int(found[1]), int(found[2])


def dataset_show(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A folder, a data file or a manifest.", show_default=False),
    ],
    tokenizer: options.TokenizerOption = options.TOKENIZER,
    document: Annotated[
        int | None,
        typer.Option("--document", min=0, help="Print the text of this document, counted from 0."),
    ] = None,
    tokens: Annotated[
        str | None, typer.Option("--tokens", metavar="A:B", help="Print the text of tokens A to B - 1.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Count in this split only.")] = None,
    dtype: Annotated[
        IdDtype | None, typer.Option("--dtype", help="16 or 32 bits an id, if nothing tells it.")
    ] = None,
) -> None:
    """Show what a dataset holds, or print the text of a document or of some tokens, byte for byte."""
    if document is not None and tokens is not None:
        raise typer.BadParameter("--document and --tokens exclude each other")
    span = None if tokens is None else _read_range(tokens)
    from bpenb.dataset import open_dataset

    if document is None and span is None:
        print_figures(open_dataset(path, dtype and dtype.value, split=split))
        return
    from bpenb import BpenbError, Tokenizer
    from bpenb.dataset import check_tokenizer, decode_named_blocks

    loaded = Tokenizer.load(tokenizer)
    dataset = open_dataset(path, dtype and dtype.value, n_vocab=loaded.n_vocab, split=split)
    if dataset.manifest is not None:
        try:
            check_tokenizer(path, loaded)
        except BpenbError as error:
            _messages.warning(str(error))
    ids = dataset.document(document) if document is not None else dataset.read(*(span or (0, 0)))
    for text in decode_named_blocks(loaded, [ids], name=str(path)):
        sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
