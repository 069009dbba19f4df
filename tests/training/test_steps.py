"""Several merges per step, against the slow rule; one per step is exact BPE."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from bpenb.counting import WordCounts
from bpenb.errors import TrainingError
from bpenb.progress import Reporter
from bpenb.training import GivenMerges, LearningOptions, at_work, learn
from bpenb.training.driver import learn_rest
from bpenb.training.steps import StepTraining, training_for
from bpenb.training.words import byte_tokens, pack_words
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.steps import train_in_steps
from tests.oracles.trainer import train

pytestmark = pytest.mark.kernels

words = st.dictionaries(
    st.text("abcde", min_size=1, max_size=12).map(str.encode), st.integers(1, 20), min_size=1, max_size=20
)


def in_steps(word_counts: dict[bytes, int], n_merges: int, k: int, **options: object) -> tuple[list, list]:  # type: ignore[type-arg]
    chosen = LearningOptions(n_merges, merges_per_step=k, **options)  # type: ignore[arg-type]
    result = learn(WordCounts.from_dict(word_counts), chosen)
    return [tuple(pair) for pair in result.merges.tolist()], result.merge_counts.tolist()


@settings(max_examples=150, deadline=None)
@given(words, st.integers(2, 9), st.integers(0, 40), st.sampled_from(["cs336", "rustbpe"]), st.integers(0, 4))
def test_equal_to_the_slow_rule(
    word_counts: dict[bytes, int], k: int, n_merges: int, ties: str, min_frequency: int
) -> None:
    expected = train_in_steps(word_counts, n_merges, k, ties=ties, min_frequency=min_frequency)
    assert in_steps(word_counts, n_merges, k, ties=ties, min_frequency=min_frequency) == expected


@settings(max_examples=40, deadline=None)
@given(words, st.integers(0, 40))
def test_one_merge_per_step_is_exact(word_counts: dict[bytes, int], n_merges: int) -> None:
    exact = train(word_counts, n_merges)
    assert train_in_steps(word_counts, n_merges, 1) == exact  # the rule itself
    assert in_steps(word_counts, n_merges, 1) == exact
    ones = pack_words(*_arrays(word_counts), np.arange(256, dtype=np.uint8))
    how = at_work.LearningSettings(n_merges, 0, 1, at_work.NO_LIMIT, 1)
    assert type(training_for(ones, byte_tokens(np.arange(256, dtype=np.uint8), n_merges), how)) is (
        at_work.Training
    )


def _arrays(word_counts: dict[bytes, int]) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
    counts = WordCounts.from_dict(word_counts)
    return counts.word_bytes, counts.word_offsets, counts.word_counts


@settings(max_examples=40, deadline=None)
@given(words, st.integers(0, 30))
def test_the_steps_of_one_pair_give_what_exact_bpe_gives(word_counts: dict[bytes, int], n: int) -> None:
    """The kernels of a step, made to choose one pair, against those of the merge loop."""
    order = np.arange(256, dtype=np.uint8)
    how = at_work.LearningSettings(n, 0, 1, at_work.NO_LIMIT, 1)
    training = StepTraining(pack_words(*_arrays(word_counts), order), byte_tokens(order, n), how)
    learn_rest(training, None, Reporter(None))
    made = training.made()
    assert ([tuple(m) for m in made.merges.tolist()], made.merge_counts.tolist()) == train(word_counts, n)


def test_pairs_that_share_a_token_wait_for_the_next_step() -> None:
    word_counts = {b"ab": 9, b"bc": 8, b"cd": 7, b"ef": 2}
    assert in_steps(word_counts, 2, 2)[0] == [(97, 98), (99, 100)]  # not bc, though it is the second best
    assert in_steps(word_counts, 4, 9) == (
        [(97, 98), (99, 100), (101, 102), (98, 99)], [9, 7, 2, 8]
    )  # fmt: skip


def test_a_pair_that_is_born_in_a_step_waits_too() -> None:
    word_counts = {b"abc": 9, b"xy": 1}
    assert in_steps(word_counts, 3, 3)[0] == [(98, 99), (120, 121), (97, 256)]
    assert in_steps(word_counts, 3, 1)[0] == [(98, 99), (97, 256), (120, 121)]


@pytest.mark.parametrize("name", ["SLICE_POSTINGS", "PAIRS_PER_TOKEN"])
def test_room_that_is_too_small_grows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, name, 0)
    monkeypatch.setattr(at_work, "allocate_births", functools.partial(_few_events, at_work.allocate_births))
    text = b"the quick brown fox jumps over the lazy dog and the other dog thinks again of foxes "
    word_counts = {text[i : i + 9]: 1 + i % 5 for i in range(len(text) - 9)}
    assert in_steps(word_counts, 300, 7) == train_in_steps(word_counts, 300, 7)


def _few_events(allocate, n_tokens, n_events):  # type: ignore[no-untyped-def]
    return allocate(n_tokens, 1)


def test_a_floor_that_is_too_high_is_lowered_before_a_step_that_it_cuts_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(at_work, "RARE", 0.5)
    word_counts = {b"ab": 900, b"cd": 300, b"ef": 20, b"gh": 3, b"abcdefgh": 1, b"hgfedcba": 2}
    for k in (2, 3, 5, 50):
        assert in_steps(word_counts, 20, k) == train_in_steps(word_counts, 20, k)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "PARALLEL_ROWS", 0)
    monkeypatch.setattr(at_work, "PARALLEL_POSTINGS", 2)
    text = b"low lower lowest new newer newest wide wider widest old older oldest " * 3
    word_counts = {text[i : i + 11]: 1 + i % 7 for i in range(len(text) - 11)}
    assert in_steps(word_counts, 120, 6, workers=2) == train_in_steps(word_counts, 120, 6)


def test_steps_go_on_behind_given_merges() -> None:
    word_counts = {b"ab": 9, b"bc": 8, b"cd": 7, b"ef": 2}
    given_merges = GivenMerges(np.array([[97, 98]], dtype=np.int32), np.array([9]))
    chosen = LearningOptions(3, merges_per_step=2)
    result = learn(WordCounts.from_dict(word_counts), chosen, given=given_merges)
    assert result.merges.tolist() == [[97, 98], [98, 99], [101, 102]]


@pytest.mark.parametrize(("k", "error"), [(0, TrainingError), (1.5, TypeError), (True, TypeError)])
def test_what_is_refused(k: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="merges_per_step"):
        in_steps({b"ab": 1}, 1, k)  # type: ignore[arg-type]


def test_a_checkpoint_knows_no_steps() -> None:
    with pytest.raises(TrainingError, match="merges_per_step must be 1"):
        learn(WordCounts.from_dict({b"ab": 1}), LearningOptions(1, merges_per_step=2), keep=lambda made: None)
