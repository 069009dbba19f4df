"""Options of `bpenb train` for a vocab that is ready for a model: roles, reserved tokens, padding."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = [
    "BosOption",
    "EosOption",
    "PadOption",
    "PadToOption",
    "ReserveOption",
    "UnkOption",
    "vocab_options",
]

_ROLE = "; added if it is missing, and named so in bpenb.json and tokenizer_config.json."

ReserveOption = Annotated[
    int,
    typer.Option(
        "--reserve-special-tokens",
        metavar="N",
        help="Have special tokens <|reserved_special_token_0|> up to N - 1, for later use.",
    ),
]
PadToOption = Annotated[
    int | None,
    typer.Option(
        "--pad-vocab-to-multiple",
        metavar="N",
        help="Tell models a vocab size that is a multiple of this, such as 64; no token is added.",
        show_default=False,
    ),
]
BosOption = Annotated[
    str | None, typer.Option("--bos", metavar="TOKEN", help=f"The special token that begins a text{_ROLE}")
]
EosOption = Annotated[
    str | None, typer.Option("--eos", metavar="TOKEN", help="The one that ends a text; the same holds.")
]
PadOption = Annotated[
    str | None, typer.Option("--pad", metavar="TOKEN", help="The one that fills; the same holds.")
]
UnkOption = Annotated[
    str | None,
    typer.Option(
        "--unk", metavar="TOKEN", help="The one for what is unknown (here nothing is); the same holds."
    ),
]


def vocab_options(
    reserve_special_tokens: int,
    pad_vocab_to_multiple: int | None,
    bos: str | None,
    eos: str | None,
    pad: str | None,
    unk: str | None,
) -> dict[str, Any]:
    """Return what `bpenb.train` takes for these options."""
    import bpenb

    made = bpenb.VocabOptions(reserve_special_tokens, pad_vocab_to_multiple, bos, eos, pad, unk)
    return {"vocab_options": made}
