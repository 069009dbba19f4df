"""WordCounts: checks, merging, saving, loading."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.counting import WordCounts
from bpenb.errors import CountsError, OutputError
from bpenb.patterns import resolve_pattern
from hypothesis import given
from hypothesis import strategies as st

some_words = st.dictionaries(st.binary(min_size=1, max_size=12), st.integers(1, 2**40), max_size=30)
GPT2 = resolve_pattern("gpt2")
EMPTY = np.empty(0, dtype=np.int64)


def arrays(**changes: Any) -> dict[str, Any]:
    """The arguments of a small, right WordCounts: a 2, b 1, ba 4; with some of them changed."""
    return {
        "word_bytes": np.frombuffer(b"abba", dtype=np.uint8),
        "word_offsets": np.array([0, 1, 2, 4]),
        "word_counts": np.array([2, 1, 4]),
        "pattern": GPT2,
        "special_tokens": ("<s>",),
        "engine": "regex",
        "unicode_version": "16.0.0",
    } | changes


# --- what it holds --------------------------------------------------------------------------------


@given(some_words)
def test_words_come_back_in_order(mapping: dict[bytes, int]) -> None:
    counts = WordCounts.from_dict(mapping)
    assert list(counts.to_dict().items()) == sorted(mapping.items())
    assert len(counts) == len(mapping)
    assert counts.n_pretokens == sum(mapping.values())
    assert counts.n_bytes == sum(len(word) * count for word, count in mapping.items())
    by_count = sorted(mapping.items(), key=lambda item: (-item[1], item[0]))
    for n in (0, 1, 5, 1000):
        assert counts.most_common(n) == by_count[:n]


def test_arrays_suit_the_kernels() -> None:
    every_second = np.array([2, 0, 1, 0, 4])[::2]
    counts = WordCounts(**arrays(word_counts=every_second))
    for array in (counts.word_bytes, counts.word_offsets, counts.word_counts):
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert counts.to_dict() == {b"a": 2, b"b": 1, b"ba": 4}


def test_str_and_bytes_words() -> None:
    assert WordCounts.from_dict({"é": 1, "": 5}).to_dict() == {"é".encode(): 1}
    mixed: Any = {"a": 1, b"a": 2}
    assert WordCounts.from_dict(mixed).to_dict() == {b"a": 3}
    assert WordCounts.from_dict({"a": np.int64(3)}).to_dict() == {b"a": 3}


@pytest.mark.parametrize("count", [2**31, 3_000_000_000, 2**40, 2**61])
def test_nothing_is_32_bit(count: int, tmp_path: Path) -> None:
    counts = WordCounts.from_dict({"a": count, "b": 1})
    assert counts.n_pretokens == count + 1
    assert counts.merge(WordCounts.from_dict({"a": count - 1})).to_dict()[b"a"] == 2 * count - 1
    counts.save(tmp_path / "counts")
    assert WordCounts.load(tmp_path / "counts").to_dict() == {b"a": count, b"b": 1}


@pytest.mark.parametrize(
    "mapping",
    [
        {"a": 0},
        {"a": -1},
        {"a": 2**63},
        {"aa": 2**62},
        {"a": 2**62, "b": 2**62},
        {"\ud800": 1},
        {"a": 2**62, b"a": 2**62},
    ],
)
def test_counts_that_no_int64_holds_are_refused(mapping: dict[Any, int]) -> None:
    with pytest.raises(CountsError):
        WordCounts.from_dict(mapping)


@pytest.mark.parametrize("mapping", [{"a": 1.0}, {"a": True}, {"a": "1"}, {3: 1}, {None: 1}])
def test_wrong_types_are_refused(mapping: dict[Any, Any]) -> None:
    with pytest.raises(TypeError, match="word"):
        WordCounts.from_dict(mapping)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"word_bytes": np.zeros(4, dtype=np.int8)}, "word_bytes must be .* uint8"),
        ({"word_offsets": np.array([0, 1, 2, 4], dtype=np.int32)}, "word_offsets must be .* int64"),
        ({"word_counts": np.array([2.0, 1, 4])}, "word_counts must be .* int64"),
        ({"word_counts": np.array([[2, 1, 4]])}, "one-dimensional"),
        ({"word_counts": [2, 1, 4]}, "array"),
        ({"word_counts": np.array([2, 1])}, "2 counts need 3 offsets"),
        ({"word_offsets": np.array([1, 2, 3, 4])}, "from 0 to 4"),
        ({"word_offsets": np.array([0, 1, 2, 3])}, "from 0 to 4"),
        ({"word_offsets": np.array([0, 3, 2, 4])}, "ascend"),
        ({"word_offsets": np.array([0, 1, 1, 4])}, "at least one byte"),
        ({"word_counts": np.array([2, 0, 4])}, "at least 1, not 0"),
        ({"word_counts": np.array([2, -1, 4])}, "at least 1, not -1"),
        ({"word_bytes": np.frombuffer(b"baba", dtype=np.uint8)}, "words must ascend"),
        ({"word_bytes": np.frombuffer(b"aaba", dtype=np.uint8)}, "words must ascend"),
        (
            {"word_offsets": EMPTY, "word_counts": EMPTY},
            "1 offsets",
        ),
    ],
)
def test_arrays_that_are_no_counts_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(CountsError, match=says):
        WordCounts(**arrays(**changes))


@pytest.mark.parametrize("place", [0, 65_534, 65_535, 65_536, 69_998])
def test_order_is_checked_everywhere(place: int) -> None:
    numbers = np.arange(70_000, dtype=">u4")
    counts = np.ones(70_000, dtype=np.int64)
    offsets = np.arange(0, 280_001, 4)
    WordCounts(**arrays(word_bytes=numbers.view(np.uint8), word_offsets=offsets, word_counts=counts))
    numbers[[place, place + 1]] = numbers[[place + 1, place]]
    with pytest.raises(CountsError, match="ascend"):
        WordCounts(**arrays(word_bytes=numbers.view(np.uint8), word_offsets=offsets, word_counts=counts))


# --- merging --------------------------------------------------------------------------------------


@given(st.lists(some_words, min_size=1, max_size=4))
def test_merge_adds(mappings: list[dict[bytes, int]]) -> None:
    parts = [WordCounts.from_dict(mapping) for mapping in mappings]
    total: Counter[bytes] = Counter()
    for mapping in mappings:
        total.update(mapping)
    merged = parts[0].merge(*parts[1:])
    assert merged.to_dict() == dict(sorted(total.items()))
    assert merged.equals(parts[-1].merge(*parts[:-1]))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pattern": resolve_pattern("cl100k")}, "pattern"),
        ({"special_tokens": ()}, "special tokens"),
        ({"engine": "scanner"}, "engine"),
        ({"unicode_version": "18.0.0"}, "unicode version"),
    ],
)
def test_counts_made_differently_are_not_merged(changes: dict[str, Any], says: str) -> None:
    counts = WordCounts(**arrays())
    other = replace(counts, **changes)
    with pytest.raises(CountsError, match=rf"made differently.*: {says}"):
        counts.merge(other)
    assert not counts.equals(other)
    with pytest.raises(TypeError):
        counts.merge({"a": 1})  # type: ignore[arg-type]


def test_a_pattern_is_its_regex_not_its_name() -> None:
    counts = WordCounts.from_dict({"a": 1}, pattern="cl100k")
    other = WordCounts.from_dict({"a": 1}, pattern="llama3")
    assert counts.merge(other).to_dict() == {b"a": 2}
    assert counts.equals(other)


def test_sums_that_no_int64_holds_are_refused() -> None:
    counts = WordCounts.from_dict({"a": 2**62})
    with pytest.raises(CountsError):
        counts.merge(counts)
    with pytest.raises(CountsError):
        counts.merge(WordCounts.from_dict({"b": 2**62}))


# --- files ----------------------------------------------------------------------------------------


@given(mapping=some_words)
@pytest.mark.parametrize("pattern", ["gpt2", "llama3", r"\w+|\W é"])
def test_what_is_saved_is_loaded(pattern: str, mapping: dict[bytes, int], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("counts") / "words"  # no suffix is added
    specials = ("<|endoftext|>", "é 中", "\n")
    counts = WordCounts.from_dict(
        mapping, pattern=pattern, special_tokens=specials, engine="regex", unicode_version="16.0.0"
    )
    counts.save(path)
    loaded = WordCounts.load(str(path))
    assert loaded.equals(counts)
    assert loaded.pattern == counts.pattern
    assert (loaded.special_tokens, loaded.engine, loaded.unicode_version) == (specials, "regex", "16.0.0")
    loaded.merge(counts)  # what is read suits the kernels


def test_the_same_counts_are_the_same_file(tmp_path: Path) -> None:
    WordCounts(**arrays()).save(tmp_path / "a")
    WordCounts(**arrays()).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saving_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "counts.npz"
    counts = WordCounts(**arrays())
    counts.save(path)
    before = path.read_bytes()

    def fail_half_way(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail_half_way)
    with pytest.raises(OutputError, match=r"counts\.npz: cannot be written: No space left"):
        counts.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OutputError):
        counts.save(tmp_path / "missing" / "counts.npz")


def test_files_cut_short_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    WordCounts(**arrays()).save(path)
    data = path.read_bytes()
    for length in [0, 1, 4, 30, *range(40, len(data), 37), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(CountsError, match=r"counts\.npz: "):
            WordCounts.load(path)


def test_altered_files_are_refused_or_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    counts = WordCounts(**arrays())
    counts.save(path)
    data = path.read_bytes()
    n_refused = 0
    for place in range(0, len(data), 3):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            assert WordCounts.load(path).equals(counts)  # a byte that nothing reads, such as a date
        except CountsError as error:
            assert str(path) in str(error)
            n_refused += 1
    assert n_refused > 100


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with pytest.raises(CountsError, match="no such file"):
        WordCounts.load(path)
    with pytest.raises(CountsError, match=str(tmp_path)):
        WordCounts.load(tmp_path)
    path.write_text("words")
    with pytest.raises(CountsError, match="other"):
        WordCounts.load(path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(CountsError, match="single array"):
        WordCounts.load(path)
    with path.open("wb") as file:
        np.savez(file, a=np.arange(3))
    with pytest.raises(CountsError, match="something else"):
        WordCounts.load(path)
    with path.open("wb") as file:
        np.savez(file, metadata=np.array([{"a": 1}], dtype=object))
    with pytest.raises(CountsError, match="other"):
        WordCounts.load(path)  # no pickle is ever read


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": 2}, "version 2; this bpenb reads version 1"),
        ({"format": "x"}, "something else"),
        ({"engine": None}, "engine is missing"),
        ({"pattern": "("}, "does not compile"),
        ({"pattern": 3}, "pattern"),
        ({"special_tokens": "abc"}, "special_tokens"),
        ({"special_tokens": [""]}, "empty"),
        ({"special_tokens": 3}, "special_tokens"),
    ],
)
def test_wrong_metadata_is_refused(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    WordCounts(**arrays()).save(path)
    with np.load(path) as stored:
        content = dict(stored)
    metadata = json.loads(content["metadata"].tobytes()) | changes
    metadata = {key: value for key, value in metadata.items() if value is not None}
    content["metadata"] = np.frombuffer(json.dumps(metadata).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **content)
    with pytest.raises(CountsError, match=rf"counts\.npz: .*{says}"):
        WordCounts.load(path)


@pytest.mark.parametrize("name", ["word_bytes", "word_offsets", "word_counts"])
def test_missing_and_wrong_arrays_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    WordCounts(**arrays()).save(path)
    with np.load(path) as stored:
        content = dict(stored)
    for changed in ({name: content[name][:-1]}, {name: content[name].astype(np.float32)}):
        with path.open("wb") as file:
            np.savez(file, **(content | changed))
        with pytest.raises(CountsError, match=r"counts\.npz"):
            WordCounts.load(path)
    del content[name]
    with path.open("wb") as file:
        np.savez(file, **content)
    with pytest.raises(CountsError, match=r"counts\.npz"):
        WordCounts.load(path)


def test_repr_is_short() -> None:
    text = repr(WordCounts.from_dict({f"w{n}": n + 1 for n in range(2000)}))
    assert len(text) < 100
    assert "2,000 words" in text
