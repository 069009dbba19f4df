"""Options of `bpenb train` alone: from what, how large, on which further texts, and to where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli._choices import Ties
from bpenb_cli._mixture import WEIGHTED_INPUTS_HELP
from bpenb_cli._vocab_sizes import parse_vocab_sizes

__all__ = ["EvalOption", "ForceOption", "FromCountsOption", "MaxTokenLengthOption", "OutputOption",
           "ProfileOption", "TiesOption", "TrainInputsArgument", "VerifyOption", "VocabSizeOption",
           "parse_vocab_sizes"]  # fmt: skip

TrainInputsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="INPUT", help=WEIGHTED_INPUTS_HELP, show_default=False),
]
FromCountsOption = Annotated[
    Path | None,
    typer.Option("--from-counts", help="Train from what `bpenb count` wrote; there is no INPUT then."),
]
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
MaxTokenLengthOption = Annotated[
    int | None, typer.Option("--max-token-length", help="Longest token, in bytes.")
]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a folder of something else.")]
ProfileOption = Annotated[Path | None, typer.Option("--profile", help="Write cProfile data to this file.")]
