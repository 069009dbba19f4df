"""What can be told of a token by its bytes alone."""

from __future__ import annotations

import functools
from typing import NamedTuple

from bpenb.inspecting.scripts import script_of
from bpenb.pretokenize import LETTER, MARK, NUMBER, class_table

__all__ = ["INCOMPLETE", "KINDS", "MIXED", "NO_LETTERS", "TokenFacts", "token_facts"]

INCOMPLETE, NO_LETTERS, MIXED = "incomplete", "no letters", "mixed"  # instead of a script

KINDS = {
    "whole_words": "is_word",
    "start_with_space": "starts_with_space",
    "numbers": "is_number",
    "hold_newlines": "has_newline",
    "not_utf8_alone": "is_incomplete",
}
"""The kinds of tokens that are counted, and the attribute of `TokenFacts` that tells each."""


class TokenFacts(NamedTuple):
    """One token.

    Letters, marks and numbers are those of Unicode 16.0, as in the split patterns.

    Attributes:
        token_id: its id.
        token: its bytes.
        is_special: only a special token has this id.
        is_word: letters (with their marks) and nothing else, but for one space that may stand first: what
            can be a whole word. Whether it is one in a text, only a text can tell.
        starts_with_space: its first byte is U+0020.
        is_number: numbers and nothing else, but for one space that may stand first.
        has_newline: holds a line feed or a carriage return.
        is_incomplete: its bytes alone are not UTF-8: it begins or ends inside a character.
        script: of its letters; `mixed` for several, `no letters`, or `incomplete`.
    """

    token_id: int
    token: bytes
    is_special: bool
    is_word: bool
    starts_with_space: bool
    is_number: bool
    has_newline: bool
    is_incomplete: bool
    script: str


@functools.cache
def _classes() -> bytes:
    """Return the flags of each code point; as bytes, since looking one up in an array is slow."""
    return class_table().tobytes()


def token_facts(token_id: int, token: bytes, is_special: bool = False) -> TokenFacts:
    """Return what there is to tell of a token.

    Example:
        >>> facts = token_facts(300, " день".encode())
        >>> facts.is_word, facts.is_number, facts.script
        (True, False, 'Cyrillic')
    """
    has_newline = b"\n" in token or b"\r" in token
    spaced = token.startswith(b" ")
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return TokenFacts(token_id, token, is_special, False, spaced, False, has_newline, True, INCOMPLETE)
    classes = _classes()
    flags = [classes[ord(character)] for character in text[1 if spaced else 0 :]]
    letters = [flag & LETTER for flag in flags]
    is_word = any(letters) and all(flag & (LETTER | MARK) for flag in flags)
    is_number = bool(flags) and all(flag & NUMBER for flag in flags)
    scripts = {script_of(character) for character in text if classes[ord(character)] & LETTER}
    script = MIXED if len(scripts) > 1 else scripts.pop() if scripts else NO_LETTERS
    return TokenFacts(token_id, token, is_special, is_word, spaced, is_number, has_newline, False, script)
