"""The general engine: any split pattern, run by the `regex` package."""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np
import regex

from bpenb._arrays import Int64Array
from bpenb.corpus import SpecialScanner
from bpenb.errors import InvalidUtf8Error, PatternError
from bpenb.patterns import SplitPattern

__all__ = ["RegexEngine", "Utf8Errors", "regex_unicode_version"]

Utf8Errors: TypeAlias = Literal["strict", "replace"]


@functools.cache
def regex_unicode_version() -> str:
    """Return the Unicode version of the installed `regex` package, or `regex-<its version>`.

    The package does not tell it but in its description.
    """
    metadata: Any = importlib.metadata.metadata("regex")
    description = metadata.get("Description") or metadata.get_payload() or ""
    found = re.search(r"Unicode (\d+\.\d+(?:\.\d+)?)", str(description))
    return found.group(1) if found else f"regex-{importlib.metadata.version('regex')}"


class RegexEngine:
    """Cuts text into pretokens.

    Text that a custom regex leaves out between two matches is a pretoken of its own, so nothing is
    lost; an empty match is none.

    Args:
        pattern: the split pattern.
        special_tokens: cut out before the pattern sees the text; what stands before one counts as
            the end of a text.
        errors: `strict` refuses bytes that are not UTF-8, `replace` reads U+FFFD there.

    Raises:
        PatternError: a regex that searches backwards.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> engine = RegexEngine(resolve_pattern("gpt2"), ("<s>",))
        >>> counter = Counter()
        >>> engine.count(b"it's<s>it's", "example", 0, counter)
        >>> sorted(counter.items())
        [("'s", 2), ('it', 2)]
        >>> engine.pretoken_ends(b"it's here").tolist()
        [2, 4, 9]
    """

    name = "regex"

    def __init__(
        self, pattern: SplitPattern, special_tokens: tuple[str, ...] = (), errors: Utf8Errors = "strict"
    ) -> None:
        if errors not in ("strict", "replace"):
            raise ValueError(f"errors must be 'strict' or 'replace', not {errors!r}")
        self._errors = errors
        self._scanner = SpecialScanner(special_tokens)
        self._stages = [_Stage(regex) for regex in pattern.stages]
        # The known patterns match every character, and hold no groups: no need to look for gaps.
        first = self._stages[0]
        self.split: Callable[[str], list[str]] = first.find_all if pattern.name else first.split
        if len(self._stages) > 1:
            self.split = self._split_in_stages

    @property
    def unicode_version(self) -> str:
        """The Unicode version whose letters and numbers the engine knows."""
        return regex_unicode_version()

    def count(self, data: bytes, source: str, base: int, counter: Counter[str]) -> None:
        """Add the pretokens of a text to `counter`; special tokens are left out.

        Args:
            data: a text, or a stretch of one between two safe cuts.
            source: name of the input, for messages.
            base: bytes from the start of the input to `data`, for messages.
            counter: of words.

        Raises:
            InvalidUtf8Error: bytes that are not UTF-8, if `errors` is `strict`.
        """
        decode = bytes.decode if self._errors == "strict" else _decode_replacing
        texts = map(decode, self._scanner.split(data))
        try:
            counter.update(chain.from_iterable(map(self.split, texts)))
        except UnicodeDecodeError:
            raise InvalidUtf8Error(source, base + _first_invalid(data)) from None

    def pretoken_ends(self, text: bytes) -> Int64Array:
        """Return the ends of the pretokens of a plain text, which holds no special token.

        Args:
            text: valid UTF-8.

        Returns:
            int64[n_pretokens], ascending byte offsets; the last is `len(text)`.

        Raises:
            InvalidUtf8Error: bytes that are not UTF-8, whatever `errors` is: an offset into
                replaced text would mean nothing.
        """
        try:
            decoded = text.decode()
        except UnicodeDecodeError as error:
            raise InvalidUtf8Error("text", error.start) from None
        pretokens = self.split(decoded)
        # In ASCII text a character is a byte; else each pretoken is spelled to learn its length.
        spelled = pretokens if len(decoded) == len(text) else map(str.encode, pretokens)
        lengths = np.fromiter(map(len, spelled), dtype=np.int64, count=len(pretokens))
        return np.cumsum(lengths, dtype=np.int64)

    def _split_in_stages(self, text: str) -> list[str]:
        pretokens = [text]
        for stage in self._stages:  # each sees one pretoken at a time, and nothing around it
            pretokens = list(chain.from_iterable(map(stage.split, pretokens)))
        return pretokens


class _Stage:
    """One regex, and the cutting by it."""

    def __init__(self, pattern: str) -> None:
        compiled = _compile(pattern)
        # `concurrent=False` keeps the GIL during a search: a fifth faster, and we run one thread.
        self.find_all: Callable[[str], list[str]] = functools.partial(compiled.findall, concurrent=False)
        self._find_iter = functools.partial(compiled.finditer, concurrent=False)
        self._has_groups = compiled.groups > 0

    def split(self, text: str) -> list[str]:
        """Return the matches and what lies between them."""
        if not self._has_groups:  # `findall` would return the groups
            pretokens = self.find_all(text)
            if sum(map(len, pretokens)) == len(text):
                return list(filter(None, pretokens))
        return list(self._split_with_gaps(text))

    def _split_with_gaps(self, text: str) -> Iterator[str]:
        position = 0
        for match in self._find_iter(text):
            start, end = match.span()
            if start == end:
                continue
            if start > position:
                yield text[position:start]
            yield text[start:end]
            position = end
        if position < len(text):
            yield text[position:]


def _compile(pattern: str) -> Any:
    try:
        compiled = regex.compile(pattern, regex.V0)
    except ValueError:  # it asks for V1 itself
        compiled = regex.compile(pattern)
    if compiled.flags & regex.REVERSE:
        raise PatternError(f"pattern {pattern!r} searches backwards ((?r)); a split pattern must go forwards")
    return compiled


def _decode_replacing(data: bytes) -> str:
    return data.decode(errors="replace")


def _first_invalid(data: bytes) -> int:
    """Return the offset of the first byte that is not UTF-8; specials are, so all may be looked at."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    raise AssertionError("the text is valid UTF-8")
