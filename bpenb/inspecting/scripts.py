"""The script of a character, told by its name in Unicode: `CYRILLIC SMALL LETTER A` is Cyrillic.

Names come from the `unicodedata` of the running Python, which may be older than the 16.0 by which
pretokens are cut. A letter that it does not know, or of a script that is not in the table, is `Other`.
"""

from __future__ import annotations

import functools
import unicodedata

__all__ = ["OTHER", "SCRIPTS", "script_of"]

OTHER = "Other"

# Scripts whose name is the first word of the names of their letters.
_BY_THEIR_NAME = (
    "Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya "
    "Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee "
    "Ogham Runic Khmer Mongolian Hiragana Katakana Bopomofo Yi Coptic Gothic Glagolitic Tifinagh Balinese "
    "Javanese Vai Lisu Nko"
)
_BY_FIRST_WORD = {name.upper(): name for name in _BY_THEIR_NAME.split()} | {
    "CJK": "Han",
    "KANGXI": "Han",
    "CANADIAN": "Canadian_Aboriginal",
    "HENTAIGANA": "Hiragana",
    "FEMININE": "Latin",  # ª, º, and the signs of kelvin and ångström
    "MASCULINE": "Latin",
    "KELVIN": "Latin",
    "ANGSTROM": "Latin",
}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")  # they stand before the name of the letter

SCRIPTS = tuple(dict.fromkeys(_BY_FIRST_WORD.values()))
"""The scripts that are told apart, by their names in Unicode."""


@functools.cache
def script_of(character: str) -> str:
    """Return the script of a letter.

    Args:
        character: one character; for what is no letter the answer means little.

    Returns:
        One of `SCRIPTS`, or `Other`.

    Example:
        >>> [script_of(letter) for letter in "aяα中ナ한"]
        ['Latin', 'Cyrillic', 'Greek', 'Han', 'Katakana', 'Hangul']
    """
    words = unicodedata.name(character, "").replace("-", " ").split()
    if words and words[0] in _WIDTHS:
        words = words[1:]
    return _BY_FIRST_WORD.get(words[0], OTHER) if words else OTHER
