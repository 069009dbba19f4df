"""Inputs with weights, caps and shares."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from bpenb.corpus import (
    CutFinder,
    Mixture,
    Source,
    SpecialScanner,
    corpus_identity,
    fill_from_files,
    resolve_sources,
    share_of,
)
from bpenb.errors import BpenbError, CorpusError
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import ScanBuffer
from tests.oracles.word_counter import count_words

SPECIALS = ("<s>", "aba")
SCANNER = SpecialScanner(SPECIALS)
CUSTOM = r"\w+|\W"


def finder(pattern: str = "gpt2") -> CutFinder:
    return CutFinder(resolve_pattern(pattern), SCANNER)


def random_text(n: int, seed: int) -> bytes:
    parts = [
        "the",
        "cat",
        "'s",
        "1234",
        "!",
        "中文",
        "<s>",
        "aba",
        "ba",
        " ",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\u3000",
    ]
    return "".join(random.Random(seed).choices(parts, k=n)).encode()


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    contents = [random_text(300, 1), b"", b"x" * 400, random_text(50, 2), b" ", random_text(900, 3)]
    found = [tmp_path / f"{n}.txt" for n in range(len(contents))]
    for path, content in zip(found, contents, strict=True):
        path.write_bytes(content)
    return found


def text_of(source: Source) -> bytes:
    return source.path.read_bytes()[source.start : source.end]


# --- weights --------------------------------------------------------------------------------------


def test_files_and_weights(paths: list[Path]) -> None:
    assert resolve_sources(paths[0]) == [Source(paths[0], 0, 1)]
    assert resolve_sources({str(paths[2]): 3, paths[0]: 1}) == [
        Source(paths[2], 0, 3),
        Source(paths[0], 1, 1),
    ]


@pytest.mark.parametrize(
    ("weight", "error"),
    [
        (0, BpenbError),
        (-1, BpenbError),
        (2**63, BpenbError),
        (1.0, TypeError),
        (True, TypeError),
        ("2", TypeError),
    ],
)
def test_wrong_weights(weight: Any, error: type[Exception], paths: list[Path]) -> None:
    with pytest.raises(error, match="weight"):
        resolve_sources({paths[0]: weight})


# --- caps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", CUSTOM])
def test_a_cap_is_the_last_cut_at_or_before(pattern: str, tmp_path: Path) -> None:
    path, data = tmp_path / "text", random_text(120, 4)
    path.write_bytes(data)
    regex, where = resolve_pattern(pattern).regex, finder(pattern)
    cuts = {c for c in range(1, len(data)) if where.first(data, c, at_end=True) == c}
    whole = count_words([data], regex, SPECIALS)
    for cap in range(1, len(data) + 3):
        decided = [c for c in cuts if c <= min(cap, len(data) - where.margin)]
        if cap < len(data) and not decided:
            with pytest.raises(CorpusError, match=f"no place to cut in its first {cap} bytes"):
                Mixture(cap).capped([Source(path)], where)
            continue
        (source,) = Mixture(cap).capped([Source(path, 4, 2)], where)
        assert source.end == (max(decided) if cap < len(data) else None)
        assert source[:4] == (path, 4, 2, 0)
        if source.end is not None:
            words = count_words([data[: source.end], data[source.end :]], regex, SPECIALS)
            assert words == whole


def test_the_cut_before_a_cap_may_be_far(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one two" + b"x" * 300_000 + b" end")
    (source,) = Mixture("250kB").capped([Source(path)], finder())
    assert source.end == 3
    with pytest.raises(CorpusError, match="no place to cut"):
        Mixture("250kB").capped([Source(path)], finder(CUSTOM))


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"max_bytes_per_source": 0}, CorpusError, "at least 1"),
        ({"max_bytes_per_source": "5 apples"}, BpenbError, "max_bytes_per_source is '5 apples'"),
        ({"max_bytes_per_source": 1.5}, TypeError, "max_bytes_per_source must be"),
        ({"sample": 0}, CorpusError, "sample is 0"),
        ({"sample": 1.01}, CorpusError, "at most 1"),
        ({"sample": float("nan")}, CorpusError, "sample is nan"),
        ({"sample": -0.5}, CorpusError, "sample is -0.5"),
        ({"sample": "0.1"}, TypeError, "sample must be"),
        ({"sample": True}, TypeError, "sample must be"),
        ({"seed": -1}, CorpusError, "seed is -1"),
        ({"seed": 2**64}, CorpusError, "seed is"),
        ({"seed": 1.0}, TypeError, "seed must be"),
    ],
)
def test_wrong_mixtures(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Mixture(**options)


# --- shares ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["gpt2", CUSTOM])
@pytest.mark.parametrize("n_shards", [1, 2, 3, 7, 100, 500])
def test_shares_are_all_of_the_text_and_change_no_word(
    pattern: str, n_shards: int, paths: list[Path]
) -> None:
    sources = resolve_sources(paths)
    shares = [share_of(sources, (i, n_shards), finder(pattern)) for i in range(1, n_shards + 1)]
    parts = [source for share in shares for source in share]
    for source in sources:
        own = [part for part in parts if part.number == source.number]
        assert b"".join(map(text_of, own)) == text_of(source)
        assert [part.start for part in own[1:]] == [part.end for part in own[:-1]]
    regex = resolve_pattern(pattern).regex
    assert count_words(map(text_of, parts), regex, SPECIALS) == count_words(
        map(text_of, sources), regex, SPECIALS
    )


def test_shares_are_about_equal(tmp_path: Path) -> None:
    for n in range(4):
        (tmp_path / str(n)).write_bytes(random_text(5_000, n))
    sources = resolve_sources([tmp_path / str(n) for n in range(4)])
    sizes = [sum(map(len, map(text_of, share_of(sources, (i, 9), finder())))) for i in range(1, 10)]
    assert max(sizes) - min(sizes) < 60


def test_shares_of_a_capped_file_stay_below_the_cap(paths: list[Path]) -> None:
    sources = Mixture(900).capped(resolve_sources([paths[5]]), finder())
    parts = [part for i in (1, 2, 3) for part in share_of(sources, (i, 3), finder())]
    assert b"".join(map(text_of, parts)) == paths[5].read_bytes()[: sources[0].end]


def test_shares_of_samples_end_between_documents(paths: list[Path]) -> None:
    mixture = Mixture(sample=0.5)
    for n_shards in (2, 5, 40):
        sources = resolve_sources(paths)
        where = mixture.shard_finder(finder(), SCANNER)
        parts = [p for i in range(n_shards) for p in share_of(sources, (i + 1, n_shards), where)]
        assert b"".join(map(text_of, parts)) == b"".join(map(text_of, sources))
        for part in parts:
            assert part.start == 0 or text_of(part).startswith((b"<s>", b"aba"))


def test_a_file_that_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one two three four five six")
    parts = share_of([Source(path)], (1, 2), finder())
    path.write_bytes(b"one two")
    with pytest.raises(CorpusError, match="text: became shorter while it was read"):
        list(fill_from_files(parts, finder(), lambda: ScanBuffer(100)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_have_no_size(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    sources = resolve_sources(path)
    with pytest.raises(CorpusError, match=r"pipe.*cannot be capped"):
        Mixture(100).capped(sources, finder())
    with pytest.raises(CorpusError, match=r"pipe.*cannot be cut into shards"):
        share_of(sources, (1, 2), finder())


def test_what_a_corpus_is_known_by(tmp_path: Path) -> None:
    path, copy = tmp_path / "a", tmp_path / "copy"
    data = random_text(4_000, 8)
    path.write_bytes(data)
    copy.write_bytes(data)
    known = corpus_identity([Source(path)], "gpt2")
    assert corpus_identity([Source(copy, 5)], "gpt2") == known
    changed = [b"x" + data[1:], data[:-1] + b"x", data + b"x", b""]
    others = {
        corpus_identity([Source(path)], "o200k"),
        corpus_identity([Source(path, 0, 2)], "gpt2"),
        corpus_identity([Source(path)] * 2, "gpt2"),
        corpus_identity([Source(path, end=3)], "gpt2"),
    }
    for content in changed:
        path.write_bytes(content)
        others.add(corpus_identity([Source(path)], "gpt2"))
    assert len(others | {known}) == 5 + len(changed)
    path.unlink()
    with pytest.raises(CorpusError, match="cannot be read"):
        corpus_identity([Source(path, end=3)], "gpt2")
