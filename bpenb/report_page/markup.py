"""Texts of others as HTML: escaped, whole, and with what would not be seen made visible.

In an element's text every character is that of the text, but for U+0000, which HTML cannot hold: page.js
puts it there. What is seen beside it comes from the style sheet, by the attribute `data-c`.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from bpenb._spelling import spell_bytes

__all__ = ["escape", "file_name", "show_text", "table"]

_NAMES = {"\0": "NUL", "\x07": "BEL", "\x08": "BS", "\r": "CR", "\x1b": "ESC", "\x7f": "DEL", "\xa0": "NBSP"}


def escape(text: str) -> str:
    """Return text that is one line, as HTML, for an element or between quotes."""
    return html.escape(text, quote=True)


def file_name(name: str) -> str:
    """Return a name that may hold anything a file system allows, as HTML."""
    return escape(name if name.isprintable() else spell_bytes(name.encode("utf-8", "surrogateescape")))


def show_text(text: str) -> str:
    """Return a text as HTML that shows its line ends, tabs, controls and marks of direction.

    Example:
        >>> print(ascii(show_text("a<b\\u202e")))
        'a&lt;b<i class="c" data-c="U+202E">\\u202e</i>'
    """
    if text.isprintable():
        return escape(text)
    return "".join(map(_show, text))


def _show(character: str) -> str:
    if character == "\n":
        return '<i class="nl">\n</i>'
    if character == "\t":
        return '<i class="tab">\t</i>'
    if character.isprintable():
        return escape(character)
    name = _NAMES.get(character, f"U+{ord(character):04X}")
    # A parser makes a line feed of a bare carriage return, and drops U+0000.
    held = {"\r": "&#13;", "\0": ""}.get(character, character)
    return f'<i class="c" data-c="{name}">{held}</i>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already.

    Example:
        >>> table(["a"], [["1"]])
        '<table><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
