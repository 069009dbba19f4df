"""Special tokens found by the kernel: the stretches that the plain scanner finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bpenb.corpus import SpecialScanner
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import CompiledEngine, ScanBuffer
from bpenb.pretokenize.planes import BREAK, CONT, START
from bpenb.pretokenize.segments import set_breaks
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.kernels

GPT2 = resolve_pattern("gpt2")
SPECIAL_SETS = [
    ("<s>",),
    ("aba",),
    ("a",),
    ("ab", "b"),
    ("aa", "aaa"),
    ("<s>", "<s><s>"),
    ("<|x|>", "<|y|>", "é", " "),
    (),
]


def find(data: bytes, ranges: list[tuple[int, int]], specials: tuple[str, ...]) -> list[tuple[int, int]]:
    buffer = ScanBuffer(len(data))
    buffer.fill(data)
    found = CompiledEngine(GPT2, specials).find_segments(
        buffer, np.array(ranges, dtype=np.int64).reshape(-1, 2)
    )
    return [tuple(row) for row in found.tolist()]


def expected(data: bytes, ranges: list[tuple[int, int]], specials: tuple[str, ...]) -> list[tuple[int, int]]:
    scanner = SpecialScanner(specials)
    return [(a + s, a + e) for a, b in ranges for s, e in scanner.segments(data[a:b])]


@given(
    st.sampled_from(SPECIAL_SETS),
    st.lists(
        st.sampled_from([b"a", b"b", b"<s>", b"<", b"<|x|>", "é".encode(), b" ", b"z" * 50]), max_size=40
    ),
    st.lists(st.integers(0, 400), max_size=3),
)
def test_equal_to_the_plain_scanner(specials: tuple[str, ...], parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    edges = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    ranges = list(itertools.pairwise(edges))
    assert find(data, ranges, specials) == expected(data, ranges, specials)


@pytest.mark.parametrize("shift", range(0, 70, 3))
def test_at_every_place_of_a_block(shift: int) -> None:
    data = b"x" * shift + b"<s>ab<s><s>" + b"y" * 130 + b"<s>"
    assert find(data, [(0, len(data))], ("<s>",)) == expected(data, [(0, len(data))], ("<s>",))


def test_a_special_does_not_reach_over_two_documents() -> None:
    assert find(b"<s><s>", [(0, 2), (2, 6)], ("<s>",)) == [(0, 2), (2, 3)]


def test_many_segments_and_many_specials() -> None:
    specials = tuple(f"<|reserved_{n}|>" for n in range(300))
    data = "".join(f"w{n}{special}" for n, special in enumerate(specials)).encode()
    assert find(data, [(0, len(data))], specials) == expected(data, [(0, len(data))], specials)
    assert len(find(data, [(0, len(data))], specials)) == 300


def test_breaks_stand_at_both_ends_of_a_segment() -> None:
    buffer = ScanBuffer(200)
    buffer.fill(b"a" * 200)
    buffer.planes[:] = 0
    buffer.planes[START] = 5
    assert set_breaks(buffer.planes, buffer.n_blocks, np.array([[0, 64], [70, 200]])) == -1
    bits = np.flatnonzero(np.unpackbits(buffer.planes[BREAK].view(np.uint8), bitorder="little"))
    assert bits.tolist() == [0, 64, 70, 200]
    assert not buffer.planes[START, : buffer.n_blocks].any()
    buffer.planes[CONT, 1] = 1 << 6
    assert set_breaks(buffer.planes, buffer.n_blocks, np.array([[0, 64], [70, 200]])) == 1
