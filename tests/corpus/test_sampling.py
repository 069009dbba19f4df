"""Samples of documents: the hash decides on each, and no cut changes what is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from bpenb.corpus import (
    CutFinder,
    DocumentSampler,
    Source,
    SpecialScanner,
    fill_from_files,
    plan_ranges,
    read_range,
)
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import ScanBuffer
from hypothesis import given
from hypothesis import strategies as st

SPECIALS = ("<s>", "<s><s>", "aba")
SCANNER = SpecialScanner(SPECIALS)
FINDER = CutFinder(resolve_pattern("gpt2"), SCANNER)
MASK = 2**64 - 1


def mixed(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def is_kept(number: int, start: int, probability: float, seed: int) -> bool:
    return mixed(mixed(mixed(seed) ^ number) ^ start) < int(probability * 2.0**64)


def documents(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Start and text of what special tokens separate."""
    start = 0
    for match in re.finditer(b"<s><s>|<s>|aba", data):
        yield start, data[start : match.start()]
        start = match.end()
    yield start, data[start:]


def kept_documents(data: bytes, number: int, probability: float, seed: int) -> list[bytes]:
    found = [text for start, text in documents(data) if is_kept(number, start, probability, seed)]
    return [text for text in found if text]


def split(parts: list[tuple[int, bytes]]) -> list[bytes]:
    """Documents in (place, text) parts, those that a buffer's end cuts put together again."""
    joined: list[tuple[int, bytes]] = []
    for start, data in parts:
        if joined and joined[-1][0] + len(joined[-1][1]) == start:
            joined[-1] = joined[-1][0], joined[-1][1] + data
        else:
            joined.append((start, data))
    return [text for _, data in joined for _, text in documents(data) if text]


@given(
    st.integers(0, MASK),
    st.floats(0.001, 0.999),
    st.integers(0, 2**40),
    st.lists(st.integers(0, 2**50), max_size=20),
)
def test_the_hash_is_splitmix(seed: int, probability: float, number: int, starts: list[int]) -> None:
    sampler = DocumentSampler(SCANNER, probability, seed)
    kept = sampler.keeps(np.array([number]), np.array(starts, dtype=np.int64)).tolist()
    assert kept == [is_kept(number, start, probability, seed) for start in starts]


def test_about_as_many_are_kept_as_asked_for() -> None:
    starts = np.arange(0, 20_000_000, 100)
    for probability in (0.01, 0.1, 0.5, 0.9):
        samples = [
            DocumentSampler(SCANNER, probability, seed).keeps(np.array([3]), starts) for seed in (0, 1)
        ]
        for sample in samples:
            assert abs(sample.mean() - probability) < 0.005
        assert abs((samples[0] & samples[1]).mean() - probability**2) < 0.005  # seeds have nothing in common
        more = DocumentSampler(SCANNER, probability + 0.05, 1).keeps(np.array([3]), starts)
        assert not (samples[1] & ~more).any()  # a larger sample holds the smaller


TEXT = b"".join(
    b"%d words of document %d" % (n % 7, n) + (b"<s>", b"<s><s>", b"aba", b"<s>aba", b" x<s>")[n % 5]
    for n in range(60)
)
TEXTS = [TEXT, b"", b"no special token", TEXT + b" the end", b"<s>", "我喜欢猫<s>它们很可爱<s>".encode() * 9]


@pytest.fixture
def sources(tmp_path: Path) -> list[Source]:
    found = []
    for number, text in enumerate(TEXTS):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(text)
        found.append(Source(path, number))
    return found


@pytest.mark.parametrize("probability", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("size", [1, 2, 7, 30, 100, 5_000])
def test_buffers_and_ranges_of_every_size(sources: list[Source], size: int, probability: float) -> None:
    sampler = DocumentSampler(SCANNER, probability, seed=5)
    in_buffers: dict[str, list[tuple[int, bytes]]] = {}
    for filled in fill_from_files(sources, FINDER, lambda: ScanBuffer(size), sampler):
        for n, (start, end) in enumerate(filled.ranges.tolist()):
            name, base = filled.label(n)
            in_buffers.setdefault(name, []).append((base, filled.room.text[start:end].tobytes()))
    in_ranges: dict[str, list[tuple[int, bytes]]] = {}
    for part in plan_ranges(sources, FINDER, size, sampler):
        in_ranges.setdefault(part.source, []).append((part.start, read_range(part)))
    for source, text in zip(sources, TEXTS, strict=True):
        expected = kept_documents(text, source.number, probability, 5)
        for found in (in_buffers, in_ranges):
            parts = found.get(str(source.path), [])
            assert split(parts) == expected
            assert all(text[start:].startswith(data) for start, data in parts)


def test_buffers_are_full_though_little_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"some words<s>" * 50_000)
    sampler = DocumentSampler(SCANNER, 0.01, 1)
    rooms = list(fill_from_files([Source(path)], FINDER, lambda: ScanBuffer(2_000), sampler))
    kept = [room.n_bytes for room in rooms]
    assert 4_000 < sum(kept) < 6_000
    assert min(kept[:-1]) > 1_000


@given(st.lists(st.lists(st.binary(min_size=1, max_size=3), max_size=5), max_size=8), st.integers(0, 99))
def test_documents_of_iterables(batches: list[list[bytes]], seed: int) -> None:
    sampler = DocumentSampler(SCANNER, 0.5, seed)
    found = [text for batch in sampler.blank_documents(batches) for text in batch]
    everything = [text for batch in batches for text in batch]
    expected = [t if is_kept(n, 0, 0.5, seed) else b"" for n, t in enumerate(everything)]
    assert found == expected
