"""Counting mixtures: weights, caps, samples and shards give exactly the words of what they take."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bpenb.corpus import Mixture
from bpenb.counting import (
    CountSettings,
    Workforce,
    count_documents,
    count_files,
    merge_counts,
    mixing,
    shard_to_count,
)
from bpenb.errors import BpenbError, CorpusError, CountsError, InvalidUtf8Error
from bpenb.patterns import resolve_pattern
from tests.corpus.test_sampling import kept_documents
from tests.oracles.word_counter import count_words

SPECIALS = ("<s>", "<s><s>", "aba")
REGEX = resolve_pattern("gpt2").regex
WAYS = {
    "regex": ("regex", Workforce(2, task_bytes=700, small_input=0)),
    "threads": ("auto", Workforce(2, task_bytes=700)),
    "one thread": ("auto", Workforce(1)),
}
TEXTS = [
    "".join(
        f"{n % 9} words of document {n}, it's {n}" + ("<s>", "<s><s>", " aba", "\n<s>")[n % 4]
        for n in range(90)
    ),
    "no special token, 我喜欢猫 it's",
    "".join(f"the other corpus\u3000{n} x<s>" for n in range(300)),
]


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"{n}.txt" for n in range(len(TEXTS))]
    for path, text in zip(found, TEXTS, strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return found


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[CountSettings, Workforce]:
    engine, workforce = WAYS[request.param]
    return CountSettings(resolve_pattern("gpt2"), SPECIALS, engine=engine), workforce  # type: ignore[arg-type]


def weighted(*parts: tuple[int, list[bytes]]) -> dict[bytes, int]:
    total: Counter[bytes] = Counter()
    for weight, texts in parts:
        for word, count in count_words(texts, REGEX, SPECIALS).items():
            total[word] += weight * count
    return dict(sorted(total.items()))


def test_weights(way: tuple[CountSettings, Workforce], paths: list[Path]) -> None:
    texts = [text.encode() for text in TEXTS]
    result = count_files({paths[0]: 3, paths[1]: 1, paths[2]: 3}, *way)
    assert result.counts.to_dict() == weighted((3, [texts[0], texts[2]]), (1, [texts[1]]))
    assert result.n_bytes == sum(map(len, texts))
    assert result.mixture is not None
    assert result.mixture["weights"] == [
        {"weight": 3, "n_files": 2, "text_bytes": len(texts[0]) + len(texts[2])},
        {"weight": 1, "n_files": 1, "text_bytes": len(texts[1])},
    ]
    only = count_files({paths[1]: 10**6}, *way)
    assert only.counts.to_dict() == weighted((10**6, [texts[1]]))


def test_no_mixture_is_no_mixture(way: tuple[CountSettings, Workforce], paths: list[Path]) -> None:
    plain = count_files(paths, *way)
    for files in (paths, dict.fromkeys(paths, 1)):
        result = count_files(files, *way, mixture=Mixture("1GB", 1.0, 9))
        assert result.counts.equals(plain.counts)
    assert plain.mixture is None
    assert count_files(dict.fromkeys(paths, 1), *way).mixture is None


@pytest.mark.parametrize("sample", [0.1, 0.5, 0.97])
def test_samples(way: tuple[CountSettings, Workforce], sample: float, paths: list[Path]) -> None:
    result = count_files(paths, *way, mixture=Mixture(sample=sample, seed=4))
    kept = [d for n, text in enumerate(TEXTS) for d in kept_documents(text.encode(), n, sample, 4)]
    assert result.counts.to_dict() == count_words(kept, REGEX, SPECIALS)
    assert result.mixture == {"max_bytes_per_source": None, "sample": sample, "seed": 4}


def test_everything_together(way: tuple[CountSettings, Workforce], paths: list[Path]) -> None:
    """A cap of 2,000 bytes, a half of the documents, weights, in five shards."""
    mixture = Mixture(2_000, 0.5, 7)
    files = {paths[0]: 2, paths[1]: 1, paths[2]: 5}
    whole = count_files(files, *way, mixture=mixture)
    parts = [count_files(files, *way, mixture=mixture, share=(i, 5)) for i in range(1, 6)]
    assert merge_counts([part.counts for part in parts]).equals(whole.counts)
    assert sum(part.n_bytes for part in parts) <= sum(2_000 for _ in files)
    plain = count_files(files, way[0], Workforce(1, task_bytes=10_000), mixture=mixture)
    assert plain.counts.equals(whole.counts)
    other = count_files(files, *way, mixture=Mixture(2_000, 0.5, 8))
    assert not other.counts.equals(whole.counts)


@pytest.mark.parametrize("n_shards", [1, 2, 7, 400])
def test_shards_add_up(way: tuple[CountSettings, Workforce], n_shards: int, paths: list[Path]) -> None:
    whole = count_files(paths, *way)
    shares = range(1, n_shards + 1) if n_shards < 10 else (1, 2, 399, 400)
    parts = [count_files(paths, *way, share=(i, n_shards)).counts for i in shares]
    for i, part in zip(shares, parts, strict=True):
        (shard,) = part.shards
        assert (shard.number, shard.n_shards, shard.total_bytes) == (i, n_shards, whole.n_bytes)
        assert shard == shard_to_count(paths, way[0], Mixture(), (i, n_shards))
    if n_shards < 10:
        assert merge_counts(parts).equals(whole.counts)
    else:
        with pytest.raises(CountsError, match="shards 3, 4, 5"):
            merge_counts(parts)


def test_places_of_errors_in_shards_and_samples(paths: list[Path]) -> None:
    settings = CountSettings(resolve_pattern("gpt2"), SPECIALS)
    data = b"fine words<s>" * 500 + b"bad \xff<s>" + b"fine words<s>" * 500
    paths[0].write_bytes(data)
    with pytest.raises(InvalidUtf8Error) as caught:
        for i in range(1, 5):
            count_files(paths[0], settings, share=(i, 4))
    assert (caught.value.source, caught.value.offset) == (str(paths[0]), data.index(b"\xff"))
    offsets = set()
    for seed in range(6):  # a document that is not kept may hold anything
        try:
            count_files(paths[0], settings, mixture=Mixture(sample=0.5, seed=seed))
            offsets.add(-1)
        except InvalidUtf8Error as error:
            offsets.add(error.offset)
    assert offsets == {-1, data.index(b"\xff")}


def test_a_mixture_within_a_budget(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = CountSettings(resolve_pattern("gpt2"), SPECIALS)
    crew = Workforce(2, max_memory="2GB")
    files = {paths[0]: 2, paths[2]: 1}
    assert count_files(files, settings, crew).counts.equals(count_files(files, settings).counts)
    monkeypatch.setattr(mixing, "rss_bytes", lambda: 1_999_990_000)
    with pytest.raises(CountsError, match=r"adding up \d+ words of inputs with several weights"):
        count_files(files, settings, crew)


def test_a_weighted_count_that_no_int64_holds(paths: list[Path]) -> None:
    with pytest.raises(CountsError, match=r"passes 2\*\*63"):
        count_files({paths[0]: 2**62}, CountSettings(resolve_pattern("gpt2"), SPECIALS))


# --- iterables ------------------------------------------------------------------------------------


class Scalar:
    """As Arrow's values are."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def as_py(self) -> Any:
        return self._value


