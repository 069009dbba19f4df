"""`bpenb dataset verify`: a dataset held against its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _messages
from bpenb_cli import _options as options
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._progress import shown_progress

__all__ = ["EXAMPLE", "dataset_verify"]

EXAMPLE = "Example: bpenb dataset verify data/"


def dataset_verify(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A folder, a data file or a manifest.", show_default=False),
    ],
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer",
            "-t",
            help="Check also that the ids were made by this one.",
            show_default="what the manifest tells",
        ),
    ] = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Check sizes, checksums, ids and documents of a dataset; exit code 1 if anything is wrong."""
    with shown_progress(progress, "encoding") as show:
        from bpenb.dataset import check_tokenizer, verify_dataset

        if tokenizer is not None:
            from bpenb import Tokenizer

            check_tokenizer(path, Tokenizer.load(tokenizer))
        check = verify_dataset(path, progress=show)
        if _messages.style() is ProgressStyle.JSON:
            _messages.event("verified", **check._asdict())
        index = "documents in order" if check.has_index else "no index of documents to check"
        _messages.note(
            f"{path}: as its manifest tells: {check.n_files:,} files, {check.n_bytes:,} bytes, "
            f"{check.n_tokens:,} tokens, {check.n_documents:,} documents; every id is a token; {index}"
        )
