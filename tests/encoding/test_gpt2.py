"""GPT-2's vocab: ids equal to tiktoken's."""

from __future__ import annotations

import base64
import random
import sys
import unicodedata
from pathlib import Path

import pytest
import tiktoken
from bpenb.encoding import Tokenizer
from bpenb.patterns import PATTERNS
from bpenb.preparing import encode_to_arrays
from tests.encoding.slow import gpt2

EOT = "<|endoftext|>"
FILES = ["address.txt", "german.txt", "corpus.en", "tinystories_sample.txt"]


@pytest.fixture(scope="module")
def theirs(test_data: Path) -> tiktoken.Encoding:
    lines = (test_data / "gpt2.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    return tiktoken.Encoding(
        "gpt2", pat_str=PATTERNS["gpt2"], mergeable_ranks=ranks, special_tokens={EOT: 50256}
    )


@pytest.fixture(scope="module")
def ours(test_data: Path) -> Tokenizer:
    model = gpt2(test_data)
    return Tokenizer(model.vocab, model.merges, [EOT])


def same(ours: Tokenizer, theirs: tiktoken.Encoding, text: str) -> list[int]:
    ids = ours.encode(text)
    assert ids == theirs.encode(text, allowed_special="all")
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert list(ours.encode_iterable(text.splitlines(keepends=True))) == ids
    assert ours.decode(ids) == text
    return ids


@pytest.mark.parametrize("name", FILES)
def test_files(ours: Tokenizer, theirs: tiktoken.Encoding, test_data: Path, name: str) -> None:
    text = (test_data / name).read_bytes().decode()
    ids = same(ours, theirs, text)
    assert encode_to_arrays(ours, test_data / name).ids.tolist() == ids
    lines = text.split("\n")
    same(ours, theirs, EOT.join(lines))
    same(ours, theirs, EOT + EOT + f" {EOT}\n".join(lines[:50]) + EOT)
    assert ours.encode_batch(lines[:200]) == theirs.encode_batch(lines[:200], allowed_special="all")


def test_known_ids(ours: Tokenizer, theirs: tiktoken.Encoding) -> None:
    assert same(ours, theirs, f"{EOT}\n\n") == [50256, 628]
    assert same(ours, theirs, "Hello, how are you?") == [15496, 11, 703, 389, 345, 30]
    assert ours.n_vocab == 50257


@pytest.mark.parametrize(
    "text",
    ["a  b", "a  \n\n  b", "a \tb", "a   ", "x\r\n\r\ny", "a\r\rb", "IT'S it's", "'sup's", "'ll'l", "it’s",
     "1234567", "①Ⅻ½", "a\u00a0 b", "नमस्ते",
     "\ufeffhi", "\x1c \x1f", "\x00", "🏳️‍🌈", " " * 300, "\n" * 300, "", "'" * 50],
)  # fmt: skip
def test_hand_cases(ours: Tokenizer, theirs: tiktoken.Encoding, text: str) -> None:
    same(ours, theirs, text)


@pytest.fixture(scope="module")
def characters() -> list[str]:
    """What every Unicode version in play assigns alike; U+0295 is a letter in all, but of two kinds."""
    assigned = (chr(c) for c in range(sys.maxunicode + 1) if c != 0x0295)
    return [c for c in assigned if unicodedata.category(c) not in ("Cn", "Cs")]


@pytest.mark.parametrize("seed", range(8))
def test_random_unicode(ours: Tokenizer, theirs: tiktoken.Encoding, characters: list[str], seed: int) -> None:
    chance = random.Random(seed)
    spaces = [c for c in characters if c.isspace()]
    near = [c for c in characters if ord(c) < 0x800]
    for _ in range(60):
        pool = chance.choice([characters, near, [*"ab'st 1.\n\r\t"]])
        text = "".join(chance.choice(chance.choice([pool, pool, spaces, [" "]])) for _ in range(200))
        same(ours, theirs, text)


@pytest.mark.parametrize("unit", ["a", "^", "😀", "ab", "—", "中文"])
def test_long_pretokens(ours: Tokenizer, theirs: tiktoken.Encoding, unit: str) -> None:
    for n in (1, 31, 32, 33, 100, 1000, 5000):
        same(ours, theirs, unit * n)
