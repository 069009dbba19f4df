"""Tables on standard output; what stands in them is shown, never obeyed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["percent", "print_facts", "print_list", "quoted", "spelled", "spelled_name"]


def percent(part: int, whole: int) -> str:
    """Return a number with its share, for people."""
    return f"{part:,} ({100 * part / whole:.1f} %)" if whole else f"{part:,}"


def quoted(token: bytes) -> str:
    """Return bytes escaped, on one line, between quotes: a space at either end is seen."""
    from bpenb._spelling import spell_bytes

    return f"'{spell_bytes(token)}'"


def spelled(text: str) -> str:
    """Return a text of a tokenizer's files, such as a regex, on one line; no backslash is doubled."""
    from bpenb._spelling import spell_bytes

    return spell_bytes(text.encode("utf-8", "surrogatepass")).replace("\\\\", "\\")


def spelled_name(name: str) -> str:
    """Return the name of a file, escaped."""
    from bpenb._spelling import spell_bytes

    return spell_bytes(os.fsencode(name)).replace("\\\\", "\\")  # as Windows has it


def print_facts(facts: Mapping[str, str], title: str | None = None) -> None:
    """Print names with values, those that are not empty."""
    _print(None, [(name, value) for name, value in facts.items() if value], title)


def print_list(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print a table with a head; numbers stand on the right. Nothing is printed without rows."""
    _print(columns, list(rows), title)


def _print(columns: Sequence[str] | None, rows: Sequence[Sequence[Any]], title: str | None) -> None:
    if not rows:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heading = None if title is None else Text(title, style="bold")
    table = Table(show_header=columns is not None, title=heading, title_justify="left")
    for position, name in enumerate(columns or ("", "")):
        is_number = not isinstance(rows[0][position], str)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_format(value)) for value in row))
    Console(highlight=False).print(table)


def _format(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
