"""The split pattern as the `pre_tokenizer` of tokenizer.json, and back."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from bpenb.errors import FormatError
from bpenb.formats.reading import expect
from bpenb.patterns import PATTERNS, SplitPattern, resolve_pattern

__all__ = ["parse_pre_tokenizer", "pre_tokenizer", "warn_if_cut_differently"]

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}

# Other spellings in published files, of patterns that we have a name for. The contractions are
# the same strings; the order of alternatives of which none begins another changes nothing.
_CONTRACTIONS = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|": "'(?i:[sdmt]|ll|ve|re)|",
    "'s|'t|'re|'ve|'m|'ll|'d|": "'(?:[sdmt]|ll|ve|re)|",
}

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
    split = {"type": "Split", "pattern": {"Regex": pattern.regex}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, {**_BYTE_LEVEL, "use_regex": False}]}


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
    if kinds not in (["ByteLevel"], ["Split", "ByteLevel"]):
        raise FormatError(
            f"{path}: pre_tokenizer {kinds} is not supported; there must be a ByteLevel, "
            "or a Split and a ByteLevel"
        )
    byte_level = rows[-1]
    if byte_level.get("add_prefix_space", True):
        raise FormatError(f"{path}: pre_tokenizer.add_prefix_space is not supported: it changes the text")
    if byte_level.get("use_regex", True) is not (len(rows) == 1):
        raise FormatError(f"{path}: pre_tokenizer must cut once: by use_regex, or by a Split before it")
    return resolve_pattern("gpt2") if len(rows) == 1 else _parse_split(rows[0], path)


def _parse_split(split: dict[str, Any], path: Path) -> SplitPattern:
    regex = expect(split.get("pattern"), dict, path, "pre_tokenizer.pattern").get("Regex")
    regex = expect(regex, str, path, "pre_tokenizer.pattern.Regex")
    pattern = _known_spelling(regex)
    behavior = (split.get("behavior"), split.get("invert", False))
    # Without the text between matches, the known patterns are the same: they match everything.
    if behavior != ("Isolated", False) and not (pattern.name and behavior == ("Removed", True)):
        raise FormatError(
            f"{path}: pre_tokenizer's behavior {behavior[0]!r} with invert {behavior[1]!r} is not supported"
        )
    return pattern


def _known_spelling(regex: str) -> SplitPattern:
    for theirs, ours in _CONTRACTIONS.items():
        if regex.startswith(theirs):
            respelled = ours + regex.removeprefix(theirs)
            if respelled in PATTERNS.values():
                return resolve_pattern(respelled)
    return resolve_pattern(regex)


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
        split = pre_tokenizers.Split(Regex(pattern.regex), "isolated")
        theirs = [pretoken for pretoken, _ in split.pre_tokenize_str(_SAMPLE)]
    except Exception as error:
        _warn(f"fails: {error}")
        return
    if theirs != _pretokens(pattern.regex, _SAMPLE):
        _warn("differs from ours on a sample; load the folder with bpenb instead")


def _warn(what: str) -> None:
    warnings.warn(f"tokenizer.json: how tokenizers cuts text by your regex {what}", stacklevel=5)


def _pretokens(pattern: str, text: str) -> list[str]:
    import regex

    pretokens: list[str] = []
    position = 0
    for match in regex.finditer(pattern, text, flags=regex.V0):
        if match.end() > match.start():
            pretokens += [text[position : match.start()], match.group()]
            position = match.end()
    return [pretoken for pretoken in [*pretokens, text[position:]] if pretoken]
