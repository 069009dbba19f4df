"""Options of `bpenb train` for characters with an end-of-word mark, and for several merges per step."""

from __future__ import annotations

from typing import Annotated

import typer

from bpenb_cli._choices import Alphabet

__all__ = [
    "Alphabet",
    "AlphabetOption",
    "EndOfWordOption",
    "MergesPerStepOption",
    "MinCharacterCountOption",
    "MinFrequencyOption",
]

AlphabetOption = Annotated[
    Alphabet,
    typer.Option(
        "--alphabet",
        help="What merges begin with: bytes, or characters (docs/classic.md).",
    ),
]
EndOfWordOption = Annotated[
    str | None,
    typer.Option(
        "--end-of-word",
        metavar="MARK",
        help="For characters: what is joined to the last one of a word.",
        show_default="</w>",
    ),
]
MinCharacterCountOption = Annotated[
    int | None,
    typer.Option(
        "--min-character-count",
        metavar="N",
        help="For characters: those that occur less often become <unk>.",
        show_default="1",
    ),
]
MergesPerStepOption = Annotated[
    int,
    typer.Option(
        "--merges-per-step",
        metavar="K",
        help="Merge up to K of the best pairs at once that share no token. Not exact: the exact training is "
        "done too, and compared.",
    ),
]
MinFrequencyOption = Annotated[
    int | None,
    typer.Option(
        "--min-frequency",
        help="Least count of a pair that is merged.",
        show_default="1; for characters 2",
    ),
]
