"""Merging words of ids, many at once, against the merges made one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from bpenb._arrays import offsets_from_lengths
from bpenb.encoding import make_pair_table, make_scratch, merge_words
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.trainer import merge, train

pytestmark = pytest.mark.kernels


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=9),
    st.lists(st.text("abcx", min_size=1, max_size=60), min_size=1, max_size=9),
)
def test_equal_to_merges_by_rank(texts: list[str], words: list[str]) -> None:
    merges, _ = train({text.encode(): 1 for text in texts}, 40)
    pairs = np.array(merges, dtype=np.int32).reshape(-1, 2)
    table = make_pair_table(pairs, np.arange(256, 256 + len(merges), dtype=np.int32))
    ids = np.frombuffer("".join(words).encode(), dtype=np.uint8).astype(np.int32)
    offsets = offsets_from_lengths(np.array([len(word) for word in words]))
    lengths = np.zeros(len(words), dtype=np.int64)
    merge_words(table, make_scratch(60), ids, offsets, lengths)
    for word, start, n in zip(words, offsets.tolist(), lengths.tolist(), strict=False):
        row = list(word.encode())
        for rank, pair in enumerate(merges):
            row = merge(row, pair, 256 + rank)
        assert ids[start : start + n].tolist() == row
