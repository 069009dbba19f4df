"""The classes of Unicode 16.0 that split patterns can tell apart, as a table by code point.

The table is data, made by tools/make_unicode_classes.py; a class is a set of flags, one for
each bit plane that the scanners read.
"""

from __future__ import annotations

import functools
from importlib.resources import files

import numpy as np

from bpenb._arrays import ByteArray

__all__ = [
    "CLASS_FLAGS",
    "LETTER",
    "LOWER_LIKE",
    "MARK",
    "NUMBER",
    "UNICODE_VERSION",
    "UPPER_LIKE",
    "WHITESPACE",
    "class_table",
]

UNICODE_VERSION = "16.0.0"

# Flags. UPPER_LIKE and LOWER_LIKE are the two halves of a word in o200k; Lm, Lo and M are in both.
LETTER, NUMBER, WHITESPACE, UPPER_LIKE, LOWER_LIKE, MARK = 1, 2, 4, 8, 16, 32

CLASS_FLAGS: dict[str, int] = {
    "-": 0,
    "S": WHITESPACE,
    "N": NUMBER,
    "M": MARK | UPPER_LIKE | LOWER_LIKE,
    "Lu": LETTER | UPPER_LIKE,
    "Lt": LETTER | UPPER_LIKE,
    "Ll": LETTER | LOWER_LIKE,
    "Lm": LETTER | UPPER_LIKE | LOWER_LIKE,
    "Lo": LETTER | UPPER_LIKE | LOWER_LIKE,
}


@functools.cache
def class_table() -> ByteArray:
    """Return uint8[0x110000]: the flags of every code point."""
    text = (files("bpenb.pretokenize") / "data" / f"unicode-{UNICODE_VERSION}.txt").read_text(
        encoding="utf-8"
    )
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    firsts = np.array([int(first, 16) for first, _ in rows] + [0x110000])
    flags = np.array([CLASS_FLAGS[name] for _, name in rows], dtype=np.uint8)
    return np.repeat(flags, np.diff(firsts))
