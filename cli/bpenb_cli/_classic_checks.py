"""Options of `bpenb train` that exclude each other where it learns on characters, or in steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from bpenb_cli._choices import Alphabet

__all__ = ["classic_options", "is_given"]

# What a tokenizer on characters has no place for, by the name of the parameter.
OF_BYTES = ("eval_files", "bos", "eos", "pad", "unk", "reserve_special_tokens", "pad_vocab_to_multiple",
            "max_token_length", "engine", "base", "checkpoint", "resume", "verify")  # fmt: skip
OF_CHARACTERS = ("end_of_word", "min_character_count")
OF_EXACT = ("checkpoint", "resume", "verify")
_SPELLED = {"eval_files": "--eval"}


def is_given(context: typer.Context, name: str) -> bool:
    """Tell whether a parameter stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def classic_options(given: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, Any] | None:
    """Return what `bpenb.train_classic` takes for these options, or None for bytes; refuse what cannot be.

    Args:
        given: the parameters of the command by name, its `context` among them.
        sizes: of vocabs.
    """
    context, steps = given["context"], given["merges_per_step"]
    is_classic = given["alphabet"] is Alphabet.CHARACTERS
    taken = {"resume"} if given["cluster"] is not None else set()  # a cluster goes on from what it counted
    of_bytes = [name for name in OF_BYTES if name not in taken] if is_classic else ()
    _refuse(context, of_bytes, "is for bytes; --alphabet characters has none")
    _refuse(context, () if is_classic else OF_CHARACTERS, "is for --alphabet characters")
    if steps > 1:
        of_exact = [name for name in OF_EXACT if name not in taken]
        _refuse(context, of_exact, "is for exact BPE, which --merges-per-step is not")
    if len(sizes) > 1 and (is_classic or steps > 1):
        what = "--alphabet characters" if is_classic else "--merges-per-step"
        raise typer.BadParameter(f"{what} is for one --vocab-size")
    if not is_classic:
        return None
    return {name: given[name] for name in OF_CHARACTERS if given[name] is not None}


def _refuse(context: typer.Context, names: Sequence[str], why: str) -> None:
    for name in names:
        if is_given(context, name):
            raise typer.BadParameter(f"{_SPELLED.get(name, '--' + name.replace('_', '-'))} {why}")
