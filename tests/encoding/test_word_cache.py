"""The word cache and the kernels around it: no cut of the text, and no word met before, changes an id."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator

import pytest
from bpenb import Tokenizer
from bpenb.encoding import word_cache, worker
from bpenb.patterns import PATTERNS
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.slow import train
from tests.oracles.encoder import encode

SPECIALS = ["<s>", "<|endoftext|>"]
WORDS = ["low", " lower", " the", " there", "aaaaaaaa", "1234", " 下雨天", "\n\n", "🙂🙂", "é", " Straße"]
MODEL = train([word.encode() for word in WORDS], 60, seed=2)
PARTS = [*WORDS, *SPECIALS, " ", "\n", "'s", "!", "\u3000", "a" * 70, " " * 9, "b" * 300, "x", "\x00", "नमस्ते"]


def made(pattern: str = "gpt2") -> Tokenizer:
    return Tokenizer(MODEL.vocab, MODEL.merges, SPECIALS, pattern)


def expected(tokenizer: Tokenizer, text: str) -> list[int]:
    vocab = MODEL.vocab | {i: token.encode() for token, i in tokenizer.special_tokens.items()}
    return encode(text, vocab, MODEL.merges, SPECIALS, PATTERNS[tokenizer.model.pattern.name or ""])


@pytest.fixture
def tiny_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Caches of 8 rows, growing to 32, with an arena that is full after a dozen words."""
    rows, arena = 32, 4096
    monkeypatch.setattr(worker, "CACHE_ROWS", rows)
    monkeypatch.setattr(worker, "make_word_cache", lambda: word_cache.make_word_cache(8, 2048))
    growing = functools.partial(word_cache.grow_word_cache, max_rows=rows, max_arena=arena)
    monkeypatch.setattr(worker, "grow_word_cache", growing)
    yield


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "whitespace"])
@pytest.mark.parametrize("size", [64, 512])
def test_around_blocks_and_the_queue(pattern: str, size: int) -> None:
    """Every shift of a text over the edges of the blocks of 64 bytes, and of those that queue."""
    tokenizer, chance = made(pattern), random.Random(size)
    body = "".join(chance.choices(PARTS[:16], k=12))
    for shift in range(size - len(body.encode()) - 2, size + 2):
        for filler in ("x", " a"):
            text = (filler * size)[: max(shift, 0)] + body
            assert tokenizer.encode(text) == expected(tokenizer, text)


LATIN = st.characters(max_codepoint=0x24F)  # of one class in all releases of Unicode


@settings(max_examples=150)
@given(st.lists(st.one_of(st.sampled_from(PARTS), st.text(LATIN, max_size=3)), max_size=60).map("".join))
def test_random_text(text: str) -> None:
    assert TOKENIZER.encode(text) == expected(TOKENIZER, text)


TOKENIZER = made()


def texts_of_chance(n: int, seed: int) -> Iterator[str]:
    chance = random.Random(seed)
    letters = "abcdeé下🙂 "
    for _ in range(n):
        words = ["".join(chance.choices(letters, k=chance.choice([1, 2, 5, 16, 40]))) for _ in range(6)]
        yield "".join(chance.choices([*words, *PARTS], k=8))


def test_a_cache_never_changes_ids(tiny_caches: None) -> None:
    """Thousands of texts: the cache grows, fills up, gives rows to others, and is emptied."""
    tokenizer = made()
    for text in texts_of_chance(2000, 1):
        assert tokenizer.encode(text) == expected(tokenizer, text)
    (desk,) = tokenizer.encoder._desks
    cache = desk.worker._work.cache
    assert cache.slots.shape == (32, 4)
    assert cache.cursor[word_cache.EMPTIED] > 10
    assert cache.cursor[word_cache.TURNS] > 100


def test_a_large_cache_and_wide_ids() -> None:
    """Ids of four bytes; nothing is ever emptied."""
    wide = Tokenizer(MODEL.vocab | {1 << 17: b"\xff\xfe\xfd"}, MODEL.merges, [])
    usual = Tokenizer(MODEL.vocab, MODEL.merges, [])
    vocab, pattern = MODEL.vocab, PATTERNS["gpt2"]
    for text in texts_of_chance(800, 2):
        ids = encode(text, vocab, MODEL.merges, [], pattern)
        assert wide.encode(text) == usual.encode(text) == ids


def test_many_texts_at_once(tiny_caches: None) -> None:
    tokenizer, texts = made(), list(texts_of_chance(600, 3))
    ids = [expected(tokenizer, text) for text in texts]
    for workers in (1, 3):
        assert tokenizer.encode_batch(texts, workers=workers) == ids
        assert tokenizer.encode_batch(iter(texts), workers=workers) == ids
