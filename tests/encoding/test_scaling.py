"""Near-linear time on inputs that are quadratic for a careless encoder: one pretoken of a megabyte."""

from __future__ import annotations

import base64
import random
import time

import pytest
from bpenb.encoding import Tokenizer
from tests.encoding.slow import Merge

CHANCE = random.Random(1)
BASE64 = base64.b64encode(CHANCE.randbytes(750_000)).decode()
CHINESE = "".join(chr(CHANCE.randrange(0x4E00, 0x9FA6)) for _ in range(33_000))

TRAPS = {
    "a": "a" * 1_000_000,
    "^": "^" * 1_000_000,
    "base64": BASE64,
    "one emoji": "😀" * 250_000,
    "Chinese": CHINESE,  # 100 kB
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Merges that have much to do in every trap: doublings, pairs of letters, characters by bytes."""
    merges: list[Merge] = []
    for unit in (b"a", b"^"):
        merges += [(unit * 2**n, unit * 2**n) for n in range(12)]
    letters = [bytes([b]) for b in sorted(set(BASE64.encode()))]
    merges += CHANCE.sample([(a, b) for a in letters for b in letters if a + b != b"aa"], 2000)
    merges += [("😀".encode()[:n], "😀".encode()[n : n + 1]) for n in (1, 2, 3)]
    leads = [bytes([b]) for b in range(0xE4, 0xEA)]
    tails = [bytes([b]) for b in range(0x80, 0xC0)]
    merges += [(a, b) for a in leads for b in tails]
    merges += [(a + b, c) for a in leads for b in tails for c in tails[::4]]
    tokens = [bytes([b]) for b in range(256)] + [a + b for a, b in merges]
    return Tokenizer(dict(enumerate(tokens)), merges, pattern="whitespace")


def seconds(tokenizer: Tokenizer, text: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        tokenizer.encode_to_numpy(text)
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.parametrize("name", TRAPS)
def test_time_is_near_linear(tokenizer: Tokenizer, name: str) -> None:
    text = TRAPS[name]
    part = text[: len(text) // 8]
    assert seconds(tokenizer, text) < 24 * seconds(tokenizer, part) + 0.02  # quadratic: 64 times
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_time_of_a_stream_without_a_cut_is_near_linear(tokenizer: Tokenizer) -> None:
    def stream(n: int) -> float:
        started = time.process_time()
        n_ids = sum(1 for _ in tokenizer.encode_iterable("acgt" * 25 for _ in range(n)))
        assert n_ids > n
        return time.process_time() - started

    assert stream(16_000) < 24 * min(stream(2_000), stream(2_000)) + 0.02


def test_many_short_documents_are_near_linear(tokenizer: Tokenizer) -> None:
    specials = Tokenizer(tokenizer.vocab, tokenizer.merges, ["<s>"], "whitespace")
    assert seconds(specials, "a<s>" * 80_000) < 24 * seconds(specials, "a<s>" * 10_000) + 0.02
