"""Options of `bpenb train` for going on: from a base, from a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["BaseOption", "CheckpointOption", "EvalOption", "ResumeOption", "going_on"]

BaseOption = Annotated[
    Path | None,
    typer.Option("--base", help="A tokenizer to go on from: its ids and merges stay, new ones follow."),
]
EvalOption = Annotated[
    list[Path] | None,
    typer.Option("--eval", help="A text to tell the gain over the base on; may be given several times."),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", help="A file to keep the merges in, every minute and when broken off; it stays."
    ),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")]


def going_on(
    base: Path | None,
    evaluate: Sequence[Path] | None,
    checkpoint: Path | None,
    resume: bool,
    force: bool,
    output: Path,
) -> dict[str, Any]:
    """Return what `bpenb.train` takes for these options, checked as far as the command line can."""
    if evaluate and base is None:
        raise typer.BadParameter("--eval tells the gain over a base: name one with --base")
    if resume and checkpoint is None:
        raise typer.BadParameter("--resume needs --checkpoint, the file to go on from")
    if checkpoint is None:
        return {"base": base}
    if output.resolve() in checkpoint.resolve().parents:
        raise typer.BadParameter("the --checkpoint must not be in the --output folder, which is replaced")
    from bpenb import Checkpoint

    return {"base": base, "checkpoint": Checkpoint(checkpoint, resume, force)}
