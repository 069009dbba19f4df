"""The tokens of a text as HTML, for notebooks: coloured, escaped, and nothing in it that runs."""

from __future__ import annotations

import html

from bpenb._arrays import IdArray, Int64Array
from bpenb._spelling import spell_bytes

__all__ = ["MOST_TOKENS", "token_html"]

MOST_TOKENS = 2_000  # a notebook keeps its output in its file

# Thin colours over whatever ground the notebook has: its own letters stay readable, light or dark.
_COLOURS = tuple(
    f"rgba({colour},0.35)"
    for colour in ("70,160,220", "240,170,60", "90,180,90", "230,110,150", "150,120,230")
)
# Else a notebook would take what stands between two $ for mathematics, and set it.
_IGNORE = "tex2jax_ignore mathjax_ignore"


def token_html(ids: IdArray, byte_spans: Int64Array, text: bytes, most: int = MOST_TOKENS) -> str:
    """Return the tokens of a text, each in a colour, with its id where one points at it, and all ids below.

    What would not be seen is spelled as of `spell_bytes`; a line ends behind a token that ends one.

    Args:
        ids: int32[n].
        byte_spans: int64[n, 2], where each token stands in the text.
        text: its bytes.
        most: tokens that are shown.

    Example:
        >>> import numpy as np
        >>> shown = token_html(np.array([7], np.int32), np.array([[0, 3]]), b"<b>")
        >>> "&lt;b&gt;</span>" in shown and "id 7, 3 bytes" in shown
        True
    """
    spans = []
    for position, (token_id, (start, end)) in enumerate(
        zip(ids[:most].tolist(), byte_spans[:most].tolist(), strict=True)
    ):
        token = text[start:end]
        spelled = html.escape(spell_bytes(token))
        colour = _COLOURS[position % len(_COLOURS)]
        title = f"id {token_id}, {len(token)} byte{'s' if len(token) != 1 else ''}: {token[:64].hex(' ')}"
        spans.append(f'<span style="background:{colour}" title="{title}">{spelled}</span>')
        if b"\n" in token:
            spans.append("<br>")
    rest = f"<div>… and {len(ids) - most:,} more tokens</div>" if len(ids) > most else ""
    return (
        f'<div class="{_IGNORE}"><div style="white-space:pre-wrap;font-family:monospace;line-height:1.6">'
        f"{''.join(spans)}</div>{rest}"
        f"<details><summary>{len(ids):,} tokens, {len(text):,} bytes</summary>"
        f'<code style="white-space:normal">{" ".join(map(str, ids[:most].tolist()))}</code></details></div>'
    )
