"""Replay and verification: right merges pass, wrong ones are named, whatever is wrong about them."""

from __future__ import annotations

import numpy as np
import pytest
from bpenb.counting import WordCounts
from bpenb.errors import VerificationError
from bpenb.progress import Progress, Reporter
from bpenb.training import (
    TIE_MODES,
    GivenMerges,
    LearningOptions,
    byte_order,
    learn,
    replay_merges,
    verify_merges,
)
from bpenb.training import verify as verify_module
from bpenb.training import word_replay as replay_module
from bpenb.training.driver import MergeResult
from bpenb.training.slow_rule import PairTally, replay_word, sample_words
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import trainer
from tests.training.test_merges import random_counts, small_corpora

pytestmark = pytest.mark.kernels

CORPORA = st.one_of(small_corpora(b"ab"), small_corpora(b"abc"), small_corpora(b"a\x00\xff !"))
ANY_TIES = st.sampled_from(sorted(TIE_MODES))
BYTES = np.arange(256, dtype=np.uint8)


def as_merges(rows: list[tuple[int, int]]) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def reordered(merges: np.ndarray, order: list[int]) -> np.ndarray:  # type: ignore[type-arg]
    """Return the merges of these ranks in this order, their ids renumbered."""
    new_id = {i: i for i in range(256)} | {256 + rank: 256 + place for place, rank in enumerate(order)}
    rows = [tuple(merges[rank].tolist()) for rank in order]
    return as_merges([(new_id[left], new_id[right]) for left, right in rows])


def needs(merges: np.ndarray, rank: int) -> set[int]:  # type: ignore[type-arg]
    return {part - 256 for part in merges[rank].tolist() if part >= 256}


# --- the replay -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "merges", "counts", "removed", "left"),
    [
        (b"aaaa", [(97, 97), (256, 256)], [3, 1], [2, 1], [257]),
        (b"aaaaa", [(97, 97), (256, 256), (257, 97)], [4, 1, 1], [2, 1, 1], [258]),
        (b"aaa", [(97, 97), (97, 256)], [2, 0], [1, 0], [256, 97]),
        (b"ababab", [(97, 98), (256, 256), (257, 256)], [3, 2, 1], [3, 1, 1], [258]),
        (b"x", [(97, 98)], [0], [0], [120]),
    ],
)
def test_replay_by_hand(
    word: bytes, merges: list[tuple[int, int]], counts: list[int], removed: list[int], left: list[int]
) -> None:
    replay = replay_merges(WordCounts.from_dict({word: 5}), as_merges(merges), BYTES)
    assert replay.pair_counts.tolist() == [5 * n for n in counts]
    assert replay.tokens_removed.tolist() == [5 * n for n in removed]
    assert replay.words.tokens[: replay.words.row_lengths[0]].tolist() == left
    assert replay_word(list(word), {pair: rank for rank, pair in enumerate(merges)}) == left


@settings(max_examples=80, deadline=None)
@given(word_counts=CORPORA, ties=ANY_TIES)
def test_replay_is_what_the_oracle_does(word_counts: dict[bytes, int], ties: str) -> None:
    """Step by step: counts, and tokens left after every merge."""
    order = byte_order(ties, ())
    merges, counts = trainer.train(word_counts, 40, ties=ties, byte_order=bytes(order))
    replay = replay_merges(WordCounts.from_dict(word_counts), as_merges(merges), order)
    assert replay.pair_counts.tolist() == counts
    rows = {word: [bytes(order).index(b) for b in word] for word in word_counts}
    for rank, pair in enumerate(merges):
        assert replay.tokens_left(rank) == sum(len(rows[w]) * n for w, n in word_counts.items())
        rows = {word: trainer.merge(row, pair, 256 + rank) for word, row in rows.items()}
    words = replay.words
    for w, word in enumerate(sorted(word_counts)):
        start = words.row_offsets[w]
        assert words.tokens[start : start + words.row_lengths[w]].tolist() == rows[word]


