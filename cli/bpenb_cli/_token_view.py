"""Tokens in a terminal: coloured, or a line each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpenb import Tokenizer
    from rich.console import Console

__all__ = ["show_tokens"]

# Dark letters on light grounds: read the same whatever the terminal's own colours.
_STYLES = tuple(f"#000000 on {ground}" for ground in ("#a6d8f0", "#f9d9a0", "#b9e3b0", "#f3bfd0", "#d3c8f0"))
_SPECIAL = "bold #ffffff on #8a1f2d"


def show_tokens(ids: Sequence[int], tokenizer: Tokenizer) -> None:
    """Print the tokens of a text: coloured where there is colour, else a line each."""
    from rich.console import Console

    console = Console(highlight=False)
    if console.color_system is None or console.no_color:
        _print_lines(ids, tokenizer)
    else:
        _print_coloured(ids, tokenizer, console)


def _print_lines(ids: Sequence[int], tokenizer: Tokenizer) -> None:
    """Print id, bytes and text of each token, with tabs between."""
    from bpenb._spelling import spell_bytes

    for token_id in ids:
        token = tokenizer.token_bytes(token_id)
        sys.stdout.write(f"{token_id}\t{token.hex()}\t{spell_bytes(token)}\n")


def _print_coloured(ids: Sequence[int], tokenizer: Tokenizer, console: Console) -> None:
    """Print the text in colours, the ids in the same ones, and a line of figures."""
    from bpenb._spelling import spell_bytes
    from rich.text import Text

    special = set(tokenizer.special_tokens.values())
    text, numbers, n_bytes = Text(end=""), Text(end=""), 0
    for position, token_id in enumerate(ids):
        token = tokenizer.token_bytes(token_id)
        style = _SPECIAL if token_id in special else _STYLES[position % len(_STYLES)]
        text.append(spell_bytes(token), style)
        if b"\n" in token:
            text.append("\n")
        numbers.append(str(token_id), style)
        numbers.append(" ")
        n_bytes += len(token)
    for part in (text, numbers):  # the terminal wraps: rich would take spaces away at the ends of lines
        console.print(part, soft_wrap=True)
    rate = f", {n_bytes / len(ids):.2f} bytes per token" if ids else ""
    console.print(f"{len(ids):,} tokens, {n_bytes:,} bytes{rate}", markup=False, style="dim", soft_wrap=True)
