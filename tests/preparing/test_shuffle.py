"""Shuffled documents: one order for a seed, whatever the buckets, the memory and the workers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bpenb.dataset import open_dataset
from bpenb.preparing import EncodeSettings, OutputSettings, encode_to_files
from bpenb.preparing.documents import TokenBlock
from bpenb.preparing.shuffle import Shuffler, n_buckets_for
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import dataset as oracle
from tests.preparing.making import (
    Input,
    contents,
    mix,
    rules_of,
    sample_rows,
    sample_text,
    small_buffers,
    tokenizer,
    write_inputs,
)

GIVEN: list[Input] = [sample_text(400, 2), ["", "low", ""], sample_rows(50, 3), sample_text(3, 4)]


def in_order(documents: list[list[int]], seed: int) -> list[list[int]]:
    """One sort by a hash of the seed and the document's number."""
    numbers = sorted(range(len(documents)), key=lambda number: mix(mix(seed) ^ number))
    return [documents[number] for number in numbers]


def buckets(n: int) -> Callable[[int, int | None], int]:
    return lambda id_bytes, max_memory: n


@pytest.mark.parametrize("n_buckets", [1, 2, 16, 128])
@pytest.mark.parametrize("form, workers", [("npy", 1), ("megatron", 3)])
def test_one_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_buckets: int, form: str,
                   workers: int) -> None:  # fmt: skip
    made, paths = tokenizer(), write_inputs(tmp_path / "in", GIVEN)
    documents = oracle.dataset(GIVEN, rules_of(made, append=True))
    monkeypatch.setattr("bpenb.preparing.run.n_buckets_for", buckets(n_buckets))
    chosen = EncodeSettings(append_eot=True, shuffle=True, seed=9)
    with small_buffers():
        encode_to_files(made, paths, tmp_path / "out", chosen, OutputSettings(form, 1500), workers=workers)
    got = [document.tolist() for document in open_dataset(tmp_path / "out").documents()]
    assert got == in_order(documents, 9)
    assert got != documents
    assert Counter(map(tuple, got)) == Counter(map(tuple, documents))
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_with_splits_and_other_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each split is in the one order; bytes do not depend on the buckets, but on the seed."""
    made, paths = tokenizer(), write_inputs(tmp_path / "in", GIVEN)
    documents = oracle.dataset(GIVEN, rules_of(made))
    found = []
    for number, (n_buckets, seed) in enumerate([(1, 5), (32, 5), (4, 6)]):
        monkeypatch.setattr("bpenb.preparing.run.n_buckets_for", buckets(n_buckets))
        chosen = EncodeSettings(shuffle=True, seed=seed, val_fraction=0.3)
        with small_buffers(100 * number + 16):
            encode_to_files(made, paths, tmp_path / str(number) / "out", chosen)
        found.append(contents(tmp_path / str(number) / "out"))
        splits = [[d.tolist() for d in open_dataset(tmp_path / str(number) / "out", split=split).documents()]
                  for split in ("train", "val")]  # fmt: skip
        place = {tuple(document): k for k, document in enumerate(in_order(documents, seed))}
        for split in splits:
            distinct = [place[tuple(document)] for document in split if documents.count(document) == 1]
            assert distinct == sorted(distinct)
        assert Counter(tuple(d) for split in splits for d in split) == Counter(map(tuple, documents))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_documents_larger_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tokenizer()
    given_inputs: list[Input] = [sample_text(900, 1, eot="x"), [sample_text(700, 2), "low", ""], " the" * 500]
    documents = oracle.dataset(given_inputs, rules_of(made))
    assert max(map(len, documents)) > 700
    monkeypatch.setattr("bpenb.preparing.run.n_buckets_for", buckets(4))
    with small_buffers():
        encode_to_files(made, write_inputs(tmp_path / "in", given_inputs), tmp_path / "ids",
                        EncodeSettings(shuffle=True, seed=1))  # fmt: skip
    got = [document.tolist() for document in open_dataset(tmp_path / "ids.npy").documents()]
    assert got == in_order(documents, 1)


def test_how_many_buckets() -> None:
    """Powers of two; a bucket with all its copies fits into the memory."""
    for id_bytes in (0, 1, 10**6, 10**9, 10**12):
        for memory in (1 << 24, 1 << 28, None):
            n = n_buckets_for(id_bytes, memory)
            assert n & (n - 1) == 0
            assert 1 <= n <= 128
            assert n == 128 or 4 * id_bytes / n <= (memory or 1 << 30)
            assert n == 1 or 4 * id_bytes / (n // 2) > (memory or 1 << 30)


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.integers(0, 300), max_size=9), max_size=15),
    st.lists(st.integers(0, 100), max_size=9),
    st.sampled_from([1, 4, 16]),
    st.booleans(),
    st.lists(st.integers(0, 9), max_size=4),
)
def test_any_blocks(tmp_path_factory: pytest.TempPathFactory, documents: list[list[int]], cuts: list[int],
                    n_buckets: int, is_open: bool, broken_at: list[int]) -> None:  # fmt: skip
    """Cut anywhere; at some blocks it is broken off after a sync and more, and gone on from the sync.

    A sync whose journal was not written any more must not harm the one before.
    """
    folder = tmp_path_factory.mktemp("shuffle")
    ids, starts = oracle.flat(documents)
    ends = starts[1:-1] if is_open and documents else starts[1:]
    expected = documents[: len(ends)] + [document for document in documents[len(ends) :] if document]
    bounds = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    n_done, dtype = 0, np.dtype(np.uint16)
    shuffler = Shuffler(folder, n_buckets, dtype, 3)
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        here = [end - first for end in ends[n_done:] if end <= last]
        n_done += len(here)
        block = TokenBlock(np.array(ids[first:last], dtype=dtype), np.array(here, dtype=np.int64))
        if number in broken_at:
            state = shuffler.sync()
            shuffler.write(block)
            shuffler.write(TokenBlock(np.full(3, 7, dtype), np.array([1], np.int64)))
            shuffler.sync()
            shuffler.close()
            shuffler = Shuffler(folder, n_buckets, dtype, 3, state)
        shuffler.write(block)
    shuffler.finish()
    got: list[list[int]] = []
    for _, (block_ids, block_ends) in shuffler.blocks():
        bounds = [0, *block_ends.tolist()]
        got += [block_ids[a:b].tolist() for a, b in itertools.pairwise(bounds)]
    shuffler.close()
    assert got == in_order(expected, 3)