@settings(max_examples=60, deadline=None)
@given(word_counts=CORPORA, pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6))
def test_replay_of_any_merges(word_counts: dict[bytes, int], pairs: list[tuple[int, int]]) -> None:
    """Merges that no training would give, too: parts are made before, no pair twice."""
    parts = [97, 98, 99, 32, 0, 255]
    merges: list[tuple[int, int]] = []
    for left, right in pairs:
        pair = (parts[-1 - left], parts[-1 - right])
        if pair not in merges:
            merges.append(pair)
            parts.append(256 + len(merges) - 1)
    replay = replay_merges(WordCounts.from_dict(word_counts), as_merges(merges), BYTES)
    rows = {word: list(word) for word in word_counts}
    for rank, pair in enumerate(merges):
        assert replay.pair_counts[rank] == trainer.count_pairs(rows, word_counts)[pair]
        rows = {word: trainer.merge(row, pair, 256 + rank) for word, row in rows.items()}
    assert replay.tokens_left(len(merges)) == sum(len(rows[w]) * n for w, n in word_counts.items())


def test_replay_in_slices_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = random_counts(5, 200)
    result = learn(counts, LearningOptions(80))
    whole = replay_merges(counts, result.merges, result.byte_order)
    monkeypatch.setattr(replay_module, "SLICE_BYTES", 7)  # less than most words have
    monkeypatch.setattr(Reporter, "INTERVAL", 0)
    seen: list[Progress] = []
    sliced = replay_merges(counts, result.merges, result.byte_order, Reporter(seen.append))
    assert np.array_equal(sliced.pair_counts, whole.pair_counts)
    assert len(seen) > 100 and seen[-1].done == len(counts) and seen[-1].unit == "words"


def test_a_very_long_word_is_replayed_in_near_linear_time() -> None:
    rng = np.random.default_rng(0)
    word = bytes(rng.choice(list(b"ACGT"), size=6_000).tolist())
    counts = WordCounts.from_dict({word: 2})
    result = learn(counts, LearningOptions(300))
    replay = replay_merges(counts, result.merges, result.byte_order)
    assert np.array_equal(replay.pair_counts, result.merge_counts)
    assert replay.tokens_left(300) == result.n_tokens_left


# --- the slow rule ---------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(word_counts=CORPORA)
def test_the_tally_counts_what_the_oracle_counts(word_counts: dict[bytes, int]) -> None:
    merges, _ = trainer.train(word_counts, 20)
    counts = WordCounts.from_dict(word_counts)
    tally = PairTally(counts, np.arange(len(counts)), BYTES, len(merges))
    rows = {word: list(word) for word in word_counts}
    for rank, pair in enumerate(merges):
        expected = {p: n for p, n in trainer.count_pairs(rows, word_counts).items() if n}
        left, right = np.nonzero(tally.pair_counts)
        assert {(a, b): int(tally.pair_counts[a, b]) for a, b in zip(left, right, strict=True)} == expected
        tally.merge(*pair, 256 + rank)
        rows = {word: trainer.merge(row, pair, 256 + rank) for word, row in rows.items()}


def test_the_sample_has_the_most_frequent_words_and_a_seed() -> None:
    counts = random_counts(6, 500)
    frequent = set(np.argsort(-counts.word_counts, kind="stable")[:20].tolist())
    samples = [sample_words(counts, 2000, seed=seed) for seed in (0, 0, 1)]
    lengths = np.diff(counts.word_offsets)
    for sample in samples:
        assert frequent <= set(sample.tolist())
        assert np.all(np.diff(sample) > 0) and lengths[sample].sum() <= 2000
    assert np.array_equal(samples[0], samples[1])
    assert not np.array_equal(samples[0], samples[2])
    assert lengths[sample_words(counts, 2000, 0, longest=5)].max() <= 5
    assert len(sample_words(counts, 10**9, 0)) == len(counts)


def test_a_word_that_would_fill_a_sample_is_left_out() -> None:
    """However long the words are, the slow checks stay bounded."""
    counts = WordCounts.from_dict({"a" * 501: 9, "b" * 500: 1, "cd": 2})
    assert sample_words(counts, 1000, seed=0).tolist() == [1, 2]
    assert sample_words(counts, 1, seed=0).tolist() == []


def test_words_too_long_for_the_sample_are_verified_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_module, "FIRST_BYTES", 1)
    counts, options, result = train_for()
    checks = verify_merges(counts, options, result.merges, result.byte_order, result.merge_counts)
    assert checks[:3] == (len(counts), 0, 0)


