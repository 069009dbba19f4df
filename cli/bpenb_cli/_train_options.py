"""Options of `bpenb train` alone: how large, on which further texts, and whether to verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli._amounts import read_amount
from bpenb_cli._choices import Ties

__all__ = ["EvalOption", "ForceOption", "MaxTokenLengthOption", "MinFrequencyOption", "OutputOption",
           "ProfileOption", "TiesOption", "VerifyOption", "VocabSizeOption", "parse_vocab_sizes"]  # fmt: skip

VocabSizeOption = Annotated[
    str,
    typer.Option(
        "--vocab-size",
        metavar="N[,N…]",
        help="Tokens at most, the 256 bytes included; 32k is 32,000. Several, such as 8k,16k,32k, "
        "are trained at once: a folder for each size, and a table of bytes per token.",
    ),
]
EvalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--eval",
        metavar="FILE",
        help="A further text: for the table of several sizes, or for the gain over the --base.",
    ),
]
TiesOption = Annotated[
    Ties | None,
    typer.Option(
        "--ties",
        help="Which of equally frequent pairs merges first: as whose trainer.",
        show_default="cs336",
    ),
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Hold the result against slow, simple code before it is saved.")
]
MinFrequencyOption = Annotated[int, typer.Option(help="Least count of a pair that is merged.")]
MaxTokenLengthOption = Annotated[int | None, typer.Option(help="Longest token, in bytes.")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a folder of something else.")]
ProfileOption = Annotated[Path | None, typer.Option(help="Write cProfile data to this file.")]


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
