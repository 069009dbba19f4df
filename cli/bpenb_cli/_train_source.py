"""What a training learns from, as its command line names it: files of text or rows, or of word counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from bpenb_cli._mixture import weighted_files

__all__ = ["OF_READING", "training_files"]

# Counts were made already, with a pattern and special tokens of their own.
OF_READING = (
    "engine",
    "pool",
    "chunk_size",
    "max_memory",
    "errors",
    "max_bytes_per_source",
    "sample",
    "seed",
    "field",
    "document_separator",
    "skip_bad_rows",
)


def training_files(
    context: typer.Context, inputs: Sequence[str] | None, from_counts: Path | None
) -> list[Path | str] | dict[Path | str, int]:
    """Return the text files of a command line; none if it names word counts, which excludes some options."""
    if from_counts is None:
        if not inputs:
            raise typer.BadParameter("give an INPUT, or --from-counts FILE")
        return weighted_files(inputs)
    if inputs:
        raise typer.BadParameter("--from-counts and INPUT exclude each other")
    for name in OF_READING:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise typer.BadParameter(f"{option} is for reading text; --from-counts reads none")
    return []
