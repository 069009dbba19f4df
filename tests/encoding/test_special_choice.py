"""`allowed_special` and `disallowed_special`: equal to the definition, and to tiktoken."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import pytest
import tiktoken
from bpenb.encoding import Tokenizer
from bpenb.encoding.special_choice import CHOICES_KEPT
from bpenb.errors import EncodingError
from bpenb.patterns import PATTERNS
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding import published
from tests.encoding.slow import train
from tests.oracles.encoder import encode
from tests.oracles.specials import find_specials

Names = Literal["all"] | Collection[str] | None

A, B, C = "<|a|>", "<|b|>", "<|c|>"
SPECIALS = [A, B, C, A + B]
MODEL = train([b"ab", b" ab", b"a  b"], 8, 1)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(MODEL.vocab, MODEL.merges, SPECIALS)


def defined(
    tokenizer: Tokenizer, text: str, allowed: Names, disallowed: Names
) -> list[int] | tuple[str, int]:
    """The ids; or the name that is refused, and the character where it stands."""
    specials = list(tokenizer.special_tokens)
    if allowed is None and disallowed is None:
        allowed, disallowed = "all", ()
    allowed = specials if allowed == "all" else list(allowed or ())
    if disallowed is None or disallowed == "all":
        disallowed = [name for name in specials if name not in allowed]
    for start, end in find_specials(text.encode(), list(disallowed))[:1]:
        data = text.encode()
        return data[start:end].decode(), len(data[:start].decode())
    known = [name for name in specials if name in allowed]
    return encode(text, tokenizer.vocab, MODEL.merges, known, PATTERNS["gpt2"])


texts = st.lists(st.sampled_from([*SPECIALS, A[:-1], "ab", " ", "  ", "é", "😀", "b"]), max_size=12).map(
    "".join
)
names = st.one_of(st.none(), st.just("all"), st.sets(st.sampled_from([*SPECIALS, "ab", "no such"])))


@settings(max_examples=200, deadline=None)
@given(texts, names, names)
def test_equal_to_the_definition(tokenizer: Tokenizer, text: str, allowed: Any, disallowed: Any) -> None:
    expected = defined(tokenizer, text, allowed, disallowed)
    arguments = {"allowed_special": allowed, "disallowed_special": disallowed}
    if isinstance(expected, tuple):
        name, position = expected
        message = re.escape(f"at character {position} stands {name!r}, which is disallowed")
        with pytest.raises(EncodingError, match=f"^the text: {message}"):
            tokenizer.encode(text, **arguments)
        with pytest.raises(EncodingError, match=message):
            tokenizer.encode_to_numpy(text, **arguments)
        with pytest.raises(EncodingError, match=f"^text 1: {message}"):
            tokenizer.encode_batch(["", text], **arguments)
    else:
        assert tokenizer.encode(text, **arguments) == expected
        assert tokenizer.encode_to_numpy(text, **arguments).tolist() == expected
        assert tokenizer.encode_batch([text, ""], **arguments) == [expected, []]


def test_by_default_all_are_recognised(tokenizer: Tokenizer) -> None:
    ids = tokenizer.special_tokens
    assert tokenizer.encode(A + B + A + C) == [ids[A + B], ids[A], ids[C]]
    assert tokenizer.encode(A, allowed_special=None, disallowed_special=None) == [ids[A]]


def test_the_table_of_arguments(tokenizer: Tokenizer) -> None:
    ids, text = tokenizer.special_tokens, f"{A} {C}"
    ordinary = tokenizer.encode_ordinary
    assert tokenizer.encode(text, allowed_special="all") == [ids[A], *ordinary(" "), ids[C]]
    assert tokenizer.encode(text, allowed_special={A}, disallowed_special=()) == [ids[A], *ordinary(f" {C}")]
    assert tokenizer.encode(text, disallowed_special=[B]) == ordinary(text)
    assert tokenizer.encode(text, allowed_special=(), disallowed_special=()) == ordinary(text)
    with pytest.raises(EncodingError, match=re.escape(f"character 6 stands {C!r}")):
        tokenizer.encode(text, allowed_special={A})
    with pytest.raises(EncodingError, match="character 0 "):
        tokenizer.encode(text, disallowed_special="all")
    with pytest.raises(EncodingError, match="character 0 "):
        tokenizer.encode(text, allowed_special="all", disallowed_special={A})  # refused is refused


def test_the_error_tells_the_ways_out(tokenizer: Tokenizer) -> None:
    with pytest.raises(EncodingError) as caught:
        tokenizer.encode(f"é😀{B}", allowed_special=())
    message = str(caught.value)
    assert message.startswith("the text: at character 2 stands '<|b|>', which is disallowed here.")
    for way_out in ("allowed_special={'<|b|>'}", "allowed_special='all'", "disallowed_special=()"):
        assert way_out in message


@pytest.mark.parametrize("wrong", ["<|a|>", "", b"all", 5, [1], [A, None], {b"x"}, iter([A])])
def test_what_is_no_choice(tokenizer: Tokenizer, wrong: Any) -> None:
    for argument in ("allowed_special", "disallowed_special"):
        with pytest.raises(TypeError, match=argument):
            tokenizer.encode("a", **{argument: wrong})


def test_other_errors_are_as_ever(tokenizer: Tokenizer) -> None:
    with pytest.raises(EncodingError, match=r"character 1 is the lone surrogate U\+D800"):
        tokenizer.encode("a\ud800" + A, allowed_special=())
    with pytest.raises(TypeError, match="must be a str"):
        tokenizer.encode(b"a", allowed_special="all")  # type: ignore[arg-type]


def test_splitters_are_kept_but_not_for_ever(tokenizer: Tokenizer) -> None:
    many = [f"<{n}>" for n in range(3 * CHOICES_KEPT)]
    ours = Tokenizer(MODEL.vocab, MODEL.merges, many)
    choice = ours._special_choice
    first = choice.splitter("", {many[0]}, ())
    assert choice.splitter("", [many[0], "unknown"], None) is first
    for name in many:
        assert ours.encode(name, allowed_special={name}) == [ours.special_tokens[name]]
    assert choice._some.cache_info().currsize == CHOICES_KEPT
    assert choice.splitter("", {many[0]}, ()) is not first


def test_no_special_tokens_at_all() -> None:
    plain = Tokenizer(MODEL.vocab, MODEL.merges)
    for choice in ("all", (), {"x"}):
        assert plain.encode(A, allowed_special=choice) == plain.encode_ordinary(A)  # type: ignore[arg-type]
    with pytest.raises(EncodingError, match="character 1 stands 'a'"):
        plain.encode("ba", disallowed_special=["a"])


def test_a_large_text_is_cut_as_the_choice_says(tokenizer: Tokenizer) -> None:
    once, n = f"ab {A} {B}b é  ", 150_000  # several blocks
    ids = tokenizer.encode(once * n, allowed_special={B}, disallowed_special=())
    first, *middle, last = (tokenizer.encode_ordinary(part) for part in (once * 3).split(B))
    assert middle[0] == middle[1]
    special = [tokenizer.special_tokens[B]]
    assert ids == first + (special + middle[0]) * (n - 1) + special + last


# --- tiktoken -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["gpt2", "cl100k"])
def both(request: pytest.FixtureRequest, test_data: Path) -> tuple[Tokenizer, tiktoken.Encoding]:
    return published.load(test_data, request.param)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_equal_to_tiktoken(both: tuple[Tokenizer, tiktoken.Encoding], data: st.DataObject) -> None:
    ours, theirs = both
    specials = sorted(theirs.special_tokens_set)
    parts = [*specials, specials[0][:-1], "<|", "|>", "hello", " world", "  ", "\n", "é", "'s", "1234"]
    text = data.draw(st.lists(st.sampled_from(parts), max_size=12).map("".join))
    choices = st.one_of(st.just("all"), st.sets(st.sampled_from([*specials, "hello", "no such"])))
    arguments: dict[str, Any] = {}
    for argument in data.draw(
        st.sampled_from(
            [["allowed_special"], ["disallowed_special"], ["allowed_special", "disallowed_special"]]
        )
    ):
        arguments[argument] = data.draw(choices)
    try:
        expected = theirs.encode(text, **arguments)
    except ValueError:
        with pytest.raises(EncodingError, match="disallowed"):
            ours.encode(text, **arguments)
        with pytest.raises(EncodingError, match=r"text 0: .* disallowed"):
            ours.encode_batch([text], **arguments)
    else:
        assert ours.encode(text, **arguments) == expected
        assert ours.encode_batch([text], **arguments) == theirs.encode_batch([text], **arguments)
        assert (
            ours.encode_to_numpy(text, **arguments).tolist()
            == theirs.encode_to_numpy(text, **arguments).tolist()
        )
