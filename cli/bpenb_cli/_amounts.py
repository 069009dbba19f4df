"""Whole numbers as people write them: 32k, 100M."""

from __future__ import annotations

import re

import typer

__all__ = ["amount_of", "read_amount"]

_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def read_amount(text: str) -> int | None:
    """Return a whole number, perhaps in thousands (k), millions (m) or billions (g); None if it is none.

    Example:
        >>> read_amount("100M"), read_amount("8k"), read_amount("-1"), read_amount("1.5k")
        (100000000, 8000, -1, None)
    """
    found = re.fullmatch(r"(-?[0-9]+)([kmg]?)", text.strip().lower())
    return int(found[1]) * _FACTORS[found[2]] if found else None


def amount_of(option: str, text: str | None) -> int | None:
    """Return what an option says; None: it was not given."""
    if text is None:
        return None
    amount = read_amount(text)
    if amount is None:
        raise typer.BadParameter(f"{option}: {text!r} is not an integer such as 2048, 1k or 100M")
    return amount
