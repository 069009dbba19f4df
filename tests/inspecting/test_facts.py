"""What tokens are: against definitions spelled with the `regex` package."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
import regex
from bpenb.encoding import Tokenizer
from bpenb.inspecting import inspect_tokenizer, script_of
from bpenb.inspecting.facts import KINDS, token_facts
from bpenb.inspecting.scripts import OTHER, SCRIPTS
from hypothesis import given
from hypothesis import strategies as st

LETTERS = [
    c for c in map(chr, range(0x110000)) if unicodedata.category(c)[0] == "L" and unicodedata.name(c, "")
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_those_of_unicode(script: str) -> None:
    """By its name a letter is of the script of Unicode, or of none: forms of letters, mostly."""
    of_the_script, of_none = regex.compile(rf"\p{{Script={script}}}"), regex.compile(r"\p{Script=Common}")
    right = 0
    for letter in LETTERS:
        if script_of(letter) == script:
            assert of_the_script.match(letter) or of_none.match(letter), letter
            right += 1
        elif of_the_script.match(letter):
            assert script_of(letter) == OTHER, letter
            right -= 4  # few
    assert right > 0


def test_what_is_no_letter_of_a_known_script() -> None:
    assert script_of("\u0378") == script_of("\x00") == script_of("𒀀") == script_of("µ") == OTHER


def slow_facts(token: bytes) -> tuple[bool, ...]:
    """Word, space, number, newline, incomplete."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return (False, token[:1] == b" ", False, any(c in token for c in b"\r\n"), True)
    return (
        regex.fullmatch(r" ?[\p{L}\p{M}]*\p{L}[\p{L}\p{M}]*", text) is not None,
        text[:1] == " ",
        regex.fullmatch(r" ?\p{N}+", text) is not None,
        "\r" in text or "\n" in text,
        False,
    )


@given(st.text(" aZéд中ا\u0301①½5٣\n\r\t.\u00a0😀_", max_size=4).map(str.encode) | st.binary(max_size=3))
def test_kinds(token: bytes) -> None:
    facts = token_facts(7, token)
    assert tuple(getattr(facts, name) for name in KINDS.values()) == slow_facts(token)
    assert (facts.token_id, facts.token, facts.is_special) == (7, token, False)


@pytest.mark.parametrize(
    ("token", "script"),
    [
        (b" the", "Latin"),
        ("日本".encode(), "Han"),
        ("日の".encode(), "mixed"),
        ("a.й".encode(), "mixed"),
        (b"123", "no letters"),
        (b"\n\n", "no letters"),
        ("\u0301".encode(), "no letters"),
        ("中".encode()[:2], "incomplete"),
        (b"", "no letters"),
    ],
)
def test_script_of_tokens(token: bytes, script: str) -> None:
    assert token_facts(0, token).script == script


VOCAB = {i: bytes([i]) for i in range(256)} | {256: b"ab", 260: b" ab", 261: b" abab", 262: "é".encode()}
MERGES = [(b"a", b"b"), (b" ", b"ab"), (b" ab", b"ab"), (b"\xc3", b"\xa9")]


def test_a_tokenizer() -> None:
    found = inspect_tokenizer(Tokenizer(VOCAB, MERGES, ["<s>", "<é>"], "cl100k"))
    assert (found.n_vocab, found.n_merges, str(found.pattern)) == (265, 4, "cl100k")
    assert found.special_tokens == {"<s>": 263, "<é>": 264}
    assert [facts.token_id for facts in found.tokens if facts.is_special] == [263, 264]
    assert found.lengths == {1: 256, 2: 2, 3: 1, 5: 1}
    assert found.mean_length == pytest.approx((256 + 4 + 3 + 5) / 260, abs=1e-6)
    assert [facts.token for facts in found.longest(3)] == [b" abab", b" ab", b"ab"]
    letters = 52
    assert found.kinds == {
        "whole_words": letters + 4,
        "start_with_space": 3,
        "numbers": 10,
        "hold_newlines": 2,
        "not_utf8_alone": 128,
    }
    assert found.scripts == {"incomplete": 128, "no letters": 128 - letters, "Latin": letters + 4}
    assert found.texts is None
    data = found.to_json(top=1)
    assert data["kinds"]["numbers"] == {"tokens": 10, "share": round(10 / 260, 6)}
    assert data["longest"] == [{"id": 261, "text": " abab", "length": 5}]
    assert data["n_tokens"] == 262 and data["lengths"] == {"1": 256, "2": 2, "3": 1, "5": 1}
    header, *rows = found.csv_rows()
    assert len(rows) == 262 and all(len(row) == len(header) for row in rows)
    by_id = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert by_id[262] | {"count": ""} == {
        "id": 262, "bytes": "c3a9", "text": "é", "length": 2, "special": 0, "whole_words": 1,
        "start_with_space": 0, "numbers": 0, "hold_newlines": 0, "not_utf8_alone": 0, "script": "Latin",
        "count": "",
    }  # fmt: skip
    assert by_id[264]["special"] == 1 and by_id[10]["text"] == r"\n"
    assert repr(found) == "Inspection(262 tokens, pattern='cl100k')"


def test_a_special_token_that_shares_a_byte_is_ordinary_too() -> None:
    tokenizer = Tokenizer({0: b"a", 1: b"."}, [], ["."])
    assert [facts.is_special for facts in inspect_tokenizer(tokenizer).tokens] == [False, False]


def test_published(test_data: Path) -> None:
    """GPT-2's: figures counted in one line each."""
    from tests.encoding.slow import gpt2

    model = gpt2(test_data)
    found = inspect_tokenizer(Tokenizer(model.vocab, model.merges, ["<|endoftext|>"]))
    tokens = list(model.vocab.values())
    ordinary = [token for token in tokens if token != b"<|endoftext|>"]
    assert len(found.ordinary) == len(ordinary) == 50256
    sums = [sum(column) for column in zip(*map(slow_facts, ordinary), strict=True)]
    assert list(found.kinds.values()) == sums
    assert sum(found.scripts.values()) == 50256
    assert found.scripts["Latin"] > 40_000
    assert found.longest(1)[0].token == max(ordinary, key=len)
