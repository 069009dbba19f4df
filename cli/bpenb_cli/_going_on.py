"""Options of `bpenb train` for going on: from a base, from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["BaseOption", "CheckpointOption", "ResumeOption", "going_on"]

BaseOption = Annotated[
    Path | None,
    typer.Option("--base", help="A tokenizer to go on from: its ids and merges stay, new ones follow."),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", help="A file to keep the merges in, every minute and when broken off; it stays."
    ),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on from the checkpoint, or from what a cluster has counted.")
]


def going_on(
    base: Path | None,
    checkpoint: Path | None,
    resume: bool,
    force: bool,
    output: Path,
    special_tokens: list[str] | None,
    n_sizes: int,
) -> dict[str, Any]:
    """Return what `bpenb.train` takes for these options, checked as far as the command line can."""
    if n_sizes > 1 and (base or checkpoint):
        raise typer.BadParameter("--base and --checkpoint are for one --vocab-size")
    if base and special_tokens == []:
        raise typer.BadParameter("--no-special-tokens and --base exclude each other: the base has its own")
    if resume and checkpoint is None:
        raise typer.BadParameter("--resume needs --checkpoint, the file to go on from")
    if checkpoint is None:
        return {} if base is None else {"base": base}
    if output.resolve() in checkpoint.resolve().parents:
        raise typer.BadParameter("the --checkpoint must not be in the --output folder, which is replaced")
    from bpenb import Checkpoint

    return {"base": base, "checkpoint": Checkpoint(checkpoint, resume, force)}
