"""Safe cuts: places where the pretokens of two halves are the pretokens of the whole.

All rules look at bytes. Whitespace is 25 code points that no Unicode version changed; letters and
digits are taken from ASCII alone, so no rule asks a table (docs/decisions/0003-safe-cuts.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bpenb.corpus.specials import SpecialScanner
from bpenb.patterns import SPACES, SplitPattern

__all__ = ["CutFinder"]

_WIDE_SPACES = (  # U+0085 U+00A0, U+1680, U+2000-200A U+2028 U+2029 U+202F, U+205F, U+3000
    rb"\xc2[\x85\xa0]",
    rb"\xe1\x9a\x80",
    rb"\xe2\x80[\x80-\x8a\xa8\xa9\xaf]",
    rb"\xe2\x81\x9f",
    rb"\xe3\x80\x80",
)
_SPACES = (rb"[\t-\r ]", *_WIDE_SPACES)
_WIDEST_SPACE = 3  # bytes
_ASCII_SPACES = (b" ", b"\n", b"\r", b"\t", b"\x0b", b"\x0c")  # every plain cut is beside one
# A lookbehind has one width, so each spelling gets its own; a UTF-8 sequence cannot end in another one.
_AFTER_NON_SPACE = b"".join(b"(?<!" + space + b")" for space in _SPACES)
_BEFORE_NON_SPACE = b"(?!" + b"|".join(_SPACES) + rb")(?=[\x00-\xff])"

# The cheapest and rarest condition first: it decides at most places.
_RULE_A = rb"(?=[\t\x0b\x0c ])" + _AFTER_NON_SPACE  # non-whitespace | whitespace but CR, LF
_RULE_B = rb"(?=[\t-\r ])(?<=[0-9A-Za-z])"  # letter or digit | whitespace
_RULE_C = rb"(?<=[\r\n])" + _BEFORE_NON_SPACE  # CR or LF | non-whitespace
_RULE_D = rb"(?=[\t-\r ])" + _AFTER_NON_SPACE  # non-whitespace | whitespace
_RULE_E = rb"(?=[\r\n ])(?<![\r\n ])"  # neither U+0020, CR nor LF | one of them
_CL100K = (_RULE_A, _RULE_B, _RULE_C)

_RULES: dict[str | None, tuple[bytes, ...]] = {
    "gpt2": (_RULE_D,),
    "whitespace": (_RULE_D,),
    "cl100k": _CL100K,
    "llama3": _CL100K,
    "qwen2": _CL100K,
    "nanochat": _CL100K,
    # o200k's punctuation runs on over CR, LF and "/", so "!\n/" must stay whole.
    "o200k": (_RULE_A, _RULE_B, _RULE_C + b"(?!/)"),
}


class CutFinder:
    r"""Finds safe cuts in bytes, for one split pattern and its special tokens.

    A cut is either a plain one by the rules of the pattern (a custom regex has none), or the start
    of a special token; and no special token lies across it, whether a scan would match it or not.

    The bytes it is shown must begin at the start of the text, at a safe cut, or at least
    `context` bytes before `start`. A place is a cut only if the bytes shown decide it: without
    `at_end`, `margin` bytes must follow.

    Args:
        pattern: the split pattern.
        scanner: of the special tokens.

    Attributes:
        context: bytes before a place that can matter.
        margin: bytes after a place that can matter.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> finder = CutFinder(resolve_pattern("gpt2"), SpecialScanner(["<s>"]))
        >>> finder.first(b"one two<s>three", 0, at_end=True)
        3
        >>> finder.last(b"one two<s>three", 0, at_end=True)
        7
    """

    def __init__(self, pattern: SplitPattern, scanner: SpecialScanner) -> None:
        self._scanner = scanner
        self.context = max(_WIDEST_SPACE, scanner.max_length - 1)
        self.margin = max(_WIDEST_SPACE, scanner.max_length - 1)
        rules = (_RULE_E,) if pattern.regex == SPACES else _RULES.get(pattern.name, ())
        self._is_plain = bool(rules)
        if scanner.max_length:
            rules = (*rules, b"(?=" + scanner.regex + b")")
        self._candidates = re.compile(b"|".join(rules)) if rules else None

    def first(self, data: bytes, start: int, *, at_end: bool) -> int | None:
        """Return the first safe cut at `start` or after it, or None.

        Args:
            data: a stretch of text.
            start: bytes from the start of `data`.
            at_end: `data` ends where the text ends.
        """
        return next(self._cuts(data, max(start, 1), self._limit(data, at_end)), None)

    def last(self, data: bytes, start: int, *, at_end: bool) -> int | None:
        """Return the last safe cut after `start`, or None; arguments as in `first`."""
        high = min(self._limit(data, at_end), self._last_possible(data, start)) + 1
        width = 256  # looked at backwards in growing stretches: the last cut is mostly a word away
        while high > start + 1:
            low = max(start + 1, high - width, 1)
            cuts = list(self._cuts(data, low, high - 1))
            if cuts:
                return cuts[-1]
            high, width = low, 2 * width
        return None

    def _last_possible(self, data: bytes, start: int) -> int:
        """Return a place that no cut is behind: where text without any is long, this decides quickly."""
        marks = [data.rfind(token, start) for token in self._scanner.tokens]
        if self._is_plain:
            marks += [data.rfind(space, max(0, start - 1)) + 1 for space in _ASCII_SPACES]
        return max(marks, default=0)

    def spans(self, data: bytes, n_bytes: int) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of consecutive stretches of a whole text, each of `n_bytes` or a little more.

        Where no cut is found, a stretch is as long as it must be.
        """
        start = 0
        while len(data) - start > n_bytes:
            cut = self.first(data, start + max(n_bytes, 1), at_end=True)
            if cut is None:
                break
            yield start, cut
            start = cut
        if start < len(data):
            yield start, len(data)

    def _limit(self, data: bytes, at_end: bool) -> int:
        """Return the last place that the bytes decide; the end of the text itself is no cut."""
        return len(data) - (1 if at_end else self.margin)

    def _cuts(self, data: bytes, low: int, high: int) -> Iterator[int]:
        """Yield the safe cuts from `low` to `high`, both included."""
        if self._candidates is None:
            return
        for match in self._candidates.finditer(data, low):
            if match.start() > high:
                return
            if not self._scanner.straddles(data, match.start()):
                yield match.start()