def test_batches_are_documents_in_a_row(way: tuple[CountSettings, Workforce]) -> None:
    import numpy as np

    long = "a long document " * 200
    documents: list[Any] = ["one two", b"three", "", "été 我", long, "one", b"\xc3\xa9", "<s>x", "it's"]
    expected = count_words([d if isinstance(d, bytes) else d.encode() for d in documents], REGEX, SPECIALS)
    texts = [d if isinstance(d, str) else d.decode() for d in documents]
    forms: list[Any] = [
        documents,
        [documents],
        [documents[:4], documents[4:]],
        [tuple(documents[:4]), *documents[4:6], [], documents[6:]],
        [[text] for text in texts],
        np.array(texts),
        np.array(texts, dtype=object).reshape(3, 3),
        [np.array(texts)],
        [Scalar(text) for text in texts],
        [Scalar(texts)],
        (batch for batch in [texts]),
    ]
    for form in forms:
        result = count_documents(form, *way)
        assert result.counts.to_dict() == expected
        assert result.n_bytes == sum(len(text.encode()) for text in texts)


def test_errors_name_the_document_through_batches(way: tuple[CountSettings, Workforce]) -> None:
    with pytest.raises(InvalidUtf8Error, match="document 5: byte 2 "):
        count_documents([["a", "b"], "c", [b"d", b"", b"ok\xff", b"e"]], *way)
    with pytest.raises(InvalidUtf8Error, match="document 1203: byte 4 "):
        count_documents([[b"some words"] * 1_000, [b"more words"] * 203 + [b"word\xff"] * 9], *way)
    with pytest.raises(CorpusError, match=r"document 2: lone surrogate U\+D800 at character 1"):
        count_documents([["a"], ["b", "c\ud800"]], *way)
    for wrong in (None, 3, ["nested"], bytearray(b"x"), Scalar(None)):
        with pytest.raises(TypeError, match="document 3 must be a str or bytes"):
            count_documents([["a", "b"], ["c", wrong]], *way)
    for wrong in (None, 3, bytearray(b"x"), Scalar(None), {"text": "x"}):
        with pytest.raises(TypeError, match="document 2 must be a str or bytes"):
            count_documents([["a", "b"], wrong], *way)


def test_samples_of_iterables(way: tuple[CountSettings, Workforce]) -> None:
    documents = [f"document {n}" for n in range(300)]
    one = count_documents(documents, *way, mixture=Mixture(sample=0.3, seed=2))
    batched = count_documents([documents[:120], documents[120:]], *way, mixture=Mixture(sample=0.3, seed=2))
    assert one.counts.equals(batched.counts)
    assert 50 < one.counts.to_dict()[b"document"] < 130
    assert one.mixture == {"max_bytes_per_source": None, "sample": 0.3, "seed": 2}
    with pytest.raises(BpenbError, match="is for files"):
        count_documents(documents, *way, mixture=Mixture(100))
