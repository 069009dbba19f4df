"""The merge loop against its oracle: hand cases, Hypothesis, threads, order of words, growth."""

from __future__ import annotations

import numpy as np
import pytest
from bpenb.counting import WordCounts
from bpenb.training import TIE_MODES, LearningOptions, at_work, driver, learn, rows, words
from bpenb.training.ties import byte_order
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import trainer

pytestmark = pytest.mark.kernels

HAND_CASES = {
    "overlap of four": ({b"aaaa": 1}, ["a a 3", "aa aa 1"]),
    "overlap of five": ({b"aaaaa": 1}, ["a a 4", "aa aa 1", "aaaa a 1"]),
    "alternation": ({b"ababab": 1}, ["a b 3", "ab ab 2", "abab ab 1"]),
    "greater pair of bytes": (
        {b"bc": 1, b" a": 1, b" aaa": 1},
        ["a a 2", "b c 1", "aa a 1", "  aaa 1", "  a 1"],
    ),
    "every position counts": ({b"aaaa": 1, b" bc": 2}, ["a a 3"]),
    "Sennrich": (
        {b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6},
        ["s t 9", "e st 9", "o w 7", "l ow 7", "w est 6", "n e 6", "ne west 6", "w i 3", "wi d 3",
         "wid est 3", "low e 2", "lowe r 2"],
    ),
    "64-bit counts": ({b"aa": 3_000_000_000}, ["a a 3000000000"]),
    "counts past 2**40": ({b"ab": 2**41, b"bc": 2**41 + 1}, ["b c 2199023255553", "a b 2199023255552"]),
    "no pair at all": ({b"a": 7}, []),
}  # fmt: skip


def as_text(result: object, order: bytes = bytes(range(256))) -> list[str]:
    token_bytes = [bytes([b]) for b in order]
    lines = []
    for (left, right), count in zip(result.merges.tolist(), result.merge_counts.tolist(), strict=True):  # type: ignore[attr-defined]
        lines.append(f"{token_bytes[left].decode()} {token_bytes[right].decode()} {count}")
        token_bytes.append(token_bytes[left] + token_bytes[right])
    return lines


@pytest.mark.parametrize("case", HAND_CASES)
def test_hand_cases(case: str) -> None:
    word_counts, expected = HAND_CASES[case]
    n_merges = 1 if case.startswith("every") else 44
    result = learn(WordCounts.from_dict(word_counts), LearningOptions(n_merges))
    assert as_text(result) == expected


def test_ties_are_on_raw_bytes_not_on_the_printable_map() -> None:
    counts = WordCounts.from_dict({b" b": 1, b" ab": 1})
    assert as_text(learn(counts, LearningOptions(n_merges=1))) == ["a b 1"]


def assert_equal_to_oracle(word_counts: dict[bytes, int], **options: object) -> None:
    ties = str(options.get("ties", "cs336"))
    order = bytes(byte_order(ties, ()))
    expected = trainer.train(word_counts, 40, byte_order=order, **options)  # type: ignore[arg-type]
    result = learn(WordCounts.from_dict(word_counts), LearningOptions(n_merges=40, **options))  # type: ignore[arg-type]
    assert [tuple(m) for m in result.merges.tolist()] == expected[0]
    assert result.merge_counts.tolist() == expected[1]


def small_corpora(alphabet: bytes) -> st.SearchStrategy[dict[bytes, int]]:
    word = st.lists(st.sampled_from(list(alphabet)), min_size=1, max_size=14).map(bytes)
    return st.dictionaries(word, st.integers(1, 4), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    word_counts=st.one_of(small_corpora(b"ab"), small_corpora(b"abc"), small_corpora(b"a\x00\xff !")),
    ties=st.sampled_from(sorted(TIE_MODES)),
    min_frequency=st.integers(0, 4),
    max_token_length=st.one_of(st.none(), st.integers(1, 6)),
)
def test_equal_to_the_oracle(
    word_counts: dict[bytes, int], ties: str, min_frequency: int, max_token_length: int | None
) -> None:
    assert_equal_to_oracle(
        word_counts, ties=ties, min_frequency=min_frequency, max_token_length=max_token_length
    )


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    ties=st.sampled_from(sorted(TIE_MODES)),
    alphabet=st.sampled_from([b"a", b"ab", b"abc", b"abcdefgh"]),
)
def test_words_of_several_rows_are_equal_to_the_oracle(
    data: st.DataObject, ties: str, alphabet: bytes
) -> None:
    """Runs, motifs and noise, so that pairs lie across rows, and rows empty, at every place."""
    motifs = st.lists(st.sampled_from(list(alphabet)), min_size=1, max_size=7).map(bytes)
    parts = st.tuples(motifs, st.integers(1, 60)).map(lambda part: part[0] * part[1])
    long = st.lists(parts, min_size=1, max_size=8).map(b"".join)
    words = data.draw(st.dictionaries(st.one_of(long, motifs), st.integers(1, 3), min_size=1, max_size=5))
    n = rows.LONGEST_ROW if len(words) % 2 else rows.SEGMENT
    words[(next(iter(words)) * n)[: n + len(words)]] = 1
    assert_equal_to_oracle(words, ties=ties)


