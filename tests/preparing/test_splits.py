"""Which documents are held out: decided by their ids and the seed, and by nothing else."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bpenb import Tokenizer
from bpenb.dataset import open_dataset
from bpenb.preparing import EncodeSettings, OutputSettings, encode_to_files
from bpenb.preparing.documents import TokenBlock
from bpenb.preparing.splits import HASHED_IDS, TwoSplits
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import dataset as oracle
from tests.preparing.making import (
    MASK,
    Input,
    mix,
    rules_of,
    sample_rows,
    sample_text,
    small_buffers,
    tokenizer,
    write_inputs,
)

Documents = list[tuple[int, ...]]


def goes_to_val(document: Sequence[int], fraction: float, seed: int, hashed: int = HASHED_IDS) -> bool:
    """The rule by plain numbers: a hash of the first ids, held against the fraction."""
    h, first = mix(seed), document[:hashed]
    for token in first:
        h = (h ^ token + 1) * 0x9E3779B97F4A7C15 & MASK
        h ^= h >> 32
    h = (h ^ len(first)) * 0xD6E8FEB86659FD93 & MASK
    return (h ^ h >> 32) < int(fraction * 2**64)


def split_documents(folder: Path, split: str) -> Documents:
    return [tuple(document.tolist()) for document in open_dataset(folder, split=split).documents()]


def written(made: Tokenizer, paths: list[Path], out: Path, workers: int = 2, form: str = "npy",
            **options: object) -> tuple[Documents, Documents]:  # fmt: skip
    encode_to_files(made, paths, out, EncodeSettings(**options), OutputSettings(form), workers=workers)
    return split_documents(out, "train"), split_documents(out, "val")


GIVEN: list[Input] = [sample_rows(60, 1), sample_text(300, 2), ["", "low", "low"], sample_rows(40, 3)]


@pytest.mark.parametrize("form", ["npy", "megatron"])
@pytest.mark.parametrize("workers, buffer_bytes", [(1, 16), (2, 64), (3, 5000)])
def test_against_the_rule(tmp_path: Path, form: str, workers: int, buffer_bytes: int) -> None:
    """Both splits together are all documents, in their order."""
    made = tokenizer()
    documents = [tuple(d) for d in oracle.dataset(GIVEN, rules_of(made, append=True))]
    with small_buffers(buffer_bytes):
        train, val = written(made, write_inputs(tmp_path / "in", GIVEN), tmp_path / "out", workers, form,
                             append_eot=True, val_fraction=0.3, seed=7)  # fmt: skip
    assert val == [document for document in documents if goes_to_val(document, 0.3, 7)]
    assert train == [document for document in documents if not goes_to_val(document, 0.3, 7)]
    assert train
    assert val


def test_the_order_of_inputs_and_a_shuffle_do_not_matter(tmp_path: Path) -> None:
    made, paths = tokenizer(), write_inputs(tmp_path / "in", GIVEN)
    found = []
    with small_buffers():
        for number, (order, shuffle) in enumerate([([0, 1, 2, 3], False), ([3, 1, 0, 2], False),
                                                   ([0, 1, 2, 3], True), ([2, 3, 1, 0], True)]):  # fmt: skip
            train, val = written(made, [paths[k] for k in order], tmp_path / f"out{number}", val_fraction=0.4,
                                 seed=3, shuffle=shuffle)  # fmt: skip
            found.append((Counter(train), Counter(val)))
    assert found[1:] == found[:1] * 3
    other = written(made, paths, tmp_path / "other", val_fraction=0.4, seed=4)
    assert Counter(other[1]) != found[0][1]


def test_the_share_is_about_right(tmp_path: Path) -> None:
    """20,000 documents that differ: within four standard deviations; a larger share holds the smaller one."""
    made = tokenizer()
    paths = write_inputs(tmp_path / "in", [[f"low {n}" for n in range(20_000)]])
    known: set[tuple[int, ...]] = set()
    for fraction in (0.001, 0.05, 0.5):
        train, val = written(made, paths, tmp_path / f"out{fraction}", val_fraction=fraction, seed=1)
        assert len(train) + len(val) == 20_000
        assert abs(len(val) - 20_000 * fraction) <= 4 * (20_000 * fraction * (1 - fraction)) ** 0.5
        assert known < set(val)
        known = set(val)


def test_long_documents_go_where_they_began(tmp_path: Path) -> None:
    """Around the number of ids that are hashed; in pieces of a few words, in one, and as rows."""
    made, chance = tokenizer(), random.Random(5)
    lengths = [HASHED_IDS - 1, HASHED_IDS, HASHED_IDS + 1, 3 * HASHED_IDS, 1, 2 * HASHED_IDS, 5]
    documents = ["".join(chance.choices([" low", " the", "1"], k=n)) for n in lengths * 3]
    given_inputs: list[Input] = ["<|endoftext|>".join(documents), documents]
    expected = [tuple(d) for d in oracle.dataset(given_inputs, rules_of(made))]
    assert sum(len(d) > HASHED_IDS for d in expected) > 20
    paths = write_inputs(tmp_path / "in", given_inputs)
    for number, buffer_bytes in enumerate((700, 1 << 20)):
        with small_buffers(buffer_bytes):
            train, val = written(made, paths, tmp_path / f"out{number}", val_fraction=0.5)
        assert val == [d for d in expected if goes_to_val(d, 0.5, 0)]
        assert train == [d for d in expected if not goes_to_val(d, 0.5, 0)]
        assert any(len(d) > HASHED_IDS for d in val)
        assert any(len(d) > HASHED_IDS for d in train)


class _Kept:
    """A split in memory."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.ends: list[int] = []

    def write(self, ids: np.ndarray, document_ends: np.ndarray, *, checked: bool) -> None:
        self.ends += [len(self.ids) + end for end in document_ends.tolist()]
        self.ids += ids.tolist()

    def documents(self) -> list[list[int]]:
        bounds = [0, *self.ends] + ([len(self.ids)] if self.ids[(self.ends or [0])[-1] :] else [])
        return [self.ids[a:b] for a, b in itertools.pairwise(bounds)]


@pytest.mark.kernels
@settings(max_examples=200)
@given(
    st.lists(st.lists(st.integers(0, 300), max_size=12), max_size=12),
    st.lists(st.integers(0, 150), max_size=12),
    st.integers(0, 2**64 - 1),
    st.booleans(),
    st.sampled_from([2, 5, 4096]),
)
def test_any_blocks(documents: list[list[int]], cuts: list[int], seed: int, is_open: bool,
                    hashed: int) -> None:  # fmt: skip
    """Cut anywhere, gone on from a state after each block; the last document may have no end."""
    ids, starts = oracle.flat(documents)
    ends = starts[1:-1] if is_open and documents else starts[1:]
    expected = documents[: len(ends)] + [document for document in documents[len(ends) :] if document]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bpenb.preparing.splits.HASHED_IDS", hashed)
        train, val = _Kept(), _Kept()
        router = TwoSplits(train, val, 0.5, seed)
        bounds = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
        n_done = 0
        for first, last in itertools.pairwise(bounds):
            here = [end - first for end in ends[n_done:] if end <= last]
            n_done += len(here)
            router.write(
                TokenBlock(np.array(ids[first:last], dtype=np.uint16), np.array(here, dtype=np.int64))
            )
            state = router.state
            router = TwoSplits(train, val, 0.5, seed)
            router.state = state
        router.finish()
        for split, wanted in ((train, False), (val, True)):
            assert split.documents() == [d for d in expected if goes_to_val(d, 0.5, seed, hashed) == wanted]
