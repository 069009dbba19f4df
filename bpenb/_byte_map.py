"""GPT-2's byte map: a printable character for each of the 256 bytes.

Bytes 33-126, 161-172 and 174-255 are the character of that number; the other 68 are U+0100 upward,
in the order of the bytes. No character of the map is whitespace or ends a line.

Source: `bytes_to_unicode` of GPT-2 (Radford et al., 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

__all__ = ["BYTE_TO_CHARACTER", "GPT2_BYTE_ORDER", "all_from_printable", "from_printable", "is_printable",
           "to_printable"]  # fmt: skip


def _byte_to_character() -> tuple[str, ...]:
    itself = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in itself]
    return tuple(chr(byte) if byte in itself else chr(256 + others.index(byte)) for byte in range(256))


BYTE_TO_CHARACTER: tuple[str, ...] = _byte_to_character()
"""The character of each byte, by byte."""

GPT2_BYTE_ORDER: tuple[int, ...] = tuple(sorted(range(256), key=BYTE_TO_CHARACTER.__getitem__))
"""The 256 bytes in the order of their characters."""

# Both directions in C: decode as Latin-1 (byte n is character n), translate, and back.
_TO_PRINTABLE = dict(enumerate(BYTE_TO_CHARACTER))
_FROM_PRINTABLE: dict[int, int | None] = {code: None for code in range(256)}  # None: not in the map
_FROM_PRINTABLE |= {ord(character): byte for byte, character in enumerate(BYTE_TO_CHARACTER)}
_CHARACTERS = frozenset(BYTE_TO_CHARACTER)


def to_printable(token: bytes) -> str:
    """Return the printable form of a token's bytes.

    Example:
        >>> to_printable(b" caf\\xc3\\xa9")
        'ĠcafÃ©'
    """
    return token.decode("latin-1").translate(_TO_PRINTABLE)


def from_printable(text: str) -> bytes:
    """Return the bytes of a printable form.

    Raises:
        ValueError: a character that stands for no byte; the message names it.

    Example:
        >>> from_printable("ĠcafÃ©")
        b' caf\\xc3\\xa9'
    """
    if not is_printable(text):
        wrong = next(c for c in text if c not in _CHARACTERS)
        raise ValueError(f"character {wrong!r} (U+{ord(wrong):04X}) stands for no byte")
    return text.translate(_FROM_PRINTABLE).encode("latin-1")


def all_from_printable(texts: Sequence[str]) -> list[bytes]:
    """Return the bytes of many printable forms, a hundred thousand in some hundredths of a second.

    Raises:
        ValueError: a character that stands for no byte.

    Example:
        >>> all_from_printable(["Ġa", "", "b"])
        [b' a', b'', b'b']
    """
    data = from_printable("".join(texts))
    return [data[start:end] for start, end in pairwise(accumulate(map(len, texts), initial=0))]


def is_printable(text: str) -> bool:
    """Tell whether every character of a text stands for a byte."""
    return _CHARACTERS.issuperset(text)