def test_tokens_with_equal_first_eight_bytes_are_compared_to_the_end() -> None:
    words = {b"x" + b"aaaaaaaaa" + bytes([c]) for c in b"bcd"} | {b"\0\0\0\0", b"\0\0\0\0\0\0\0\0\0"}
    assert_equal_to_oracle(dict.fromkeys(sorted(words), 2))


def random_counts(seed: int, n_words: int) -> WordCounts:
    rng = np.random.default_rng(seed)
    made = {bytes(rng.choice(list(b"abcd"), size=rng.integers(2, 30)).tolist()) for _ in range(n_words)}
    return WordCounts.from_dict({w: int(rng.integers(1, 9)) for w in sorted(made)})


def test_threads_give_the_merges_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = random_counts(1, 300)
    serial = learn(counts, LearningOptions(n_merges=120, workers=1))
    monkeypatch.setattr(at_work, "PARALLEL_ROWS", 0)
    monkeypatch.setattr(at_work, "PARALLEL_POSTINGS", 0)  # every stale pair by the parallel form
    for workers in (2, 3, 4):
        parallel = learn(counts, LearningOptions(n_merges=120, workers=workers))
        assert np.array_equal(parallel.merges, serial.merges)
        assert np.array_equal(parallel.merge_counts, serial.merge_counts)


def test_short_slices_give_the_same_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = random_counts(2, 200)
    whole = learn(counts, LearningOptions(n_merges=100))
    monkeypatch.setattr(at_work, "SLICE_POSTINGS", 0)  # back to Python after every entry
    assert np.array_equal(learn(counts, LearningOptions(n_merges=100)).merges, whole.merges)


def test_order_of_words_does_not_matter() -> None:
    counts = random_counts(3, 200)
    rng = np.random.default_rng(3)
    shuffle = rng.permutation(len(counts))
    rows = [
        counts.word_bytes[a:b] for a, b in zip(counts.word_offsets[:-1], counts.word_offsets[1:], strict=True)
    ]
    offsets = np.concatenate([[0], np.cumsum([rows[w].shape[0] for w in shuffle])])
    setup = at_work.LearningSettings(100, 0, 1, at_work.NO_LIMIT, 1)
    shuffled = driver.learn_from_words(
        np.concatenate([rows[w] for w in shuffle]),
        offsets.astype(np.int64),
        counts.word_counts[shuffle],
        byte_order("cs336", ()),
        setup,
        driver.Reporter(None),
    )
    assert np.array_equal(shuffled.merges, learn(counts, LearningOptions(n_merges=100)).merges)


@pytest.mark.parametrize("rare", [0.05, 1.0, 1e6])
def test_a_floor_that_is_too_high_is_lowered(rare: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare pairs are left out at first; the merges are the same, also behind given ones."""
    counts = random_counts(9, 300)
    expected = learn(counts, LearningOptions(n_merges=2_000, ties="huggingface"))
    starts: list[int] = []
    start = at_work.Training.start

    def spy(self: at_work.Training, *arguments: object) -> None:
        start(self, *arguments)  # type: ignore[arg-type]
        starts.append(self.limits.min_count)

    monkeypatch.setattr(at_work, "RARE", rare * 2_000)
    monkeypatch.setattr(at_work.Training, "start", spy)
    result = learn(counts, LearningOptions(n_merges=2_000, ties="huggingface"))
    assert np.array_equal(result.merges, expected.merges)
    assert np.array_equal(result.merge_counts, expected.merge_counts)
    assert len(starts) >= 2 and starts == sorted(starts, reverse=True) and starts[-1] == 1
    half = at_work.GivenMerges(expected.merges[:50], expected.merge_counts[:50])
    again = learn(counts, LearningOptions(n_merges=2_000, ties="huggingface"), given=half)
    assert np.array_equal(again.merges, expected.merges)
    assert np.array_equal(again.merge_counts, expected.merge_counts)


def test_every_array_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny first sizes: pairs, postings, events and token bytes all run out on the way."""
    statuses: set[int] = set()
    run_slice = at_work.Training.run_slice

    def spy(self: at_work.Training) -> int:
        status = run_slice(self)
        statuses.add(status)
        return status

    def tiny_pairs(n_pairs: int, n_postings: int) -> object:
        return words.allocate_pairs(n_pairs - at_work.PAIRS_PER_TOKEN * (256 + 300) + 1, n_postings // 3)

    def tiny_tokens(order: np.ndarray, n_merges: int) -> object:  # type: ignore[type-arg]
        tokens = words.byte_tokens(order, n_merges)
        return tokens._replace(token_bytes=tokens.token_bytes[:260].copy())

    counts = random_counts(4, 400)
    expected = learn(counts, LearningOptions(n_merges=300))
    monkeypatch.setattr(at_work, "allocate_pairs", tiny_pairs)
    monkeypatch.setattr(driver, "byte_tokens", tiny_tokens)
    monkeypatch.setattr(at_work, "allocate_births", lambda n, events: words.allocate_births(n, 1))
    monkeypatch.setattr(at_work.Training, "run_slice", spy)
    result = learn(counts, LearningOptions(n_merges=300))
    assert np.array_equal(result.merges, expected.merges)
    m = driver.merging
    assert statuses >= {m.DONE, m.NEED_PAIRS, m.NEED_POSTINGS, m.NEED_EVENTS, m.NEED_TOKEN_BYTES}
