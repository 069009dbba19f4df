"""The sizes that `--vocab-size` names."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from bpenb_cli._amounts import read_amount

__all__ = ["parse_vocab_sizes"]


def _parse_size(text: str) -> int:
    size = read_amount(text)
    if size is None:
        raise typer.BadParameter(
            f"--vocab-size: {text.strip()!r} is not an integer such as 32000, 32k or 1m, nor several "
            "with commas between them"
        )
    return size


def parse_vocab_sizes(text: str, eval_files: Sequence[str] | None = None) -> list[int]:
    """Return the sizes that `--vocab-size` names.

    Example:
        >>> parse_vocab_sizes("8k,16000"), parse_vocab_sizes("1m")
        ([8000, 16000], [1000000])
    """
    sizes = [_parse_size(part) for part in text.split(",")]
    twice = next((size for size in sizes if sizes.count(size) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"--vocab-size names {twice} twice; each size is written once")
    if eval_files and len(sizes) == 1:
        raise typer.BadParameter(
            "--eval is for several sizes at once, such as --vocab-size 8k,16k, or for --base; for one "
            "tokenizer, count what `bpenb encode` gives"
        )
    return sizes
