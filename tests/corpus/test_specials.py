"""Special tokens: what is allowed, and where they are found."""

from __future__ import annotations

import pytest
from bpenb.corpus import SpecialScanner, normalize_special_tokens
from bpenb.errors import TrainingError
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import specials as oracle

some_specials = st.lists(st.text("ab<", min_size=1, max_size=4), max_size=4)
some_text = st.text("ab< ", max_size=24).map(str.encode)


def test_duplicates_are_dropped_and_order_is_kept() -> None:
    assert normalize_special_tokens(["b", "a", "b"]) == ("b", "a")
    assert normalize_special_tokens(iter(())) == ()


@pytest.mark.parametrize("tokens", [[""], ["a", ""], ["\ud800"], ["a\udfff"]])
def test_impossible_specials_are_refused(tokens: list[str]) -> None:
    with pytest.raises(TrainingError, match="special token"):
        normalize_special_tokens(tokens)


@pytest.mark.parametrize("tokens", ["<s>", b"<s>", [b"<s>"], [1], None, 3])
def test_wrong_types_are_refused(tokens: object) -> None:
    with pytest.raises(TypeError, match="special"):
        normalize_special_tokens(tokens)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tokens", "text", "found"),
    [
        (["<|endoftext|>"], "x<|endoftext|>y", [(1, 14)]),
        (["<|endoftext|>"], "x<|endoftext|y", []),
        (["aba"], "ababa", [(0, 3)]),
        (["ab", "abab"], "ababab", [(0, 4), (4, 6)]),
        (["ab", "bcd"], "abcd", [(0, 2)]),  # leftmost, though the other is longer
        (["a.b", "a|b"], "axb a.b a|b", [(4, 7), (8, 11)]),
        (["[END OF DOC]"], "x [END OF DOC]", [(2, 14)]),
        (["."], "a.b..", [(1, 2), (3, 4), (4, 5)]),
        (["é", "\n\n"], "é\n\n\n", [(0, 2), (2, 4)]),
        (["(?i:x)", "\\", "^"], "X\\^(?i:x)", [(1, 2), (2, 3), (3, 9)]),
        ([], "abc", []),
    ],
)
def test_leftmost_then_longest(tokens: list[str], text: str, found: list[tuple[int, int]]) -> None:
    assert list(SpecialScanner(tokens).find_all(text.encode())) == found
    assert oracle.find_specials(text.encode(), tokens) == found


@given(some_specials, some_text)
def test_scanner_equals_oracle(tokens: list[str], text: bytes) -> None:
    scanner = SpecialScanner(tokens)
    assert list(scanner.find_all(text)) == oracle.find_specials(text, tokens)
    assert [text[a:b] for a, b in scanner.segments(text)] == oracle.plain_stretches(text, tokens)
    assert list(filter(None, scanner.split(text))) == oracle.plain_stretches(text, tokens)


@given(some_specials, some_text)
def test_straddles_equals_oracle(tokens: list[str], text: bytes) -> None:
    scanner = SpecialScanner(tokens)
    for position in range(len(text) + 1):
        assert scanner.straddles(text, position) == oracle.lies_across(text, tokens, position)


def test_max_length_is_in_bytes() -> None:
    assert SpecialScanner(["é", "x"]).max_length == 2
    assert SpecialScanner([]).max_length == 0
