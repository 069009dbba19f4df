"""How texts and rows are read and by whom: options that `train`, `count` and `encode` share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bpenb_cli._choices import Engine, Pool, Utf8Errors

if TYPE_CHECKING:
    from bpenb import InputOptions

__all__ = ["INPUTS_HELP", "FieldOption", "SeparatorOption", "SkipBadRowsOption", "input_options", "reading",
           "unescape"]  # fmt: skip

INPUTS_HELP = (
    "Text (UTF-8), .jsonl or .parquet files, also .gz and .zst; URLs; globs; folders; `-` is standard input."
)
FieldOption = Annotated[
    str, typer.Option("--field", metavar="NAME", help="The field of a row, or the column, with the text.")
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--document-separator",
        metavar="TEXT",
        help=r"Separates documents in text files, and is no token; \n, \r, \t and \\ are understood.",
    ),
]
SkipBadRowsOption = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows without a text, and tell how many.")
]

_ESCAPES = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\\": "\\"}


def unescape(text: str) -> str:
    r"""Return a text with its escapes as what they mean.

    Example:
        >>> unescape(r"\n\n---\\") == "\n\n---" + chr(92)
        True
    """

    def meaning(found: re.Match[str]) -> str:
        if found[0] not in _ESCAPES:
            raise typer.BadParameter(
                rf"--document-separator: {found[0]} is no escape; there are \n, \r, \t, and \\ for \ itself"
            )
        return _ESCAPES[found[0]]

    return re.sub(r"\\.?", meaning, text, flags=re.DOTALL)


def input_options(field: str, document_separator: str | None, skip_bad_rows: bool) -> InputOptions:
    """Return how inputs are read."""
    import bpenb

    separator = None if document_separator is None else unescape(document_separator)
    return bpenb.InputOptions(field, separator, skip_bad_rows)


def reading(
    errors: Utf8Errors,
    engine: Engine,
    workers: int | None,
    pool: Pool,
    chunk_size: int | None,
    max_memory: str | None,
) -> dict[str, Any]:
    """Return settings of counting: who counts, and how."""
    import bpenb

    workforce = bpenb.Workforce(workers, pool.value, chunk_size, max_memory=max_memory)
    return {"errors": errors.value, "engine": engine.value, "workers": workforce}
