"""`bpenb merge-counts`: files of word counts in, one out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _messages
from bpenb_cli import _mixture as mixture
from bpenb_cli import _options as options
from bpenb_cli._counts_summary import show_merge

__all__ = ["EXAMPLE", "merge_counts"]

EXAMPLE = "Example: bpenb merge-counts counts-1.npz counts-2.npz -o all.npz"


def merge_counts(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="COUNTS",
            help="Files that `bpenb count` wrote; wiki.npz=3 counts three times.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    min_word_count: mixture.MinWordCountOption = 1,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Merge although shards are missing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace any file.")] = False,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Add up word counts that were made alike, each shard once: the counts of the whole, exactly."""
    _messages.set_style(progress)
    pairs = [mixture.read_weight(argument) for argument in inputs]
    import bpenb

    report = bpenb.merge_to_file(
        [path for path, _ in pairs],
        output,
        weights=[weight for _, weight in pairs],
        min_word_count=min_word_count,
        allow_missing=allow_missing,
        force=force,
    )
    show_merge(report)
