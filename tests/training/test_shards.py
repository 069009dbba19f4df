"""Training over shards of the words: equal to the oracle and to `learn`, for any number of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bpenb._jit import JIT_DISABLED
from bpenb.counting import WordCounts, Words
from bpenb.progress import Progress, Reporter
from bpenb.training import TIE_MODES, LearningOptions, MergeResult, at_work, coordinator, learn
from bpenb.training.at_work import NO_LIMIT, LearningSettings
from bpenb.training.coordinator import learn_from_shards
from bpenb.training.local_shards import LocalShards
from bpenb.training.pair_lookup import PairLookup
from bpenb.training.rounds import ShardLostError
from bpenb.training.ties import byte_order, tie_rule
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import trainer

pytestmark = pytest.mark.kernels

N_MERGES = 40
LESS = 6 if JIT_DISABLED else 1  # plain Python is a hundred times slower: fewer words and merges


def deal(word_counts: dict[bytes, int], n_shards: int, seed: int) -> list[WordCounts]:
    """Deal words out; some go to two shards, which share their count."""
    choose = random.Random(seed)
    hands: list[dict[bytes, int]] = [{} for _ in range(n_shards)]
    for word, count in word_counts.items():
        first, second = choose.randrange(n_shards), choose.randrange(n_shards)
        share = choose.randrange(1, count + 1)
        for shard, some in ((first, share), (second, count - share)):
            if some:
                hands[shard][word] = hands[shard].get(word, 0) + some
    return [WordCounts.from_dict(hand) for hand in hands]


def learned(
    shards: LocalShards,
    ties: str = "cs336",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    n_merges: int = N_MERGES,
    reporter: Reporter | None = None,
) -> MergeResult:
    longest = NO_LIMIT if max_token_length is None else max_token_length
    asked = LearningSettings(n_merges, tie_rule(ties), max(1, min_frequency), longest, 1)
    return learn_from_shards(shards, byte_order(ties, ()), asked, reporter or Reporter(None))


def words_of(counts: WordCounts) -> Words:
    return counts.word_bytes, counts.word_offsets, counts.word_counts


def shards_of(hands: list[WordCounts], ties: str = "cs336", n_merges: int = N_MERGES) -> LocalShards:
    return LocalShards([words_of(hand) for hand in hands], byte_order(ties, ()), n_merges)


def assert_same(result: MergeResult, expected: MergeResult) -> None:
    assert result.merges.tolist() == expected.merges.tolist()
    assert result.merge_counts.tolist() == expected.merge_counts.tolist()
    assert result.n_tokens_left == expected.n_tokens_left


def small_corpora(alphabet: bytes) -> st.SearchStrategy[dict[bytes, int]]:
    word = st.lists(st.sampled_from(list(alphabet)), min_size=1, max_size=14).map(bytes)
    return st.dictionaries(word, st.integers(1, 4), min_size=1, max_size=12)


any_corpus = st.one_of(small_corpora(b"ab"), small_corpora(b"abc"), small_corpora(b"a\x00\xff !"))
any_options = st.fixed_dictionaries(
    {
        "ties": st.sampled_from(sorted(TIE_MODES)),
        "min_frequency": st.integers(0, 4),
        "max_token_length": st.one_of(st.none(), st.integers(1, 6)),
    }
)


@settings(max_examples=150, deadline=None)
@given(word_counts=any_corpus, options=any_options, n_shards=st.integers(1, 4), seed=st.integers(0, 99))
def test_equal_to_the_oracle(
    word_counts: dict[bytes, int], options: dict[str, Any], n_shards: int, seed: int
) -> None:
    ties = options["ties"]
    expected = trainer.train(word_counts, N_MERGES, byte_order=bytes(byte_order(ties, ())), **options)
    result = learned(shards_of(deal(word_counts, n_shards, seed), ties), **options)
    assert [tuple(m) for m in result.merges.tolist()] == expected[0]
    assert result.merge_counts.tolist() == expected[1]


def random_words(n_words: int, seed: int, alphabet: bytes = b"abcde") -> dict[bytes, int]:
    """Words with rows of several segments among them, and many counts that are equal."""
    choose = random.Random(seed)
    lengths = [choose.choice([1, 2, 3, 5, 8, 13, 70, 140]) for _ in range(n_words)]
    return {bytes(choose.choices(alphabet, k=n)): choose.choice([1, 1, 2, 3, 50]) for n in lengths}


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
@pytest.mark.parametrize("ties", sorted(TIE_MODES))
def test_equal_to_one_machine(ties: str, n_shards: int) -> None:
    n_merges = 400 // LESS
    words = random_words(300 // LESS, n_shards)
    expected = learn(WordCounts.from_dict(words), LearningOptions(n_merges, ties))
    result = learned(shards_of(deal(words, n_shards, 1), ties, n_merges), ties, n_merges=n_merges)
    assert_same(result, expected)
    assert len(result.merges) == n_merges


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_size_of_a_round_changes_nothing(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n_merges = 300 // LESS
    words = random_words(200 // LESS, 3)
    expected = learn(WordCounts.from_dict(words), LearningOptions(n_merges))
    monkeypatch.setattr(coordinator, "MOST_MERGES", most)
    monkeypatch.setattr(coordinator, "MOST_RECOUNTS", most)
    assert_same(learned(shards_of(deal(words, 2, 1), n_merges=n_merges), n_merges=n_merges), expected)


def test_several_merges_go_out_in_a_round() -> None:
    words = random_words(300, 5, bytes(range(97, 123)))
    result = learned(shards_of(deal(words, 2, 1), n_merges=500), n_merges=500)
    assert result.counters["merges"] == 500
    assert result.counters["rounds"] < 350
    assert result.counters["shards"] == 2
    assert result.counters["bytes_from_shards"] > 8 * 500


def test_a_floor_that_was_too_high_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    words = random_words(200, 4)
    expected = learn(WordCounts.from_dict(words), LearningOptions(600))
    monkeypatch.setattr(at_work, "RARE", 20.0)
    shards = shards_of(deal(words, 2, 1), n_merges=600)
    calls = note_calls(shards)
    assert_same(learned(shards, n_merges=600), expected)
    assert calls.count("first_pairs") > 2  # once for each shard at the start, and again


@pytest.mark.parametrize(
    "words",
    [
        # Each second merge would be certain, were it not for what the first one brings forth:
        {b"aaaa": 100, b"cd": 90},  # (aa, aa), from where (a, a) stood itself: 100
        {b"aa": 100, b"caa": 5, b"cab": 5, b"ab": 50},  # (c, ab), as often as (c, aa), and greater
        {b"za": 50, b"zax": 5, b"md": 5},  # (za, x), as often as (m, d), and greater
    ],
)
def test_a_merge_waits_for_pairs_that_may_be_born(words: dict[bytes, int]) -> None:
    expected = learn(WordCounts.from_dict(words), LearningOptions(N_MERGES))
    assert_same(learned(shards_of([WordCounts.from_dict(words)])), expected)


@pytest.mark.parametrize("words", [{}, {b"a": 3}, {b"aaaa": 1}, {b"aa": 2**61}])
def test_few_words(words: dict[bytes, int]) -> None:
    expected = learn(WordCounts.from_dict(words), LearningOptions(N_MERGES))
    assert_same(learned(shards_of([WordCounts.from_dict(words), WordCounts.from_dict({})])), expected)


def test_progress_is_told_round_by_round() -> None:
    reports: list[Progress] = []
    reporter = Reporter(reports.append)
    reporter.INTERVAL = 0.0
    learned(shards_of(deal(random_words(200, 3), 2, 1)), reporter=reporter)
    done = [report.done for report in reports]
    assert done == sorted(done) and done[0] == 0 and done[-1] == N_MERGES
    assert len(done) > 3
    assert {report.phase for report in reports} == {"merge"}


# --- shards that are lost -------------------------------------------------------------------------


def note_calls(shards: LocalShards, before: Callable[[int, int, str], None] | None = None) -> list[str]:
    """Note the methods that are called, and do something before each call: (call number, shard, method)."""
    calls: list[str] = []
    ask = shards.ask

    def noted(shard: int, method: str, *args: Any) -> Callable[[], Any]:
        calls.append(method)
        if before is not None:
            before(len(calls), shard, method)
        return ask(shard, method, *args)

    shards.ask = noted  # type: ignore[method-assign]
    return calls


@settings(max_examples=60, deadline=None)
@given(
    word_counts=any_corpus,
    options=any_options,
    lost=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    rare=st.sampled_from([0.005, 5.0]),
)
def test_a_lost_shard_is_built_again(
    word_counts: dict[bytes, int], options: dict[str, Any], lost: list[int], rare: float
) -> None:
    expected = learn(WordCounts.from_dict(word_counts), LearningOptions(N_MERGES, **options))
    shards = shards_of(deal(word_counts, 3, 1), options["ties"])
    note_calls(shards, lambda number, shard, method: shards.lose(shard) if number in lost else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(at_work, "RARE", rare)
        assert_same(learned(shards, **options), expected)


@pytest.mark.parametrize("rare", [0.005, 20.0])
def test_a_shard_that_others_build_again_is_noticed(rare: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine may start a worker again on its own: its shard knows no merges then, and nobody says so."""
    monkeypatch.setattr(at_work, "RARE", rare)
    words = random_words(60 // LESS, 6)
    hands = deal(words, 2, 1)
    expected = learn(WordCounts.from_dict(words), LearningOptions(N_MERGES))
    calls = note_calls(shards := shards_of(hands))
    learned(shards)
    assert calls.count("first_pairs") >= 2 and calls[-1] == "n_tokens"

    def built_again(at: int) -> LocalShards:
        shards = shards_of(hands)
        note_calls(shards, lambda number, shard, _: shards.open(shard) if number == at else None)
        return shards

    for at in range(1, len(calls) + 1, LESS):
        assert_same(learned(built_again(at)), expected)


def test_shards_that_are_lost_after_a_round_was_done() -> None:
    """The answer is lost with the shard: it has to do the round again, from where it stood before it."""
    n_merges = 300 // LESS
    words = random_words(200 // LESS, 6)
    expected = learn(WordCounts.from_dict(words), LearningOptions(n_merges))
    shards = shards_of(deal(words, 2, 1), n_merges=n_merges)
    ask, n_calls = shards.ask, 0

    def lossy(shard: int, method: str, *args: Any) -> Callable[[], Any]:
        nonlocal n_calls
        n_calls += 1
        answer = ask(shard, method, *args)
        if n_calls % 11:
            return answer
        shards.lose(shard)

        def wait() -> Any:
            raise ShardLostError("gone")

        return wait

    shards.ask = lossy  # type: ignore[method-assign]
    assert_same(learned(shards, n_merges=n_merges), expected)
    assert n_calls > 50 // LESS


def test_a_shard_that_cannot_be_built_again() -> None:
    shards = shards_of(deal(random_words(50, 6), 2, 1))
    note_calls(
        shards, lambda number, shard, method: shards.lose(shard) if number > 9 and shard == 1 else None
    )
    with pytest.raises(ShardLostError, match="shard 1 was lost 4 times"):
        learned(shards)


# --- the books ------------------------------------------------------------------------------------


def test_pairs_are_found_where_they_were_added() -> None:
    choose = np.random.default_rng(1)
    keys = np.unique(choose.integers(0, 1 << 40, 5000))
    choose.shuffle(keys)
    lookup = PairLookup()
    for some in np.split(keys, [3, 3, 1000, 4000]):
        lookup.add(some)
    assert len(lookup) == keys.shape[0]
    assert lookup.find(keys).tolist() == list(range(keys.shape[0]))
    assert lookup.find(keys + (1 << 41)).tolist() == [-1] * keys.shape[0]
    assert lookup.n_array_bytes() >= 12 * keys.shape[0]
