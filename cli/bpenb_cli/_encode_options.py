"""Options of `bpenb encode`: what becomes of documents and special tokens, and what is only counted."""

from __future__ import annotations

from typing import Annotated

import typer

from bpenb_cli._choices import Specials
from bpenb_cli._reading import INPUTS_HELP

__all__ = ["AppendEotOption", "CountOnlyOption", "EncodeInputsArgument", "EotOption", "JsonOption",
           "PerFileOption", "PrependEotOption", "SpecialOption"]  # fmt: skip

EncodeInputsArgument = Annotated[
    list[str],
    typer.Argument(metavar="INPUT", help=INPUTS_HELP, show_default=False),
]
SpecialOption = Annotated[
    Specials,
    typer.Option(
        "--special", help="Special tokens in the text get their ids, are text like any other, or an error."
    ),
]
AppendEotOption = Annotated[
    bool,
    typer.Option("--append-eot", help="End each document with the end-of-text token, if it has none there."),
]
PrependEotOption = Annotated[
    bool,
    typer.Option(
        "--prepend-eot", help="Begin each document with it; those in text files only separate documents then."
    ),
]
EotOption = Annotated[
    str | None,
    typer.Option(
        "--eot",
        metavar="TOKEN",
        help="The special token that ends a document.",
        show_default="<|endoftext|>, another usual one, or the only one",
    ),
]
_COUNTING = "Only count"
CountOnlyOption = Annotated[
    bool,
    typer.Option(
        "--count-only",
        help="Print tokens, documents and bytes per token; keep no ids.",
        rich_help_panel=_COUNTING,
    ),
]
PerFileOption = Annotated[
    bool, typer.Option("--per-file", help="For each input too.", rich_help_panel=_COUNTING)
]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON.", rich_help_panel=_COUNTING)]
