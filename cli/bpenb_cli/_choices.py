"""What some options may be: each enum is the choices of one option."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Alphabet", "Engine", "IdDtype", "Pool", "ProgressStyle", "Specials", "Ties", "Utf8Errors"]


class ProgressStyle(StrEnum):
    """How a command tells what it does."""

    AUTO = "auto"
    JSON = "json"
    NONE = "none"


class Alphabet(StrEnum):
    """What merges begin with."""

    BYTES = "bytes"
    CHARACTERS = "characters"


class Engine(StrEnum):
    """Who runs the split pattern."""

    AUTO = "auto"
    COMPILED = "compiled"
    REGEX = "regex"


class Pool(StrEnum):
    """Where counting runs."""

    AUTO = "auto"
    THREADS = "threads"
    PROCESSES = "processes"


class Utf8Errors(StrEnum):
    """What to do about bytes that are not UTF-8."""

    STRICT = "strict"
    REPLACE = "replace"


class IdDtype(StrEnum):
    """How wide the ids of a file are that does not tell it."""

    U2 = "u2"
    U4 = "u4"


class Specials(StrEnum):
    """What becomes of special tokens in a text."""

    ALL = "all"
    NONE = "none"
    ERROR = "error"


class Ties(StrEnum):
    """Which of two equally frequent pairs merges first."""

    CS336 = "cs336"
    HUGGINGFACE = "huggingface"
    RUSTBPE = "rustbpe"
    SUBWORD_NMT = "subword-nmt"
