"""`bpenb tokens`: a text as its tokens, coloured, with their ids."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _options as options
from bpenb_cli._choices import Specials
from bpenb_cli._token_view import show_tokens

__all__ = ["EXAMPLE", "tokens"]

EXAMPLE = 'Example: bpenb tokens "some text"'


def _read_text(text: str) -> str:
    if text != "-":
        return text
    from bpenb.errors import InvalidUtf8Error

    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error("standard input", error.start) from None


def tokens(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The text; `-` is standard input.", show_default=False)
    ],
    tokenizer: options.TokenizerOption = options.TOKENIZER,
    pattern: looking.PatternOption = None,
    special: looking.SpecialOption = Specials.ALL,
) -> None:
    """Show the tokens of a text: coloured in a terminal, else a line each of id, bytes and text.

    Control characters and bytes of incomplete characters are escaped.
    """
    loaded = looking.load_tokenizer(tokenizer, pattern)
    given = _read_text(text)
    refused = "all" if special is Specials.ERROR else ()
    allowed = "all" if special is Specials.ALL else ()
    ids = loaded.encode(given, allowed_special=allowed, disallowed_special=refused)
    show_tokens(ids, loaded)
