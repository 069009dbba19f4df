"""Equal to subword-nmt 0.3.8 on real text: merges, codes both ways, tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from bpenb.classic import ClassicTokenizer, train_classic
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.classic.reference import TEXTS, learned_codes, needs_data, segmented, text_of
from tests.oracles import classic as oracle


def with_marks(tokens: list[str]) -> list[str]:
    """Tokens of ours as subword-nmt prints them."""
    return [t.removesuffix("</w>") if t.endswith("</w>") else t + "@@" for t in tokens]


@needs_data
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("min_frequency", [2, 5])
def test_merges_codes_and_tokens(name: str, min_frequency: int, tmp_path: Path) -> None:
    text = text_of(name)
    path = tmp_path / name
    path.write_bytes(text.encode())
    n_merges = 1500 if name == "corpus.en" else 100_000  # until no pair is left
    codes = learned_codes(text, n_merges, min_frequency)
    tokenizer = train_classic(path, n_merges=n_merges, min_frequency=min_frequency, special_tokens=())
    assert tokenizer.model.n_merges == codes.count("\n") - 1
    tokenizer.export(tmp_path / "codes", "subword-nmt")
    assert (tmp_path / "codes").read_bytes() == codes.encode()
    pieces = segmented(text, codes)
    assert with_marks(tokenizer.split(text)) == [piece.rstrip("\r\n") for piece in pieces]
    again = ClassicTokenizer.from_codes(tmp_path / "codes", tokenizer.model.characters)
    assert again.merges == tokenizer.merges and again.encode(text) == tokenizer.encode(text)


@settings(max_examples=100, deadline=None)
@given(st.text("abcé\n ", min_size=1, max_size=80).filter(lambda t: any(len(w) > 1 for w in t.split())))
def test_the_oracle_is_the_same_rule(text: str) -> None:
    """On short texts; subword-nmt itself fails where no word has a pair."""
    codes = learned_codes(text, 50)
    assert oracle.learn(text, 50) == [tuple(line.split(" ")) for line in codes.split("\n")[1:-1]]


def test_where_no_word_has_a_pair_it_fails_and_we_do_not(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="empty"):
        learned_codes("a b c", 10)
    (tmp_path / "text").write_text("a b c")
    assert train_classic(tmp_path / "text", n_merges=10).merges == []


def test_where_a_word_holds_other_whitespace_it_merges_what_is_no_pair(tmp_path: Path) -> None:
    """Its regex takes U+00A0 for an end of a token: of `\\xa0a b x a b x` (a, b) merges twice, not once."""
    text = ("\xa0az " * 20 + "\xa0abxabx " * 5 + "abq " * 7).rstrip()
    wrong = [tuple(line.split(" ")) for line in learned_codes(text, 10).split("\n")[1:-1]]
    (tmp_path / "text").write_text(text)
    ours = train_classic(tmp_path / "text", n_merges=10).merges
    assert ours == oracle.learn(text, 10) != wrong