# --- verification ---------------------------------------------------------------------------------


def train_for(ties: str = "cs336", n_merges: int = 120) -> tuple[WordCounts, LearningOptions, MergeResult]:
    counts, options = random_counts(7, 300), LearningOptions(n_merges, ties)
    return counts, options, learn(counts, options)


@pytest.mark.parametrize("ties", TIE_MODES)
def test_a_right_training_passes(ties: str) -> None:
    counts, options, result = train_for(ties)
    checks = verify_merges(counts, options, result.merges, result.byte_order, result.merge_counts)
    assert checks[:3] == (len(counts), 120, len(counts))


@settings(max_examples=150, deadline=None)
@given(
    word_counts=CORPORA,
    ties=ANY_TIES,
    min_frequency=st.integers(0, 3),
    max_token_length=st.one_of(st.none(), st.integers(1, 6)),
    n_first=st.sampled_from([0, 3, 500]),
    first_bytes=st.sampled_from([10, 10**6]),
)
def test_what_the_oracle_learns_passes(
    word_counts: dict[bytes, int],
    ties: str,
    min_frequency: int,
    max_token_length: int | None,
    n_first: int,
    first_bytes: int,
) -> None:
    """No false alarm, however little is looked at."""
    order = byte_order(ties, ())
    options = LearningOptions(25, ties, min_frequency, max_token_length)
    merges, merge_counts = trainer.train(
        word_counts, 25, ties=ties, byte_order=bytes(order), min_frequency=min_frequency,
        max_token_length=max_token_length,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify_module, "FIRST_MERGES", n_first)
        patch.setattr(verify_module, "FIRST_BYTES", first_bytes)
        counts = WordCounts.from_dict(word_counts)
        verify_merges(counts, options, as_merges(merges), order, np.array(merge_counts, dtype=np.int64))


@settings(max_examples=150, deadline=None)
@given(word_counts=CORPORA, ties=ANY_TIES, data=st.data())
def test_whatever_the_oracle_does_not_learn_fails(
    word_counts: dict[bytes, int], ties: str, data: st.DataObject
) -> None:
    """One merge replaced by another pair that occurs: the first wrong merge is named."""
    order = byte_order(ties, ())
    right, _ = trainer.train(word_counts, 12, ties=ties, byte_order=bytes(order))
    if not right:
        return
    rank = data.draw(st.integers(0, len(right) - 1))
    rows = {word: [bytes(order).index(b) for b in word] for word in word_counts}
    for i, pair in enumerate(right[:rank]):
        rows = {word: trainer.merge(row, pair, 256 + i) for word, row in rows.items()}
    others = sorted(set(trainer.count_pairs(rows, word_counts)) - {right[rank]})
    if not others:
        return
    wrong = [*right[:rank], data.draw(st.sampled_from(others))]
    with pytest.raises(VerificationError) as caught:
        verify_merges(
            WordCounts.from_dict(word_counts), LearningOptions(len(wrong), ties), as_merges(wrong), order
        )
    assert caught.value.rank == rank


