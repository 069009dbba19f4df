"""The split pattern as the `pre_tokenizer` of tokenizer.json, and back."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bpenb.errors import FormatError
from bpenb.formats.reading import expect
from bpenb.patterns import PATTERNS, THEN, SplitPattern, resolve_pattern

__all__ = ["parse_pre_tokenizer", "pre_tokenizer", "warn_if_cut_differently"]

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}

# Oniguruma reads `{1,3}+` as a group that repeats; `regex` as a quantifier that gives nothing back.
_REPEATED_RANGE = re.compile(r"(\\[pP]\{\w+\}|\[[^][\\]*\]|\\?\w)(\{\d*,?\d*\})\+")

_SAMPLE = (
    "It's 1234567 times IT'S'll don'T’s x'ſa café e\u0301 Ångström  \n\n  next\r\n\r\nline\t\ttab \n"
    "def f(x_1, y=[0.5e-3]):\r    return {'a': x**2, `b`: f`{y!r}`}  # → √2 ①Ⅻ½\n\n\n"
    "中文，字。日本語\u3000テスト 한국어 नमस्ते مرحبا שלום สวัสดี ٣٤٥ 😀👨\u200d👩\u200d👧 𝐀"
    "\ufeff\u00a0\u2009\u2028 http://a.b/c?d=e&f#g <tag/> under_score camelCaseWORDǅ AAA aaa ---- ;;; "
    "\x1c \x00 \u00ad end   "
)


def pre_tokenizer(pattern: SplitPattern) -> dict[str, Any]:
    """Return the pre_tokenizer that cuts as a split pattern does."""
    if pattern.regex == PATTERNS["gpt2"]:
        return {**_BYTE_LEVEL, "use_regex": True}  # the pattern is built in there
    splits = [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
        for regex in pattern.stages
    ]
    return {"type": "Sequence", "pretokenizers": [*splits, {**_BYTE_LEVEL, "use_regex": False}]}


def parse_pre_tokenizer(found: Any, path: Path) -> SplitPattern:
    """Return the split pattern of a pre_tokenizer.

    Raises:
        FormatError: one that cuts in another way than by a regex, or changes the text.
    """
    steps = expect(found, dict, path, "pre_tokenizer")
    rows = [steps]
    if steps.get("type") == "Sequence":
        rows = expect(steps.get("pretokenizers"), list, path, "pre_tokenizer.pretokenizers")
    kinds = [expect(row, dict, path, "a pre_tokenizer").get("type") for row in rows]
    strange = [kind for kind in kinds if kind not in ("Split", "Digits", "ByteLevel")]
    if strange or kinds.count("ByteLevel") != 1 or kinds[-1] != "ByteLevel":
        raise FormatError(
            f"{path}: pre_tokenizer {kinds} is not supported; there must be a ByteLevel, and before it "
            "nothing but Splits and Digits"
        )
    byte_level = rows[-1]
    if byte_level.get("add_prefix_space", True):
        raise FormatError(f"{path}: pre_tokenizer.add_prefix_space is not supported: it changes the text")
    uses_regex = expect(byte_level.get("use_regex", True), bool, path, "pre_tokenizer.use_regex")
    regexes = [_parse_split(row, path) for row in rows[:-1]] + [PATTERNS["gpt2"]] * uses_regex
    if not regexes:
        raise FormatError(f"{path}: pre_tokenizer must cut: by use_regex, or by a Split before it")
    return resolve_pattern(THEN.join(regexes))


def _parse_split(row: dict[str, Any], path: Path) -> str:
    """Return the regex of a Split, or of Digits."""
    if row.get("type") == "Digits":
        single = expect(row.get("individual_digits", False), bool, path, "pre_tokenizer.individual_digits")
        return r"\p{N}" if single else r"\p{N}+"
    found = expect(row.get("pattern"), dict, path, "pre_tokenizer.pattern")
    if "String" in found:
        regex = re.escape(expect(found["String"], str, path, "pre_tokenizer.pattern.String"))
    else:
        regex = expect(found.get("Regex"), str, path, "pre_tokenizer.pattern.Regex")
        regex = _REPEATED_RANGE.sub(r"(?:\1\2)+", regex)
    if not regex or THEN in regex:
        raise FormatError(f"{path}: pre_tokenizer.pattern {regex!r} is not supported")
    behavior = (row.get("behavior"), row.get("invert", False))
    # Without the text between matches, the known patterns are the same: they match everything.
    if behavior != ("Isolated", False) and not (
        behavior == ("Removed", True) and resolve_pattern(regex).name is not None
    ):
        raise FormatError(
            f"{path}: pre_tokenizer's behavior {behavior[0]!r} with invert {behavior[1]!r} is not supported"
        )
    return regex


def warn_if_cut_differently(pattern: SplitPattern) -> None:
    """Warn where `tokenizers` may cut text otherwise than we do: its regex engine is Oniguruma.

    The known patterns are compared in our tests; a regex of the user's is compared here on a
    sample, if `tokenizers` is installed.
    """
    if pattern.name is not None:
        return
    try:
        from tokenizers import Regex, pre_tokenizers
    except ImportError:
        _warn("was not compared with ours: tokenizers is not installed")
        return
    try:
        splits = [pre_tokenizers.Split(Regex(regex), "isolated") for regex in pattern.stages]
        split = pre_tokenizers.Sequence(splits)
        theirs = [pretoken for pretoken, _ in split.pre_tokenize_str(_SAMPLE)]
    except Exception as error:
        _warn(f"fails: {error}")
        return
    if theirs != _pretokens(pattern.stages, _SAMPLE):
        _warn("differs from ours on a sample; load the folder with bpenb instead")


def _warn(what: str) -> None:
    warnings.warn(f"tokenizer.json: how tokenizers cuts text by your regex {what}", stacklevel=5)


def _pretokens(stages: Iterable[str], text: str) -> list[str]:
    pretokens = [text]
    for stage in stages:
        pretokens = [cut for pretoken in pretokens for cut in _cuts(stage, pretoken)]
    return pretokens


def _cuts(pattern: str, text: str) -> Iterator[str]:
    import regex

    position = 0
    for match in regex.finditer(pattern, text, flags=regex.V0):
        if match.end() > match.start():
            yield from filter(None, (text[position : match.start()], match.group()))
            position = match.end()
    if position < len(text):
        yield text[position:]
