"""Merges that are given: going on from them is the same as never having stopped."""

from __future__ import annotations

import numpy as np
import pytest
from bpenb.counting import WordCounts
from bpenb.errors import TrainingError
from bpenb.progress import Progress, Reporter
from bpenb.training import TIE_MODES, GivenMerges, LearningOptions, at_work, driver, learn
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.training.test_merges import random_counts

pytestmark = pytest.mark.kernels


def assert_goes_on(counts: WordCounts, n_merges: int, stop: int, ties: str = "cs336") -> None:
    whole = learn(counts, LearningOptions(n_merges, ties))
    stop = min(stop, whole.merges.shape[0])
    made = GivenMerges(whole.merges[:stop], whole.merge_counts[:stop])
    rest = learn(counts, LearningOptions(n_merges, ties), given=made)
    assert np.array_equal(rest.merges, whole.merges)
    assert np.array_equal(rest.merge_counts, whole.merge_counts)
    assert rest.n_tokens_left == whole.n_tokens_left


@settings(max_examples=60, deadline=None)
@given(
    words=st.dictionaries(
        st.one_of(
            st.text("abc", min_size=1, max_size=14).map(str.encode),
            st.tuples(st.text("ab", min_size=1, max_size=5).map(str.encode), st.integers(30, 90)).map(
                lambda part: part[0] * part[1]
            ),
        ),
        st.integers(1, 4),
        min_size=1,
        max_size=8,
    ),
    stop=st.integers(0, 40),
    ties=st.sampled_from(sorted(TIE_MODES)),
)
def test_going_on_is_never_having_stopped(words: dict[bytes, int], stop: int, ties: str) -> None:
    assert_goes_on(WordCounts.from_dict(words), 40, stop, ties)


@pytest.mark.parametrize("stop", [0, 1, 50, 149, 150])
def test_going_on_with_more_words(stop: int) -> None:
    assert_goes_on(random_counts(5, 300), 150, stop)


def test_replaying_is_sliced_and_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "SLICE_POSTINGS", 0)
    monkeypatch.setattr(at_work, "allocate_births", lambda n, events: allocate_births(n, 1))
    from bpenb.training.words import allocate_births

    assert_goes_on(random_counts(6, 100), 60, 40)


def test_given_merges_that_the_words_do_not_hold() -> None:
    """A base knows pairs that a new corpus has not; ids are kept all the same."""
    merges = np.array([[120, 121], [97, 98], [256, 256], [257, 99]], dtype=np.int32)
    made = GivenMerges(merges, np.zeros(4, dtype=np.int64))
    result = learn(WordCounts.from_dict({b"abcabd": 2}), LearningOptions(6), given=made)
    assert result.merges.tolist() == [*merges.tolist(), [259, 257], [260, 100]]
    assert result.merge_counts.tolist() == [0, 0, 0, 0, 2, 2]


def test_what_is_given_is_checked() -> None:
    counts = WordCounts.from_dict({b"ab": 1})
    for merges, message in (([[97, 256]], r"merges\[0\]"), ([[97, 98], [97, 98]], "twice")):
        made = GivenMerges(np.array(merges, dtype=np.int32), np.zeros(len(merges), dtype=np.int64))
        with pytest.raises(TrainingError, match=message):
            learn(counts, LearningOptions(9), given=made)
    with pytest.raises(TrainingError, match="2 merges are given already; 1 were asked for"):
        learn(counts, LearningOptions(1), given=GivenMerges(*(np.zeros((2, 2)), np.zeros(2))))  # type: ignore[arg-type]


class _StopError(Exception):
    pass


def test_merges_are_kept_when_learning_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = random_counts(7, 200)
    whole = learn(counts, LearningOptions(100))
    monkeypatch.setattr(at_work, "SLICE_POSTINGS", 0)

    def stop_at_fifty(progress: Progress) -> None:
        if progress.done >= 50 and not progress.finished:
            raise _StopError

    reporter = Reporter(stop_at_fifty)
    reporter.INTERVAL = 0.0
    kept: list[GivenMerges] = []
    with pytest.raises(_StopError):
        learn(counts, LearningOptions(100), reporter, keep=kept.append)
    assert len(kept) == 1 and 50 <= kept[0].merges.shape[0] < 100
    rest = learn(counts, LearningOptions(100), given=kept[0])
    assert np.array_equal(rest.merges, whole.merges)
    assert np.array_equal(rest.merge_counts, whole.merge_counts)


def test_merges_are_kept_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "SLICE_POSTINGS", 0)
    monkeypatch.setattr(driver, "KEEP_SECONDS", 0.0)
    counts = random_counts(8, 60)
    kept: list[GivenMerges] = []
    whole = learn(counts, LearningOptions(40), keep=kept.append)
    sizes = [made.merges.shape[0] for made in kept]
    assert len(sizes) > 10 and sizes == sorted(sizes)
    assert all(np.array_equal(made.merges, whole.merges[: made.merges.shape[0]]) for made in kept)


def test_merges_are_kept_when_the_index_is_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come while rarer pairs are taken in; what is kept then is what was made."""
    counts = random_counts(10, 200)
    whole = learn(counts, LearningOptions(400))
    heapify = at_work.heapify
    calls: list[int] = []

    def break_off(*arguments: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise _StopError
        heapify(*arguments)

    monkeypatch.setattr(at_work, "RARE", 20.0)
    monkeypatch.setattr(at_work, "heapify", break_off)
    kept: list[GivenMerges] = []
    with pytest.raises(_StopError):
        learn(counts, LearningOptions(400), keep=kept.append)
    n = kept[0].merges.shape[0]
    assert 0 < n < whole.merges.shape[0]
    assert np.array_equal(kept[0].merges, whole.merges[:n])
    assert np.array_equal(kept[0].merge_counts, whole.merge_counts[:n])