@pytest.mark.parametrize("n_first", [0, 500])
@pytest.mark.parametrize("ties", TIE_MODES)
def test_two_merges_in_the_wrong_order(ties: str, n_first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where only the order of all merges is looked at, by counts and by ties."""
    monkeypatch.setattr(verify_module, "FIRST_MERGES", n_first)
    counts, options, result = train_for(ties)
    equal_counts = 0
    swapped = [r for r in range(119) if r not in needs(result.merges, r + 1)]
    for rank in swapped[::4]:
        order = [*range(rank), rank + 1, rank, *range(rank + 2, 120)]
        wrong = reordered(result.merges, order)
        with pytest.raises(VerificationError, match="is not that of exact BPE") as caught:
            verify_merges(counts, options, wrong, result.byte_order)
        # Without the look at all rivals, pairs that overlap may hide which of two went wrong.
        assert caught.value.rank == rank if n_first else caught.value.rank >= rank  # type: ignore[operator]
        equal_counts += int(result.merge_counts[rank] == result.merge_counts[rank + 1])
    assert equal_counts > 2


def test_a_wrong_count_is_named() -> None:
    counts, options, result = train_for()
    told = result.merge_counts.copy()
    told[[17, 80]] += 1
    with pytest.raises(VerificationError, match=r"rank 17 .* by the trainer\)"):
        verify_merges(counts, options, result.merges, result.byte_order, told)


def test_merges_that_were_given_are_made_and_not_judged() -> None:
    counts, options, _ = train_for()
    base = learn(random_counts(8, 300), LearningOptions(40))
    given = GivenMerges(base.merges, np.zeros(40, dtype=np.int64))
    result = learn(counts, options, given=given)
    told = result.merge_counts
    assert verify_merges(counts, options, result.merges, BYTES, told, n_given=40).n_first_merges == 0
    with pytest.raises(VerificationError):  # not what these words alone give
        verify_merges(counts, options, result.merges, BYTES)
    swapped = next(r for r in range(40, 119) if r not in needs(result.merges, r + 1))
    order = [*range(swapped), swapped + 1, swapped, *range(swapped + 2, 120)]
    with pytest.raises(VerificationError) as caught:
        verify_merges(counts, options, reordered(result.merges, order), BYTES, n_given=40)
    assert caught.value.rank is not None and caught.value.rank >= swapped
    with pytest.raises(VerificationError, match="rank 60 is not"):
        verify_merges(counts, options, result.merges[:60], BYTES, n_given=40)


def test_a_training_that_stopped_too_early() -> None:
    counts, options, result = train_for()
    with pytest.raises(VerificationError, match=r"rank 70 is not .* there is none, though") as caught:
        verify_merges(counts, options, result.merges[:70], result.byte_order)
    assert caught.value.rank == 70
    verify_merges(counts, options._replace(n_merges=70), result.merges[:70], result.byte_order)


def test_a_rival_that_never_merged_is_seen_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_module, "FIRST_MERGES", 0)
    counts = WordCounts.from_dict({"ab": 5, "cd": 3})
    with pytest.raises(VerificationError, match=r"rank 0 \(b'c' \+ b'd'\).* b'a' \+ b'b' 5 times"):
        verify_merges(counts, LearningOptions(1), as_merges([(99, 100)]), BYTES)


def test_limits_that_were_not_kept() -> None:
    counts = WordCounts.from_dict({"abc": 5, "xy": 2})
    result = learn(counts, LearningOptions(9))
    with pytest.raises(VerificationError, match=r"rank 1 .* longer than 2 bytes"):
        verify_merges(counts, LearningOptions(9, max_token_length=2), result.merges, BYTES)
    with pytest.raises(VerificationError, match=r"rank 2 .* least that may merge is 3"):
        verify_merges(counts, LearningOptions(9, min_frequency=3), result.merges, BYTES)


@pytest.mark.parametrize(
    ("rows", "rank", "reason"),
    [
        ([(97, 98), (257, 97)], 1, "made by no merge before"),
        ([(97, 98), (-1, 97)], 1, "made by no merge before"),
        ([(97, 98), (98, 99), (97, 98)], 2, "rank 0 once more"),
    ],
)
def test_rows_that_are_no_merges(rows: list[tuple[int, int]], rank: int, reason: str) -> None:
    with pytest.raises(VerificationError, match=reason) as caught:
        verify_merges(WordCounts.from_dict({"abab": 3}), LearningOptions(3), as_merges(rows), BYTES)
    assert caught.value.rank == rank


def test_a_sample_finds_what_the_frequent_words_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_module, "FIRST_BYTES", 30)
    counts = WordCounts.from_dict({"ab": 500} | {f"{a}{b}": 1 for a in "cdefgh" for b in "ijklmnop"})
    result = learn(counts, LearningOptions(20))
    assert verify_merges(counts, LearningOptions(20), result.merges, BYTES).n_first_words < 16
    order = [1, 0, *range(2, 20)]
    with pytest.raises(VerificationError) as caught:
        verify_merges(counts, LearningOptions(20), reordered(result.merges, order), BYTES)
    assert caught.value.rank == 0


@pytest.mark.parametrize("words", [{}, {"a": 3}])
def test_nothing_to_learn_is_right(words: dict[str, int]) -> None:
    checks = verify_merges(WordCounts.from_dict(words), LearningOptions(5), as_merges([]), BYTES)
    assert checks.n_first_merges == 0
