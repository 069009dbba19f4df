"""The engine that runs any split pattern."""

from __future__ import annotations

from collections import Counter

import pytest
from bpenb.errors import InvalidUtf8Error, PatternError
from bpenb.patterns import PATTERNS, SplitPattern, resolve_pattern
from bpenb.pretokenize import RegexEngine, regex_unicode_version
from bpenb.pretokenize import regex_engine as module
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.pretokenizer import gpt2_pretokens, pretokens
from tests.oracles.word_counter import count_words

CASES = [
    ("a  b", "a| | b"),
    ("a  \n\n  b", "a|  \n\n | b"),
    ("a \tb", "a| |\t|b"),
    ("a   ", "a|   "),
    ("x\r\n\r\ny", "x|\r\n\r|\n|y"),
    ("a\r\rb", "a|\r|\r|b"),
    ("IT'S it's", "IT|'|S| it|'s"),
    ("'sup's", "'s|up|'s"),
    ("'ll'l", "'ll|'|l"),
    ("it’s", "it|’|s"),
    ("1234567", "1234567"),
    ("①Ⅻ½", "①Ⅻ½"),
    ("a\u00a0 b", "a|\u00a0| b"),
    ("नमस्ते", "नमस|्|त|े"),
    ("\ufeffhi", "\ufeff|hi"),
    ("a\u1c89", "a\u1c89"),  # a letter
    ("a\u0378", "a|\u0378"),  # unassigned
    ("a\x1cb", "a|\x1c|b"),  # no whitespace
    ("", ""),
]
telling_text = st.text(
    st.sampled_from("sSt'l1²中\u0301! \t\n\r\u0085\u00a0\u3000\x1c/ré") | st.characters(codec="utf-8")
)


def engine_of(pattern: str, specials: tuple[str, ...] = (), errors: str = "strict") -> RegexEngine:
    return RegexEngine(resolve_pattern(pattern), specials, errors)  # type: ignore[arg-type]


def cut(engine: RegexEngine, text: str) -> list[str]:
    data = text.encode()
    ends = engine.pretoken_ends(data).tolist()
    return [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]


def counted(engine: RegexEngine, data: bytes) -> dict[bytes, int]:
    counter: Counter[str] = Counter()
    engine.count(data, "text", 0, counter)
    return {word.encode(): count for word, count in counter.items()}


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_gpt2_cases(text: str, expected: str) -> None:
    assert "|".join(cut(engine_of("gpt2"), text)) == expected


def test_contractions_with_a_long_s() -> None:
    assert cut(engine_of("cl100k"), "x'ſa") == ["x", "'ſ", "a"]
    spelled_out = PATTERNS["cl100k"].replace(
        "(?i:[sdmt]|ll|ve|re)", "(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])"
    )
    assert cut(engine_of(spelled_out), "x'ſa") == ["x", "'ſa"]


@given(st.text(st.sampled_from("sSt'lvredm1²中\u0301! \t\n\r\u0085\u00a0\u3000\x1c\u200b/")))
def test_gpt2_equals_the_pattern_done_by_hand(text: str) -> None:
    assert cut(engine_of("gpt2"), text) == gpt2_pretokens(text)


@given(st.sampled_from(sorted(PATTERNS)), telling_text)
def test_known_patterns_equal_the_oracle_and_lose_nothing(pattern: str, text: str) -> None:
    found = cut(engine_of(pattern), text)
    assert found == pretokens(text, PATTERNS[pattern])
    assert "".join(found) == text


CUSTOM = [
    r"\w+",
    r"(\w)(\w)?",
    r"x*",
    r"(?=a)|b+",
    r"a\Kb",
    r"(?<n>\d+)|(?V1)[[a-z]--[m]]+",
    r"\w+|\W",
    r"(?i)ab|(?:)",
]


@pytest.mark.parametrize("pattern", CUSTOM)
@given(text=st.text(st.sampled_from("abx1m !é中")))
def test_a_custom_regex_loses_nothing(pattern: str, text: str) -> None:
    found = cut(engine_of(pattern), text)
    assert found == pretokens(text, pattern)
    assert "".join(found) == text
    assert "" not in found


