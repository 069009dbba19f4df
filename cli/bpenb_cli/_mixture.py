"""Inputs and the part of them that is taken: `INPUT=WEIGHT`, caps, samples, rare words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from bpenb._remote import is_http, is_remote, shown_name

from bpenb_cli._reading import INPUTS_HELP

__all__ = ["WEIGHTED_INPUTS_HELP", "CapOption", "InputsArgument", "MinWordCountOption", "SampleOption",
           "SeedOption", "read_weight", "taken", "weighted_files"]  # fmt: skip

WEIGHTED_INPUTS_HELP = f"{INPUTS_HELP} wiki.txt=3 counts three times."
InputsArgument = Annotated[
    list[str],
    typer.Argument(metavar="INPUT", help=WEIGHTED_INPUTS_HELP, show_default=False),
]
CapOption = Annotated[
    str | None,
    typer.Option("--max-bytes-per-source", help="Such as 500MB: what is taken of each input at most."),
]
SampleOption = Annotated[
    float | None, typer.Option("--sample", help="Keep each document with this probability, such as 0.1.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the sample.")]
MinWordCountOption = Annotated[
    int, typer.Option("--min-word-count", help="Leave out words that occur less often, and tell how many.")
]


def read_weight(argument: str) -> tuple[Path | str, int]:
    """Return the path, glob or URL and weight of such as `wiki.txt=3`; what exists as it stands is a path.

    `=3` may be the end of a query: a weight comes behind one that is whole, as in `https://…?part=3=2`.
    """
    name, equals, weight = argument.rpartition("=")
    is_weight: object = equals and re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?", weight)
    if is_remote(argument):
        kept: Path | str = argument
        is_weight = is_weight and not (is_http(name) and re.search(r"[?&][^=&]*$", name))
    else:
        kept = Path(argument)
        is_weight = is_weight and not kept.exists()
    if not is_weight:
        return kept, 1
    if not weight.isdigit() or int(weight) < 1:
        raise typer.BadParameter(f"{shown_name(name)}: the weight is {weight}; it must be a positive integer")
    return name if is_remote(name) else Path(name), int(weight)


def weighted_files(arguments: Sequence[str]) -> list[Path | str] | dict[Path | str, int]:
    """Return the inputs, with the sum of its weights for each if any has one other than 1."""
    pairs = [read_weight(argument) for argument in arguments]
    if all(weight == 1 for _, weight in pairs):
        return [path for path, _ in pairs]
    total: Counter[Path | str] = Counter()
    for path, weight in pairs:
        total[path] += weight
    return dict(total)


def taken(max_bytes_per_source: str | None, sample: float | None, seed: int) -> dict[str, Any]:
    """Return the settings that say which part of the inputs is taken."""
    return {"max_bytes_per_source": max_bytes_per_source, "sample": sample, "seed": seed}
