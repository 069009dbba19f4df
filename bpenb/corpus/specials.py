"""Special tokens: which strings are allowed, and where a text holds them (leftmost, then longest)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bpenb._vocab_checks import checked_special_names
from bpenb.errors import TrainingError

__all__ = ["SpecialScanner", "normalize_special_tokens"]


def normalize_special_tokens(special_tokens: Iterable[str]) -> tuple[str, ...]:
    """Return the special tokens without duplicates, in the order given.

    Args:
        special_tokens: any strings; regex characters and spaces in them mean themselves.

    Raises:
        TrainingError: an empty special token, or one that UTF-8 cannot spell (a lone surrogate).
        TypeError: a plain string instead of a sequence of them, or an item that is no string.

    Example:
        >>> normalize_special_tokens(["<s>", "</s>", "<s>"])
        ('<s>', '</s>')
    """
    return checked_special_names(special_tokens, TrainingError)


class SpecialScanner:
    """Finds special tokens in bytes: the leftmost first, of those the longest, then goes on after it.

    Args:
        special_tokens: the strings to find; none is fine.

    Attributes:
        tokens: in UTF-8, the longest first.
        max_length: bytes of the longest special token, 0 if there is none.

    Example:
        >>> scanner = SpecialScanner(["<s>", "<s><s>"])
        >>> list(scanner.find_all(b"a<s><s>b<s>"))
        [(1, 7), (8, 11)]
        >>> list(scanner.segments(b"a<s><s>b<s>"))
        [(0, 1), (7, 8)]
    """

    def __init__(self, special_tokens: Iterable[str]) -> None:
        tokens = sorted((t.encode() for t in normalize_special_tokens(special_tokens)), key=len, reverse=True)
        self.tokens = tuple(tokens)
        self.max_length = len(tokens[0]) if tokens else 0
        # Alternatives are tried in order, so the longest first is the longest match at its place.
        self.regex = b"|".join(map(re.escape, tokens))
        self._compiled = re.compile(self.regex) if tokens else None

    def find_all(self, data: bytes | memoryview) -> Iterator[tuple[int, int]]:
        """Yield (start, end) in bytes of each special token that a scan from the start of `data` meets."""
        if self._compiled is not None:
            for match in self._compiled.finditer(data):
                yield match.span()

    def segments(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the plain stretches between special tokens, without the empty ones."""
        position = 0
        for start, end in self.find_all(data):
            if start > position:
                yield position, start
            position = end
        if position < len(data):
            yield position, len(data)

    def split(self, data: bytes) -> list[bytes]:
        """Return the plain stretches between special tokens; some may be empty."""
        return [data] if self._compiled is None else self._compiled.split(data)

    def straddles(self, data: bytes, position: int) -> bool:
        """Tell whether a special token, matched by a scan or not, starts before `position` and ends after it.

        Only what lies in `data` is seen: `max_length - 1` bytes on either side of `position`
        are enough.
        """
        if self._compiled is None or self.max_length < 2:
            return False
        start, end = max(0, position - self.max_length + 1), position + self.max_length - 1
        match = self._compiled.search(data, start, end)
        while match is not None and match.start() < position:
            if match.end() > position:
                return True
            match = self._compiled.search(data, match.start() + 1, end)
        return False
