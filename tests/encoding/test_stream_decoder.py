"""`StreamDecoder`: the text of the whole, whatever the cuts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bpenb.encoding import StreamDecoder, Tokenizer
from bpenb.errors import InvalidUtf8Error, UnknownTokenError
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.slow import gpt2

# Bytes of every role in UTF-8, and longer tokens that begin, end or go on within a character.
LONGER = [
    "😀".encode()[:3],
    "é".encode() + b"\xf0\x9f",
    b"\xed\xa0\x80",
    b"\xe2\x82",
    b"ab\xc3",
    b"<s>",
]
VOCAB = {i: bytes([i]) for i in range(256)} | {256 + n: token for n, token in enumerate(LONGER)}
ids_of = st.lists(
    st.one_of(
        st.sampled_from(
            [0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC3, 0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF]
        ),
        st.integers(0, 255 + len(LONGER)),
        st.integers(256, 255 + len(LONGER)),
    ),
    max_size=30,
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(VOCAB, [])


def cut(ids: list[int], cuts: list[int]) -> list[list[int]]:
    bounds = sorted([0, *(min(c, len(ids)) for c in cuts), len(ids)])
    return [ids[a:b] for a, b in pairwise(bounds)]


@settings(max_examples=400, deadline=None)
@given(ids_of, st.lists(st.integers(0, 30), max_size=12))
def test_joined_it_is_the_whole(tokenizer: Tokenizer, ids: list[int], cuts: list[int]) -> None:
    data = b"".join(VOCAB[i] for i in ids)
    decoder = tokenizer.stream_decoder()
    for _ in range(2):  # after `finish` it is as new
        parts = [decoder.push(part) for part in cut(ids, cuts)]
        assert "".join([*parts, decoder.finish()]) == data.decode(errors="replace") == tokenizer.decode(ids)
    singly = tokenizer.stream_decoder()
    assert "".join([*(singly.push([i]) for i in ids), singly.finish()]) == data.decode(errors="replace")


@settings(max_examples=200, deadline=None)
@given(ids_of, st.lists(st.integers(0, 30), max_size=12))
def test_strict_stops_where_the_whole_does(tokenizer: Tokenizer, ids: list[int], cuts: list[int]) -> None:
    data = b"".join(VOCAB[i] for i in ids)
    decoder = tokenizer.stream_decoder("strict")

    def run() -> str:
        return "".join([decoder.push(part) for part in cut(ids, cuts)] + [decoder.finish()])

    try:
        expected = data.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(InvalidUtf8Error) as caught:
            run()
        assert caught.value.offset == error.start
    else:
        assert run() == expected


def test_what_is_held_back(tokenizer: Tokenizer) -> None:
    decoder = tokenizer.stream_decoder()
    assert [decoder.push([byte]) for byte in "😀".encode()] == ["", "", "", "😀"]
    assert [decoder.push([byte]) for byte in b"\xf0\x9fa"] == ["", "", "\ufffda"]
    assert decoder.push([]) == ""
    assert (decoder.push([0xC3]), decoder.finish(), decoder.finish()) == ("", "\ufffd", "")
    assert decoder.push([0xA9]) == "\ufffd"  # nothing is left of the stream before


def test_forms_of_ids(tokenizer: Tokenizer) -> None:
    decoder = tokenizer.stream_decoder()
    assert decoder.push(np.array([97, 0xC3], np.uint16)) == "a"
    assert decoder.push(iter([0xA9, 98])) == "éb"
    with pytest.raises(TypeError):
        decoder.push(97)  # type: ignore[arg-type]


def test_a_refused_push_changes_nothing(tokenizer: Tokenizer) -> None:
    decoder = tokenizer.stream_decoder()
    assert decoder.push([97, 0xC3]) == "a"
    with pytest.raises(UnknownTokenError, match=r"the id 5000: .*position 3$"):
        decoder.push([0xA9, 5000])
    assert decoder.push([0xA9]) == "é"
    with pytest.raises(UnknownTokenError, match=r"position 3$"):
        decoder.push([5000])
    strict = tokenizer.stream_decoder(errors="strict")
    strict.push([97, 0xC3])
    for _ in range(2):
        with pytest.raises(InvalidUtf8Error, match="byte 1 is not valid"):
            strict.push([98])
    assert strict.push([0xA9]) == "é"
    strict.push([0xC3])
    with pytest.raises(InvalidUtf8Error, match="byte 3 is not valid"):
        strict.finish()
    assert strict.push([97]) == "a"  # a new stream


def test_errors_is_one_of_two(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="not 'ignore'"):
        tokenizer.stream_decoder("ignore")  # type: ignore[arg-type]
    assert isinstance(tokenizer.stream_decoder(), StreamDecoder)


def test_real_text(test_data: Path) -> None:
    model = gpt2(test_data)
    tokenizer = Tokenizer(model.vocab, model.merges)
    text = "".join(chr(c) for c in range(0x20, 0x3000)) + "😀🏳️‍🌈中文"
    ids = tokenizer.encode(text)
    for step in (1, 2, 3, 100):
        decoder = tokenizer.stream_decoder()
        parts = [decoder.push(ids[i : i + step]) for i in range(0, len(ids), step)]
        assert "".join([*parts, decoder.finish()]) == text
        assert "\ufffd" not in "".join(parts)