def test_gaps_are_pretokens() -> None:
    assert cut(engine_of(r"\w+"), " ab, c!") == [" ", "ab", ", ", "c", "!"]
    assert cut(engine_of(r"(a)|(b)"), "abc") == ["a", "b", "c"]


def test_a_regex_that_searches_backwards_is_refused() -> None:
    with pytest.raises(PatternError, match="backwards"):
        engine_of(r"(?r)\w+")


# --- counting -------------------------------------------------------------------------------------


@given(
    st.sampled_from(["gpt2", "o200k", r"\w+", r"(a)b*"]),
    st.sampled_from([(), ("<s>",), ("ab", "<s><s>", "<s>"), (" a",), (".",)]),
    st.lists(st.sampled_from(["a", "b", " ", "\n", "<s>", ".", "é", "'s"]), max_size=30),
)
def test_count_equals_the_oracle(pattern: str, specials: tuple[str, ...], characters: list[str]) -> None:
    data = "".join(characters).encode()
    expected = count_words([data], resolve_pattern(pattern).regex, specials)
    assert counted(engine_of(pattern, specials), data) == expected


def test_what_stands_before_a_special_is_the_end_of_a_text() -> None:
    assert counted(engine_of("gpt2", ("<s>",)), b"a  <s>b") == {b"a": 1, b"  ": 1, b"b": 1}
    assert counted(engine_of("gpt2", ("[END OF DOC]",)), b"a [END OF DOC]b") == {b"a": 1, b" ": 1, b"b": 1}
    assert counted(engine_of("gpt2", (".",)), b"a.b") == {b"a": 1, b"b": 1}


INVALID = [
    (b"ab\xff", 2), (b"\x80", 0), (b"a\xc3", 1), (b"a\xe4\xb8<s>b", 1), (b"<s>\xed\xa0\x80", 3),
    (b"\xc0\xaf", 0), (b"x<s>y \xf0\x9f\x98 z", 6), ("é<s>é".encode() + b"\xfe", 7),
]  # fmt: skip


@pytest.mark.parametrize(("data", "offset"), INVALID)
def test_invalid_utf8_is_an_error_with_its_exact_place(data: bytes, offset: int) -> None:
    engine = engine_of("gpt2", ("<s>",))
    with pytest.raises(InvalidUtf8Error, match=rf"corpus\.txt: byte {1000 + offset} ") as caught:
        engine.count(data, "corpus.txt", 1000, Counter())
    assert (caught.value.source, caught.value.offset) == ("corpus.txt", 1000 + offset)


@pytest.mark.parametrize(("data", "offset"), INVALID)
def test_invalid_utf8_is_replaced_as_python_does(data: bytes, offset: int) -> None:
    found = counted(engine_of("gpt2", ("<s>",), "replace"), data)
    assert found == count_words([data], PATTERNS["gpt2"], ("<s>",), errors="replace")
    assert any("\ufffd".encode() in word for word in found)


def test_pretoken_ends_refuses_invalid_utf8_always() -> None:
    with pytest.raises(InvalidUtf8Error, match="byte 1 "):
        engine_of("gpt2", (), "replace").pretoken_ends(b"a\xff")


def test_other_treatments_of_errors_are_refused() -> None:
    with pytest.raises(ValueError, match="strict"):
        engine_of("gpt2", (), "ignore")


# --- who it is ------------------------------------------------------------------------------------


def test_engine_tells_its_name_and_unicode_version() -> None:
    engine = RegexEngine(SplitPattern(None, r"\w+"))
    assert engine.name == "regex"
    assert engine.unicode_version == regex_unicode_version()
    assert regex_unicode_version()[0].isdigit() or regex_unicode_version().startswith("regex-")


def test_unicode_version_is_the_packages_where_its_description_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module.importlib.metadata, "metadata", lambda _: {"Description": "no version"})
    monkeypatch.setattr(module.importlib.metadata, "version", lambda _: "1.2")
    assert module.regex_unicode_version.__wrapped__() == "regex-1.2"
    monkeypatch.setattr(
        module.importlib.metadata, "metadata", lambda _: {"Description": "supports Unicode 18.0.0."}
    )
    assert module.regex_unicode_version.__wrapped__() == "18.0.0"
