"""Bytes per token against vocab size, held against a tokenizer made for each size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import bpenb
import pytest
from bpenb.progress import Reporter
from bpenb.report_page.growth import Growth, measure_growth
from bpenb.traits import NFC, Traits
from tests.oracles.encoder import encode

TEXT = "low lower lowest newer newest wider été 中文中文 aaaa aaaaaaa 12345\n" * 5


def smaller(tokenizer: bpenb.Tokenizer, n_merges: int) -> bpenb.Tokenizer:
    """A tokenizer with the first merges alone."""
    merges = tokenizer.merges[:n_merges]
    made = {left + right for left, right in merges}
    vocab = {i: token for i, token in tokenizer.vocab.items() if len(token) == 1 or token in made}
    return bpenb.Tokenizer(vocab, merges, (), tokenizer.pattern)


def grown(tokenizer: bpenb.Tokenizer, words: Mapping[str, int]) -> Growth | str:
    counts = bpenb.WordCounts.from_dict(dict(words), pattern=tokenizer.pattern)
    return measure_growth(tokenizer, counts, Reporter(None))


@pytest.mark.parametrize("ties", ["cs336", "huggingface", "rustbpe"])
def test_every_size_is_that_of_a_tokenizer_of_its_own(ties: str) -> None:
    tokenizer = bpenb.train_from_iterator([TEXT], vocab_size=300, ties=ties)
    counts = bpenb.count_words_from_iterator([TEXT + "unheard of"])
    growth = measure_growth(tokenizer, counts, Reporter(None))
    assert isinstance(growth, Growth)
    n_merges = len(tokenizer.merges)
    for n in range(n_merges + 1):
        small = smaller(tokenizer, n)
        regex = tokenizer.pattern.regex
        expected = len(encode(TEXT + "unheard of", small.vocab, small.merges, [], regex))
        assert int(growth.n_tokens[n]) == expected
        assert growth.bytes_per_token(n) == len((TEXT + "unheard of").encode()) / expected
        assert int(growth.vocab_sizes[n]) == len(small.vocab) + len(tokenizer.special_tokens)
    assert growth.doublings() == [0, n_merges]


def test_powers_of_two_between_first_and_last() -> None:
    tokenizer = bpenb.train_from_iterator([" ".join(map(str, range(700)))], vocab_size=1100)
    growth = grown(tokenizer, {"123": 1})
    assert isinstance(growth, Growth)
    sizes = [int(growth.vocab_sizes[n]) for n in growth.doublings()]
    assert sizes == [257, 512, 1024, len(tokenizer.vocab)] or sizes == [257, 512, len(tokenizer.vocab)]


def test_a_vocab_that_lacks_bytes() -> None:
    tokenizer = bpenb.Tokenizer({5: b"a", 9: b"b", 2: b"ab", 7: b"aba"}, [(b"a", b"b"), (b"ab", b"a")])
    growth = grown(tokenizer, {"abab": 2, "aba": 1})
    assert isinstance(growth, Growth)
    assert growth.vocab_sizes.tolist() == [2, 3, 4]
    assert growth.n_tokens.tolist() == [11, 2 * 2 + 2, 2 * 2 + 1]


def test_a_token_that_two_merges_make_counts_once() -> None:
    vocab = {i: bytes([i]) for i in range(256)} | {256: b"ab", 257: b"bc", 258: b"abc"}
    merges = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")]
    growth = grown(bpenb.Tokenizer(vocab, merges), {"abc": 1})
    assert isinstance(growth, Growth)
    assert growth.vocab_sizes.tolist() == [256, 257, 258, 259, 259]
    assert growth.n_tokens.tolist() == [3, 2, 2, 1, 1]


def with_traits(tokenizer: bpenb.Tokenizer, **traits: object) -> bpenb.Tokenizer:
    return bpenb.Tokenizer.from_model(replace(tokenizer.model, traits=Traits(**traits)))  # type: ignore[arg-type]


def test_words_taken_whole_are_said_to_be_so() -> None:
    vocab = {i: bytes([i]) for i in range(256)} | {256: b"ab", 257: b"xyz"}
    tokenizer = with_traits(bpenb.Tokenizer(vocab, [(b"a", b"b")]), ignore_merges=True)
    assert "takes some words whole" in str(grown(tokenizer, {"xyz": 1, "ab": 2}))
    growth = grown(tokenizer, {"ab": 2})  # the same without: exact again
    assert isinstance(growth, Growth) and growth.n_tokens.tolist() == [4, 2]


def test_a_normalizer_is_said_to_be_in_the_way() -> None:
    tokenizer = bpenb.Tokenizer({i: bytes([i]) for i in range(256)}, [])
    assert "NFC" in str(grown(with_traits(tokenizer, normalizer=NFC), {"a": 1}))


def test_no_words() -> None:
    tokenizer = bpenb.Tokenizer({i: bytes([i]) for i in range(256)}, [])
    assert "no word" in str(grown(tokenizer, {}))
    growth = grown(tokenizer, {"abc": 1})
    assert isinstance(growth, Growth) and growth.doublings() == [0]
