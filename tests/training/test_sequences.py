"""`learn_merges` and `apply_merges`: BPE on whole numbers against a slow trainer, and what they refuse."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from bpenb._jit import JIT_DISABLED
from bpenb.errors import TrainingError
from bpenb.training import apply_merges, learn_merges
from bpenb.training.rows import LONGEST_ROW, SEGMENT
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.trainer import merge

pytestmark = pytest.mark.kernels


def slow_merges(
    sequences: list[list[int]], counts: list[int], n_merges: int, n_base: int, ties: str
) -> tuple[list[list[int]], list[int], list[list[int]]]:
    """Count every pair, merge the best, start over; tuples of base tokens are compared as such."""
    rows, made, made_counts = [list(row) for row in sequences], [], []
    meaning = {i: (i,) for i in range(n_base)}
    while len(made) < n_merges:
        pairs: Counter[tuple[int, int]] = Counter()
        for row, count in zip(rows, counts, strict=True):
            for pair in itertools.pairwise(row):
                pairs[pair] += count
        if not pairs:
            break
        if ties == "cs336":
            best = max(pairs, key=lambda p: (pairs[p], meaning[p[0]], meaning[p[1]]))
        else:
            best = max(pairs, key=lambda p: (pairs[p], -p[0], -p[1]))
        new = n_base + len(made)
        meaning[new] = meaning[best[0]] + meaning[best[1]]
        rows = [merge(row, best, new) for row in rows]
        made.append(list(best))
        made_counts.append(pairs[best])
    return made, made_counts, rows


def flat(sequences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    tokens = np.array([t for row in sequences for t in row], dtype=np.int32)
    return tokens, np.cumsum([0, *map(len, sequences)], dtype=np.int64)


def check(sequences: list[list[int]], counts: list[int], n_base: int, ties: str, n_merges: int = 30) -> None:
    tokens, offsets = flat(sequences)
    expected, expected_counts, rows = slow_merges(sequences, counts, n_merges, n_base, ties)
    merges, merge_counts = learn_merges(tokens, offsets, np.array(counts), n_merges, n_base, ties, 1)
    assert merges.tolist() == expected and merge_counts.tolist() == expected_counts
    assert (merges.dtype, merge_counts.dtype) == (np.int32, np.int64)
    ids, bounds = apply_merges(tokens, offsets, merges, n_base)
    assert [ids[a:b].tolist() for a, b in itertools.pairwise(bounds.tolist())] == rows
    assert (ids.dtype, bounds.dtype) == (np.int32, np.int64)


@settings(max_examples=80, deadline=None)
@given(
    base=st.sampled_from([[0, 1], [0, 1, 2], [5, 299, 300], [7, 2**16, 2**20 - 1]]),
    ties=st.sampled_from(["cs336", "huggingface", "rustbpe"]),
    data=st.data(),
)
def test_equal_to_the_slow_trainer(base: list[int], ties: str, data: st.DataObject) -> None:
    row = st.lists(st.sampled_from(base), max_size=20)
    sequences = data.draw(st.lists(row, min_size=1, max_size=8))
    counts = data.draw(st.lists(st.integers(1, 5), min_size=len(sequences), max_size=len(sequences)))
    check(sequences, counts, max(base) + 1, ties)


@settings(max_examples=30, deadline=None)
@given(motif=st.lists(st.integers(0, 3), min_size=1, max_size=9), ties=st.sampled_from(["cs336", "rustbpe"]),
       n=st.sampled_from([SEGMENT, LONGEST_ROW, LONGEST_ROW + 1, 3 * SEGMENT, 400]),
       noise=st.lists(st.integers(0, 3), max_size=5))  # fmt: skip
def test_long_sequences(motif: list[int], ties: str, n: int, noise: list[int]) -> None:
    long = (motif * n)[:n]
    check([long, noise, [*noise, *long, *noise], [*long[::-1], *long]], [1, 2, 1, 3], 4, ties, 60)


def test_nothing_to_merge() -> None:
    merges, merge_counts = learn_merges([], [0], None, 5, 10)
    assert merges.shape == (0, 2) and merge_counts.shape == (0,)
    merges, _ = learn_merges([3, 4], [0, 1, 1, 2], None, 5, 10)
    assert merges.shape == (0, 2)
    ids, bounds = apply_merges([3, 4], [0, 1, 1, 2], merges, 10)
    assert ids.tolist() == [3, 4] and bounds.tolist() == [0, 1, 1, 2]


def test_counts_past_2_to_the_40() -> None:
    merges, merge_counts = learn_merges([1, 2, 2, 3], [0, 2, 4], [2**41, 2**41 + 1], 1, 4)
    assert merges.tolist() == [[2, 3]] and merge_counts.tolist() == [2**41 + 1]


def test_tuples_are_compared_as_numbers_not_as_text() -> None:
    """(2, 10) is less than (10, 2), and 256 is more than 255, whatever their bytes."""
    assert learn_merges([2, 10, 10, 2], [0, 2, 4], None, 1, 11)[0].tolist() == [[10, 2]]
    assert learn_merges([255, 0, 256, 0], [0, 2, 4], None, 1, 300)[0].tolist() == [[256, 0]]


def test_the_base_is_taken_from_what_is_there() -> None:
    merges, _ = learn_merges([0, 1, 0, 1, 2], [0, 5], None, 3, 3)
    with_base, without = (apply_merges([0, 1, 0, 1, 2], [0, 5], merges, *base) for base in ([3], []))
    assert with_base[0].tolist() == without[0].tolist() == [5]


@pytest.mark.skipif(JIT_DISABLED, reason="takes minutes without JIT; shorter ones are above")
@pytest.mark.parametrize("workers", [1, 3])
def test_a_million_numbers_are_near_linear(workers: int) -> None:
    """Merges halve what is left of a repeated motif; if each cost the whole sequence, it took hours."""
    motif = [3, 1, 4, 1, 5, 9, 2, 6]
    tokens = np.array(motif * 131_072, dtype=np.int32)
    merges, merge_counts = learn_merges(tokens, [0, tokens.shape[0]], None, 1_000, 10, workers=workers)
    ids, _ = apply_merges(tokens, [0, tokens.shape[0]], merges, 10)
    assert ids.shape == (1,) and merges.shape[0] == 7 + 17
    assert merge_counts[:7].tolist() == [131_072] * 7


BAD = {
    "float tokens": (([1.5], [0, 1], None, 1, 4), TypeError, "tokens must hold whole numbers, not float64"),
    "two dimensions": (([[1]], [0, 1], None, 1, 4), TrainingError, r"tokens must have 1 dimensions"),
    "too large": (([1, 4], [0, 2], None, 1, 4), TrainingError, r"tokens\[1\] is 4; .* from 0 to 3"),
    "negative": (([-1], [0, 1], None, 1, 4), TrainingError, r"tokens\[0\] is -1"),
    "past int64": ((np.array([2**63], dtype=np.uint64), [0, 1], None, 1, 4), TrainingError, "2\\*\\*63 - 1"),
    "offsets too short": (([1, 2], [0, 1], None, 1, 4), TrainingError, "from 0 to 2, the number of tokens"),
    "no offsets": (([1, 2], [], None, 1, 4), TrainingError, "from 0 to 2"),
    "falling offsets": (([1, 2], [0, 2, 1, 2], None, 1, 4), TrainingError, "2 is followed by 1"),
    "counts too few": (([1, 2], [0, 1, 2], [1], 1, 4), TrainingError, "2 sequences need 2 counts, not 1"),
    "count of zero": (([1, 2], [0, 2], [0], 1, 4), TrainingError, "at least 1, not 0"),
    "counts overflow": (([1, 2], [0, 2], [2**62], 1, 4), TrainingError, "2\\*\\*63 - 1"),
    "no base": (([], [0], None, 1, 0), TrainingError, "n_base_tokens is 0"),
    "negative merges": (([], [0], None, -1, 4), TrainingError, "n_merges is -1"),
    "too many ids": (([], [0], None, 2**31, 4), TrainingError, "int32"),
    "unknown ties": (([], [0], None, 1, 4, "gpt"), TrainingError, "unknown ties 'gpt'"),
    "no workers": (([], [0], None, 1, 4, "cs336", 0), TrainingError, "workers must be at least 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_learning_refuses(case: str) -> None:
    arguments, error, message = BAD[case]
    with pytest.raises(error, match=message):
        learn_merges(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ([[1, 4]], r"merges\[0\] is \[1, 4\]; before it there are the ids 0 to 3"),
        ([[0, 1], [0, 5]], r"merges\[1\] is \[0, 5\]"),
        ([[0, 1], [-1, 0]], r"merges\[1\]"),
        ([[0, 1], [0, 1]], "holds a pair twice"),
        ([[0, 1, 2]], "two columns"),
    ],
)
def test_applying_refuses(merges: list[list[int]], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        apply_merges([0, 1], [0, 2], merges, 4)
