"""Options of `bpenb train` for going on: from a base, from a checkpoint; and what a base gained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bpenb_cli import _messages

if TYPE_CHECKING:
    from bpenb import Tokenizer

__all__ = ["BaseOption", "CheckpointOption", "EvalOption", "ResumeOption", "going_on", "rates", "show_gains"]

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


def rates(
    tokenizer: Path | Tokenizer | None, evaluate: Sequence[Path] | None, errors: Any, pattern: str | None
) -> list[float]:
    """Return the bytes per token of each text; before a training, this tells too whether it can be read."""
    if not evaluate or tokenizer is None:
        return []
    from bpenb import Tokenizer
    from bpenb.encoding import encode_file_blocks

    loaded = Tokenizer.load(tokenizer, pattern=pattern) if isinstance(tokenizer, Path) else tokenizer
    n_tokens = [sum(len(ids) for ids in encode_file_blocks(loaded, text, errors=errors)) for text in evaluate]
    return [path.stat().st_size / max(1, n) for path, n in zip(evaluate, n_tokens, strict=True)]


def show_gains(
    tokenizer: Tokenizer, evaluate: Sequence[Path] | None, before: list[float], after: list[float]
) -> None:
    """Say how many bytes a token stands for, with the base and now: on the new corpus, and on texts."""
    gained = (tokenizer.report or {}).get("base")
    if gained is None:
        return
    texts = ["the new corpus", *map(str, evaluate or ())]
    before = [gained["bytes_per_token_before"] or 0.0, *before]
    after = [gained["bytes_per_token_after"] or 0.0, *after]
    for text, old, new in zip(texts, before, after, strict=True):
        if old and new:
            gain = f"{100 * (new / old - 1):+.1f} %"
            _messages.note(f"{text}: {old:.3f} bytes per token with the base, {new:.3f} now ({gain})")
