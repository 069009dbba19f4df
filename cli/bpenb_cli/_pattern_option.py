"""The option for a split pattern; the shell completes the names that there are."""

from __future__ import annotations

from typing import Annotated

import typer
from bpenb.patterns import PATTERNS

__all__ = ["PatternOption"]


def _names() -> list[str]:
    return list(PATTERNS)


PatternOption = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        help=f"One of {', '.join(PATTERNS)}, or a regex.",
        show_default="gpt2",
        autocompletion=_names,
    ),
]
