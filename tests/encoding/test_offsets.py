"""Where tokens stand: against the definition, and against the offsets of `tokenizers`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tokenizers
from bpenb.encoding import Encoding, Tokenizer
from bpenb.errors import EncodingError
from bpenb.formats.hf_json import tokenizer_json
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.slow import gpt2, train

EOT = "<|endoftext|>"
Span = tuple[int, int]


def slow_spans(tokens: list[bytes]) -> tuple[list[Span], list[Span]]:
    """Byte spans; and from the first character to the last one of which a token holds a byte."""
    character_of = [n for n, c in enumerate(b"".join(tokens).decode()) for _ in c.encode()]
    byte_spans, character_spans, position = [], [], 0
    for token in tokens:
        end = position + len(token)
        byte_spans.append((position, end))
        character_spans.append((character_of[position], character_of[end - 1] + 1))
        position = end
    return byte_spans, character_spans


def check(tokenizer: Tokenizer, text: str) -> Encoding:
    encoding = tokenizer.encode_with_offsets(text)
    ids, data = encoding.ids.tolist(), text.encode()
    assert ids == tokenizer.encode(text)
    assert (encoding.ids.dtype, encoding.byte_spans.dtype, encoding.character_spans.dtype) == (
        np.int32, np.int64, np.int64,
    )  # fmt: skip
    assert encoding.byte_spans.shape == encoding.character_spans.shape == (len(ids), 2)
    assert len(encoding) == len(ids)
    tokens = [tokenizer.token_bytes(i) for i in ids]
    assert [data[a:b] for a, b in encoding.byte_spans.tolist()] == tokens
    byte_spans, character_spans = slow_spans(tokens)
    assert list(map(tuple, encoding.byte_spans.tolist())) == byte_spans
    assert list(map(tuple, encoding.character_spans.tolist())) == character_spans
    return encoding


def same(ours: Tokenizer, theirs: tokenizers.Tokenizer, text: str) -> None:
    encoding = check(ours, text)
    other = theirs.encode(text, add_special_tokens=False)
    assert other.ids == encoding.ids.tolist()
    assert list(map(tuple, encoding.character_spans.tolist())) == other.offsets


def exported(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(tokenizer_json(tokenizer.model).decode())


def test_hand_cases() -> None:
    vocab = {i: bytes([i]) for i in range(256)} | {256: b"\xa9a"}
    tokenizer = Tokenizer(vocab, [(b"\xa9", b"a")], ["<é>"], ".+")
    encoding = check(tokenizer, "éaé<é>b")
    assert encoding.ids.tolist() == [0xC3, 256, 0xC3, 0xA9, 257, 98]
    assert encoding.byte_spans.tolist() == [[0, 1], [1, 3], [3, 4], [4, 5], [5, 9], [9, 10]]
    assert encoding.character_spans.tolist() == [[0, 1], [0, 2], [2, 3], [2, 3], [3, 6], [6, 7]]


def test_nothing_and_ascii() -> None:
    tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [])
    assert len(check(tokenizer, "")) == 0
    encoding = check(tokenizer, "ab")
    assert not np.shares_memory(encoding.byte_spans, encoding.character_spans)


def test_a_frozen_result() -> None:
    encoding = Tokenizer({0: b"a"}, []).encode_with_offsets("a")
    with pytest.raises(AttributeError):
        encoding.ids = encoding.ids  # type: ignore[misc]


def test_what_cannot_be_encoded() -> None:
    tokenizer = Tokenizer({0: b"a"}, [])
    with pytest.raises(EncodingError, match="offset 1"):
        tokenizer.encode_with_offsets("ab")
    with pytest.raises(EncodingError, match="lone surrogate"):
        tokenizer.encode_with_offsets("a\ud800")
    with pytest.raises(TypeError):
        tokenizer.encode_with_offsets(b"a")  # type: ignore[arg-type]


# --- tokenizers -----------------------------------------------------------------------------------

# (U+0295 became a letter of another kind; the classes of all others are those that `tokenizers` has.)
characters = st.one_of(
    st.sampled_from("ab é中😀\u00a0\u3000\n'—"), st.characters(codec="utf-8", exclude_characters="\u0295")
)


@pytest.fixture(scope="module")
def gpt2_twice(test_data: Path) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    model = gpt2(test_data)
    ours = Tokenizer(model.vocab, model.merges, [EOT, "<é>"])
    return ours, exported(ours)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(characters, st.sampled_from([EOT, "<é>", "ţ", "🏳️‍🌈"])), max_size=40).map("".join))
def test_random_unicode(gpt2_twice: tuple[Tokenizer, tokenizers.Tokenizer], text: str) -> None:
    same(*gpt2_twice, text)


@pytest.mark.parametrize("name", ["address.txt", "german.txt", "corpus.en"])
def test_files(gpt2_twice: tuple[Tokenizer, tokenizers.Tokenizer], test_data: Path, name: str) -> None:
    text = (test_data / name).read_bytes().decode()[:200_000]
    same(*gpt2_twice, text)
    same(*gpt2_twice, EOT.join(text[:20_000].split("\n")))


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
@pytest.mark.parametrize("seed", range(4))
def test_tokens_that_cut_characters(pattern: str, seed: int) -> None:
    text = "日本語中文éèê ţţ 😀😁😂 αβγ😀é中 мир"
    words = [text.encode()[i : i + 7] for i in range(0, 60, 3)] * 2
    model = train(words, 120, seed)  # merges over the cuts between characters
    ours = Tokenizer(model.vocab, model.merges, [EOT, "é<"], pattern)
    theirs = exported(ours)
    across = [t for t in model.vocab.values() if len(t) > 1 and t[0] & 0xC0 == 0x80 and t[-1] >= 0xC0]
    assert across  # a tail of one character with the head of another
    for start in range(len(text)):
        same(ours, theirs, text[start:] + EOT + text[:start] + "é<" + text[start : start + 3])
