"""Merging word counts and files of them: exact sums, and no text twice or left out."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.counting import Shard, WordCounts, describe_missing, drop_rare_words, merge_counts, read_share
from bpenb.errors import BpenbError, CountsError
from bpenb.patterns import resolve_pattern
from hypothesis import given
from hypothesis import strategies as st

some_words = st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 2**20), max_size=20)


def counts_of(mapping: dict[Any, int], *shards: Shard, **changes: Any) -> WordCounts:
    return replace(WordCounts.from_dict(mapping), shards=shards, **changes)


def shard(number: int, n: int = 3, corpus: str = "c0ffee00aa", weight: int = 1) -> Shard:
    return Shard(corpus, 1000, n, number, weight)


# --- arrays in any order --------------------------------------------------------------------------


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=20), st.integers(1, 2**31)), max_size=30))
def test_arrays_in_any_order_with_duplicates(items: list[tuple[bytes, int]]) -> None:
    expected: Counter[bytes] = Counter()
    for word, count in items:
        expected[word] += count
    words = np.frombuffer(b"".join(word for word, _ in items), dtype=np.uint8)
    offsets = np.cumsum([0, *(len(word) for word, _ in items)], dtype=np.uint32)
    numbers = np.array([count for _, count in items], dtype=np.int64)
    counts = WordCounts.from_arrays(words, offsets, numbers, pattern="cl100k", special_tokens=("<s>",))
    assert list(counts.to_dict().items()) == sorted(expected.items())
    assert (counts.pattern.name, counts.special_tokens) == ("cl100k", ("<s>",))
    assert counts.equals(WordCounts.from_dict(expected, pattern="cl100k", special_tokens=("<s>",)))


@pytest.mark.parametrize(
    ("offsets", "numbers", "says"),
    [
        ([0, 2, 2], [1, 1], "ascend"),
        ([0, 2, 1], [1, 1], "from 0 to 2"),
        ([0, 1, 2], [1, 0], "at least 1, not 0"),
        ([0, 1, 2], [1, -5], "at least 1, not -5"),
        ([0, 1, 2], [1.0, 2.0], "word_counts must be .* integers"),
        ([0, 1, 2], [1, 2**63], "word_counts holds 9223372036854775808"),
        ([0, 1, 2], [1], "1 counts need 2 offsets"),
        ([0, 1, 2], [2**62, 2**62], "the count of word b'a' passes"),
    ],
)
def test_arrays_that_are_no_counts(offsets: list[int], numbers: list[Any], says: str) -> None:
    dtype = np.uint64 if max(numbers) >= 2**63 else None
    with pytest.raises(CountsError, match=says):
        WordCounts.from_arrays(
            np.frombuffer(b"aa", dtype=np.uint8), np.array(offsets), np.array(numbers, dtype=dtype)
        )
    with pytest.raises(CountsError, match="word_counts must be"):
        WordCounts.from_arrays(np.frombuffer(b"a", dtype=np.uint8), np.array([0, 1]), [1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("word_counts", [3, -1], "at least 1, not -1"),
        ("word_counts", [2**62, 2**62], "the most is 2\\*\\*63"),
        ("word_offsets", [0, 1, 3], "from 0 to 2"),
        ("word_offsets", [0, 0, 2], "ascend"),
        ("word_offsets", [0, 3, 2], "ascend"),
        ("word_bytes", [98, 97], "words must ascend"),
    ],
)
def test_files_with_wrong_arrays_are_refused(name: str, values: list[int], says: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    WordCounts.from_dict({"a": 1, "b": 2}).save(path)
    with np.load(path) as stored:
        content = dict(stored)
    content[name] = np.array(values, dtype=content[name].dtype)
    with path.open("wb") as file:
        np.savez(file, **content)
    with pytest.raises(CountsError, match=rf"counts\.npz: damaged word counts: .*{says}"):
        WordCounts.load(path)


# --- sums -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(some_words, st.integers(1, 1000)), min_size=1, max_size=4))
def test_weighted_sums(parts: list[tuple[dict[bytes, int], int]]) -> None:
    expected: Counter[bytes] = Counter()
    for mapping, weight in parts:
        for word, count in mapping.items():
            expected[word] += count * weight
    merged = merge_counts(
        [counts_of(mapping) for mapping, _ in parts], weights=[weight for _, weight in parts]
    )
    assert list(merged.to_dict().items()) == sorted(expected.items())


def test_files_and_counts_together(tmp_path: Path) -> None:
    counts_of({"a": 1}, pattern=resolve_pattern("llama3")).save(tmp_path / "a.npz")
    merged = merge_counts(
        [tmp_path / "a.npz", counts_of({"a": 2, "b": 1}, pattern=resolve_pattern("cl100k"))], weights=[5, 1]
    )
    assert merged.to_dict() == {b"a": 7, b"b": 1}
    assert merged.pattern.name == "llama3"


@pytest.mark.parametrize("weight", [2**40, 2**62])
def test_weights_that_no_int64_holds(weight: int) -> None:
    with pytest.raises(CountsError, match=r"passes 2\*\*63 - 1"):
        merge_counts([counts_of({"a": 2**30})], weights=[weight])


@pytest.mark.parametrize(
    ("parts", "weights", "error", "says"),
    [
        ([], None, CountsError, "no word counts"),
        ("a.npz", None, TypeError, "list of word counts"),
        ([3], None, TypeError, "not int"),
        ([counts_of({"a": 1})], [0], BpenbError, "weight is 0"),
        ([counts_of({"a": 1})], [True], TypeError, "weight must be an int"),
        ([counts_of({"a": 1})], [1.5], TypeError, "weight must be an int"),
        ([counts_of({"a": 1})], [1, 2], CountsError, "1 parts need 1 weights, not 2"),
    ],
)
def test_wrong_arguments(parts: Any, weights: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        merge_counts(parts, weights=weights)


def test_mixtures_name_both_files_and_both_values(tmp_path: Path) -> None:
    first = counts_of({"a": 1}, special_tokens=("<s>",), engine="compiled", unicode_version="16.0.0")
    first.save(tmp_path / "a.npz")
    for what, changes, value in (
        ("pattern", {"pattern": resolve_pattern("cl100k")}, "(?i:"),
        ("special tokens", {"special_tokens": ("<t>",)}, "['<t>']"),
        ("engine", {"engine": "regex"}, "'regex'"),
        ("unicode version", {"unicode_version": "15.0.0"}, "'15.0.0'"),
    ):
        replace(first, **changes).save(tmp_path / "b.npz")
        with pytest.raises(CountsError) as caught:
            merge_counts([tmp_path / "a.npz", tmp_path / "b.npz"])
        message = str(caught.value)
        assert all(text in message for text in (f": {what} ", "a.npz", "b.npz", value)), message


def test_all_parts_are_looked_at_before_any_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts_of({"a": 1}).save(tmp_path / "a.npz")
    monkeypatch.setattr(WordCounts, "load", None)
    with pytest.raises(CountsError, match=r"gone\.npz: there is no such file"):
        merge_counts([tmp_path / "a.npz", tmp_path / "gone.npz"])


# --- shards ---------------------------------------------------------------------------------------


def test_shards_become_whole(tmp_path: Path) -> None:
    parts = [counts_of({"a": n}, shard(n)) for n in (3, 1, 2)]
    for part in parts:
        part.save(tmp_path / f"{part.shards[0].number}.npz")
    merged = merge_counts([tmp_path / f"{n}.npz" for n in (1, 2, 3)], weights=[2, 2, 2])
    assert merged.to_dict() == {b"a": 12}
    assert merged.shards == tuple(shard(n, weight=2) for n in (1, 2, 3))
    merged.save(tmp_path / "all.npz")
    assert WordCounts.load(tmp_path / "all.npz").shards == merged.shards
    assert parts[0].merge(*parts[1:]).to_dict() == {b"a": 6}


def test_shards_twice_or_missing() -> None:
    one, two, three = (counts_of({"a": n}, shard(n)) for n in (1, 2, 3))
    with pytest.raises(CountsError, match=r"part 1 and part 3 both hold shard 1/3 of 1,000 bytes"):
        merge_counts([one, two, one])
    with pytest.raises(CountsError, match="both hold shard 2/3"):
        one.merge(two).merge(two)
    with pytest.raises(CountsError, match=r"shards 2 of 3 \(corpus c0ffee00.*--allow-missing"):
        merge_counts([one, three])
    partial = merge_counts([one, three], allow_missing=True)
    assert merge_counts([partial, two]).to_dict() == {b"a": 6}
    with pytest.raises(CountsError, match="cut in two ways"):
        merge_counts([one, counts_of({"a": 1}, shard(2, n=2))])
    with pytest.raises(CountsError, match="one weight"):
        merge_counts([one, two, three], weights=[1, 2, 1])
    other = counts_of({"a": 5}, shard(1, n=1, corpus="beef"))
    assert merge_counts([one, two, other, three]).to_dict() == {b"a": 11}


def test_many_missing_shards_are_not_all_named() -> None:
    text = describe_missing([shard(1, n=10**9)])
    assert text.startswith("shards 2, 3, 4") and "and 999,999,989 more" in text and len(text) < 120
    assert describe_missing([shard(1, n=1)]) == describe_missing([]) == ""


@pytest.mark.parametrize(
    "text", ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1.0/4", "²/4", " 1/4"]
)
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(CountsError, match="1 ≤ i ≤ n"):
        read_share(text)


@pytest.mark.parametrize(
    "shards",
    [3, ["a"], [["c", 1, 2]], [["c", 10, 2, 3, 1]], [["c", 10, 2, 1, 0]], [["c", 10, 2, "1", 1]], [None]],
)
def test_damaged_markers_are_refused(shards: Any, tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    counts_of({"a": 1}, shard(1)).save(path)
    with np.load(path) as stored:
        content = dict(stored)
    metadata = json.loads(content["metadata"].tobytes()) | {"shards": shards}
    content["metadata"] = np.frombuffer(json.dumps(metadata).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **content)
    for read in (WordCounts.load, lambda name: merge_counts([name])):
        with pytest.raises(CountsError, match=r"counts\.npz: damaged"):
            read(path)


# --- rare words -----------------------------------------------------------------------------------


@given(some_words, st.integers(1, 2**20))
def test_rare_words_are_dropped_and_told(mapping: dict[bytes, int], least: int) -> None:
    kept, dropped = drop_rare_words(counts_of(mapping, shard(2)), least)
    assert kept.to_dict() == {w: c for w, c in sorted(mapping.items()) if c >= least}
    gone = {w: c for w, c in mapping.items() if c < least}
    assert dropped[:4] == (least, len(gone), sum(gone.values()), sum(len(w) * c for w, c in gone.items()))
    assert kept.n_bytes + dropped.n_bytes == counts_of(mapping).n_bytes
    assert 0 <= dropped.share <= 1
    assert kept.shards == (shard(2),)


@pytest.mark.parametrize(
    ("least", "error"), [(0, CountsError), (-1, CountsError), (True, TypeError), (2.0, TypeError)]
)
def test_wrong_least_counts(least: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="min_word_count"):
        drop_rare_words(counts_of({"a": 1}), least)
