r"""How bytes are spelled for people: on one line, nothing hidden, and nothing that a terminal obeys.

hé\n     a line end          \x1b  one byte that is no text alone: a control, a part of a character
\\       one backslash       \u202e, \U000e0041  a character that would not be seen, or moves others
"""

from __future__ import annotations

__all__ = ["spell_bytes"]

_NAMED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FIRST_LONE, _LAST_LONE = "\udc80", "\udcff"  # what Python makes of the bytes 0x80–0xFF that are no UTF-8


def spell_bytes(data: bytes) -> str:
    r"""Return bytes as text on one line; no two values are spelled alike.

    Bytes that are not UTF-8, so those of incomplete characters, are `\xNN`; controls, separators and other
    characters that do not show are escaped as in Python; a backslash is doubled.

    Args:
        data: any bytes, such as those of a token.

    Example:
        >>> print(spell_bytes("é\n".encode() + b"\xe4\xb8" + b"\\ \x1b"))
        é\n\xe4\xb8\\ \x1b
    """
    text = data.decode("utf-8", errors="surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_spell, text))


def _spell(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if character.isprintable():
        return character
    code = ord(character)
    if _FIRST_LONE <= character <= _LAST_LONE:
        return f"\\x{code & 0xFF:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
