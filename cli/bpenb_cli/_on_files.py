"""`--on FILE...`: the option that takes all files up to the next option."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from bpenb_cli._reading import INPUTS_HELP

__all__ = ["ON", "OnFilesCommand", "OnOption", "spread_on"]

ON = "--on"
OnOption = Annotated[
    list[str] | None,
    typer.Option(
        ON,
        metavar="FILE...",
        help=f"All files up to the next option: {INPUTS_HELP.rpartition(' wiki')[0]}",
        show_default=False,
    ),
]


def spread_on(arguments: list[str]) -> list[str]:
    """Return arguments with `--on` before each of the files that follow one.

    Example:
        >>> spread_on(["t.json", "--on", "a.txt", "b.txt", "--json"])
        ['t.json', '--on', 'a.txt', '--on', 'b.txt', '--json']
    """
    spread: list[str] = []
    n_files = -1  # behind the last --on; −1: none is open
    for position, argument in enumerate(arguments):
        if argument == "--":
            return spread + arguments[position:]
        if argument.startswith("-") and argument != "-":
            n_files = 0 if argument == ON else -1
        elif n_files >= 0:
            n_files += 1
            if n_files > 1:
                spread.append(ON)
        spread.append(argument)
    return spread


class OnFilesCommand(TyperCommand):
    """A command whose option `--on` takes all files up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after `--on` was put before each file."""
        return super().parse_args(ctx, spread_on(args))
