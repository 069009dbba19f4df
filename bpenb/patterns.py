"""The split patterns by name, and the rules of where a text may be cut for each.

A *safe cut* is a place where the pretokens of the two halves are the pretokens of the whole.
The rules look at bytes only: whitespace is 25 code points that no Unicode version changed,
so a cut does not depend on anybody's table of letters (docs/decisions/0003-safe-cuts.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from bpenb._pattern_spellings import respell
from bpenb.errors import PatternError

__all__ = ["ASCII_CASE", "DEFAULT_PATTERN", "PATTERNS", "SPACES", "THEN", "SplitPattern", "resolve_pattern"]

DEFAULT_PATTERN = "gpt2"


def _cl100k(numbers: str) -> str:
    return (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|" + numbers + r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_ASCII_CONTRACTION = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"

PATTERNS: dict[str, str] = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": _cl100k(r"\p{N}{1,3}"),
    "llama3": _cl100k(r"\p{N}{1,3}"),
    "qwen2": _cl100k(r"\p{N}"),
    "nanochat": _cl100k(r"\p{N}{1,2}"),
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?" + _UPPER + "*" + _LOWER + "+" + _CONTRACTION + "|"
        r"[^\r\n\p{L}\p{N}]?" + _UPPER + "+" + _LOWER + "*" + _CONTRACTION + "|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "whitespace": r"\s+|\S+",
}
"""Split patterns by name, as strings for the `regex` package."""

ASCII_CASE: dict[str, str] = {
    name: regex.replace("'(?i:[sdmt]|ll|ve|re)", _ASCII_CONTRACTION).replace(
        _CONTRACTION, _ASCII_CONTRACTION + "?"
    )
    for name, regex in PATTERNS.items()
    if "(?i:" in regex
}
"""The same with both cases of contractions spelled out: other than `(?i:…)` that leaves out U+017F."""

SPACES = r"[ \r\n]+|[^ \r\n]+"
"""Where subword-nmt cuts: at U+0020 and at line ends, and nowhere else (docs/classic.md)."""

THEN = "(?#then)"
"""Stands between the stages of a pattern: each cuts what the one before it has left."""


@dataclass(frozen=True)
class SplitPattern:
    """A split pattern: its name (None for a custom regex) and its regex.

    A regex of `ASCII_CASE` has the name too. One of several stages has THEN between them.
    """

    name: str | None
    regex: str

    def __str__(self) -> str:
        return self.name if self.name and not self.is_ascii_case else self.regex

    @property
    def is_ascii_case(self) -> bool:
        """Whether upper case in contractions is ASCII alone."""
        return self.name is not None and ASCII_CASE.get(self.name) == self.regex

    @property
    def stages(self) -> tuple[str, ...]:
        """The regexes to cut by, one after the other; mostly one."""
        return tuple(self.regex.split(THEN))


def resolve_pattern(pattern: str | SplitPattern) -> SplitPattern:
    """Return the split pattern that a name or a regex stands for.

    Args:
        pattern: one of `PATTERNS`, or any regex of the `regex` package. A regex equal to a
            known one, in any spelling of published files that cuts alike, becomes that one (the
            first in the table: `llama3` is `cl100k`).

    Returns:
        The pattern, whose regex compiles.

    Raises:
        PatternError: a word that is no known name, or a regex that does not compile.
        TypeError: not a string.

    Example:
        >>> resolve_pattern("gpt2").name
        'gpt2'
    """
    if isinstance(pattern, SplitPattern):
        return pattern
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a str (a name or a regex), not {type(pattern).__name__}")
    if pattern in PATTERNS:
        return SplitPattern(pattern, PATTERNS[pattern])
    if pattern.isidentifier() or not pattern:
        raise PatternError(
            f"unknown pattern {pattern!r}; known names: {', '.join(PATTERNS)}; "
            "a regex of your own must hold more than letters, digits and '_'"
        )
    respelled = respell(pattern)
    for known in (PATTERNS, ASCII_CASE):
        for name, regex in known.items():
            if regex in (pattern, respelled):
                return SplitPattern(name, regex)
    for stage in pattern.split(THEN):
        _check_regex(stage)
    return SplitPattern(None, pattern)


def _check_regex(pattern: str) -> None:
    import regex

    try:
        regex.compile(pattern)
    except regex.error as error:
        raise PatternError(f"pattern {pattern!r} does not compile: {error}") from None
