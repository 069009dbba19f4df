"""Streams: the ids of the whole, whatever the cuts; lazily; in bounded memory."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.encoding import Tokenizer
from bpenb.encoding.streaming import safe_blocks
from bpenb.errors import EncodingError
from bpenb.patterns import PATTERNS
from bpenb.pretokenize import START, ScanBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

BYTES = {i: bytes([i]) for i in range(256)}
PAIRS = [
    (b"'", b"t"),
    (b" ", b" "),
    (b"\n", b"\n"),
    (b" ", b"a"),
    (b"a", b"b"),
    (b"  ", b"\n"),
    (b"\r", b"\n"),
]
VOCAB = BYTES | {256 + rank: a + b for rank, (a, b) in enumerate(PAIRS)}
CUSTOM = r"\w+|\s+"
SPECIALS = ["<|endoftext|>", "<|endoftext|><|endoftext|>", "aba", " s ", "\n<", "é!"]
TOKENIZERS = {name: Tokenizer(VOCAB, PAIRS, SPECIALS, name) for name in [*PATTERNS, CUSTOM]}
PLAIN = Tokenizer(VOCAB, PAIRS)

texts = st.lists(
    st.sampled_from(
        [*"ab1.! \t\n\r'/é中\u3000\u00a0\u0301", "don't", "<|endoftext|>", "aba", " s ", "  ", "\r\n"]
    ),
    max_size=60,
).map("".join)

byte_parts = st.lists(
    st.sampled_from([b"a", b" ", b"\n", b"aba", b"\xe4\xb8\xad", b"\xe4\xb8", b"\xff", b"\x80"]), max_size=30
)


def cut(text: str, places: list[int]) -> list[str]:
    bounds = [0, *sorted(p % (len(text) + 1) for p in places), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(bounds)]


# --- the ids of the whole -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "items",
    [["Hi. \n", "Yo"], ["<|endo", "ftext|>"], ["don", "'t"], ["", "a", "", "b", ""], ["ab", "aba"], [], [""],
     [" ", " ", "\n"]],
)  # fmt: skip
@pytest.mark.parametrize("name", TOKENIZERS)
def test_hand_cases(items: list[str], name: str) -> None:
    assert list(TOKENIZERS[name].encode_iterable(items)) == TOKENIZERS[name].encode("".join(items))


@settings(max_examples=150, deadline=None)
@given(texts, st.lists(st.integers(0, 200), max_size=12), st.sampled_from(list(TOKENIZERS)))
def test_any_cuts(text: str, places: list[int], name: str) -> None:
    items = cut(text * 3, places)
    assert list(TOKENIZERS[name].encode_iterable(items)) == TOKENIZERS[name].encode(text * 3)


@settings(max_examples=150, deadline=None)
@given(texts, st.integers(1, 40), st.integers(1, 40), st.sampled_from(list(TOKENIZERS)))
def test_small_blocks(text: str, first: int, limit: int, name: str) -> None:
    encoder = TOKENIZERS[name].encoder
    blocks = list(safe_blocks([text.encode()], encoder.splitter, first=first, limit=limit))
    assert b"".join(blocks) == text.encode()
    assert all(blocks)
    ids = [i for block in encoder.encode_blocks(iter(blocks), encoder.splitter, "it") for i in block.tolist()]
    assert ids == TOKENIZERS[name].encode(text)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_cut_in_two(name: str) -> None:
    text = "don't  \n\n aba<|endoftext|><|endoftext|>x s y \r\n!é!\n/ a\u3000 1" * 4
    whole = TOKENIZERS[name].encode(text)
    for place in range(len(text) + 1):
        assert list(TOKENIZERS[name].encode_iterable([text[:place], text[place:]])) == whole
    assert list(TOKENIZERS[name].encode_iterable(text)) == whole  # a str is an iterable of str, too


def every_text(alphabet: str, longest: int) -> list[bytes]:
    return ["".join(t).encode() for n in range(longest + 1) for t in itertools.product(alphabet, repeat=n)]


@pytest.mark.parametrize("name", ["gpt2", "o200k", CUSTOM])
def test_a_cut_holds_whatever_comes_after(name: str) -> None:
    """All short texts, all short continuations: a cut is never taken back."""
    splitter = Tokenizer(VOCAB, PAIRS, ["x", "xyz", "zx"], name).encoder.splitter

    def split(text: bytes) -> list[tuple[int, int]]:
        """(end, special id or −1) of every pretoken and special token."""
        buffer = ScanBuffer(len(text))
        buffer.fill(text)
        pieces = splitter.pieces(buffer, np.array([[0, len(text)]], dtype=np.int64))
        assert splitter.mark(buffer, pieces)
        is_start = np.unpackbits(buffer.planes[START].view(np.uint8), bitorder="little").astype(bool)
        parts: list[tuple[int, int]] = []
        for start, end, special_id in pieces[:, :3].tolist():
            inner = range(start + 1, end) if special_id < 0 else ()
            parts += [(i, -1) for i in inner if is_start[i]] + [(end, special_id)]
        return parts

    for text in every_text("xyz ", 5):
        cut_at = splitter.last_cut(text)
        if cut_at is None:
            continue
        assert 0 < cut_at <= len(text)
        left = split(text[:cut_at])
        for more in every_text("xyz ", 2):
            right = [(end + cut_at, special_id) for end, special_id in split((text + more)[cut_at:])]
            assert split(text + more) == left + right


# --- laziness -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "item"), [("gpt2", "some words in a line\n"), ("o200k", "some words\n"),
                                            (CUSTOM, "a document <|endoftext|>")])  # fmt: skip
def test_the_first_ids_come_early(name: str, item: str) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield item

    ids = TOKENIZERS[name].encode_iterable(endless())
    assert taken == 0
    for _ in range(10):
        next(ids)
    assert taken < 20
    for _ in range(100_000):
        next(ids)
    assert taken * len(item) < 100_000 * 4 + 3 * 2**16  # what is held back does not grow


def test_an_exception_of_the_user_passes_through() -> None:
    def items() -> Iterator[str]:
        yield "one two three " * 20
        raise KeyError("mine")

    ids = PLAIN.encode_iterable(items())
    assert next(ids) == ord("o")
    with pytest.raises(KeyError, match="mine"):
        list(ids)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [b"abc", [b"abc"], ["a", None], [5], ["a", ["b"]]])
def test_only_str(items: Any) -> None:
    with pytest.raises(TypeError, match=r"item \d must be a str, not"):
        list(PLAIN.encode_iterable(items))
    with pytest.raises(TypeError):
        list(PLAIN.encode_iterable(5))  # type: ignore[arg-type]


def test_a_surrogate_pair_in_two_items_is_no_character() -> None:
    with pytest.raises(EncodingError, match=r"item 1: character 2 is the lone surrogate U\+D83D"):
        list(PLAIN.encode_iterable(["ok", "ab\ud83d", "\ude00"]))


def test_the_place_of_a_missing_byte_counts_from_the_start() -> None:
    tokenizer = Tokenizer({0: b"a", 1: b" "}, [])
    with pytest.raises(EncodingError, match=r"b'z' at offset 4000"):
        list(tokenizer.encode_iterable(["aaa "] * 1000 + ["z"]))


# --- memory, in processes of their own ------------------------------------------------------------

PREAMBLE = """
import sys
from bpenb._memory import peak_rss_bytes
from bpenb.encoding import Tokenizer
vocab = {i: bytes([i]) for i in range(256)} | {256: b"th", 257: b"the"}
tokenizer = Tokenizer(vocab, [(b"t", b"h"), (b"th", b"e")])
line = "the quick brown fox jumps over the lazy dog, and 12345 more of them.\\n"
"""


def run(code: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        capture_output=True,
        text=True,
        env=os.environ | env,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_memory_of_a_stream_is_constant() -> None:
    grown = run("""
def lines(n_bytes):
    for _ in range(n_bytes // len(line)):
        yield line
sum(1 for _ in tokenizer.encode_iterable(lines(500_000)))
before = peak_rss_bytes()
assert sum(1 for _ in tokenizer.encode_iterable(lines(16_000_000))) > 10_000_000
print(peak_rss_bytes() - before)
""")
    assert int(grown) < 1_000_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS and /proc are Linux")
def test_the_constructor_compiles_so_that_a_first_call_needs_little_memory(tmp_path: Path) -> None:
    """As a course does it: the limit is what the process holds now, and one megabyte."""
    ids = run("""
import resource
from pathlib import Path
from bpenb.encoding import kernels_compiled
resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (resident + 1_000_000, -1))
print(kernels_compiled(), sum(1 for _ in tokenizer.encode_iterable(line for _ in range(20_000))))
""", BPENB_CACHE_DIR=str(tmp_path))  # fmt: skip
    assert ids.split()[0] == "True"
    assert int(ids.split()[1]) > 1_000_000
