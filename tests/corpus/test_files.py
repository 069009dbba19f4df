"""Files: which are taken, and how they are cut into ranges."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pytest
from bpenb.corpus import (
    CutFinder,
    FileRange,
    SpecialScanner,
    TextBlock,
    plan_ranges,
    read_range,
    read_stream,
    resolve_files,
)
from bpenb.errors import CorpusError
from bpenb.patterns import resolve_pattern
from tests.oracles.word_counter import count_words

CUSTOM = r"\w+|\W"
TEXTS = {
    "prose": b"The cat sat.\n\nIt's 12 o'clock;  no\tone sat there.\n" * 3,
    "no cut": b"abcdefghijklmnopqrstuvwxyz" * 4,
    "crlf": b"one\r\ntwo\r\n\r\n  three\r\n!\r\n/four\r\n" * 3,
    "chinese": "我喜欢猫。它们很可爱！\u3000真的".encode() * 4,
    "chinese with specials": "我喜欢猫<s>它们很可爱<s>".encode() * 4,
    "empty": b"",
    "whitespace": b" \n\t \r\n  " * 6,
    "nul": b"a\x00b \x00\x00 c\x00" * 6,
    "bom": "\ufeffhi \ufeffyou\n".encode() * 4,
    "overlapping specials": b"ababa ababababa xaba abab aba" * 3,
    "special with a space": b"ab a b a bab a  b<s> a b" * 3,
    "emoji": "😀 a😀\u00a0 b\u0085\n\u3000c ".encode() * 4,
}
SPECIALS = ("<s>", "aba", " a b")


def finder_of(pattern: str = "gpt2", specials: tuple[str, ...] = SPECIALS) -> CutFinder:
    return CutFinder(resolve_pattern(pattern), SpecialScanner(specials))


def merged(counts: list[dict[bytes, int]]) -> dict[bytes, int]:
    total: dict[bytes, int] = {}
    for part in counts:
        for word, count in part.items():
            total[word] = total.get(word, 0) + count
    return dict(sorted(total.items()))


# --- which files ----------------------------------------------------------------------------------


def test_one_path_or_several(tmp_path: Path) -> None:
    a, b = tmp_path / "a b.txt", tmp_path / "ü.txt"
    a.touch()
    b.touch()
    assert resolve_files(str(a)) == [a]
    assert resolve_files(a) == [a]
    assert resolve_files([a, str(b), a]) == [a, b, a]
    assert resolve_files(path for path in (b, a)) == [b, a]


@pytest.mark.parametrize("bad", [[], "", "missing.txt", ["missing.txt"], "nul\0.txt"])
def test_files_that_are_not_there_are_refused(
    bad: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError):
        resolve_files(bad)  # type: ignore[arg-type]


def test_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"is a folder"):
        resolve_files(tmp_path)


@pytest.mark.parametrize("bad", [b"a.txt", [b"a.txt"], 3, None, [3], bytearray(b"a")])
def test_what_is_no_path_is_refused(bad: object) -> None:
    with pytest.raises(TypeError):
        resolve_files(bad)  # type: ignore[arg-type]


# --- ranges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "whitespace", CUSTOM])
@pytest.mark.parametrize("text", TEXTS)
def test_words_are_the_same_for_every_range_size(pattern: str, text: str, tmp_path: Path) -> None:
    data = TEXTS[text]
    regex = resolve_pattern(pattern).regex
    path = tmp_path / "text"
    path.write_bytes(data)
    whole = count_words([data], regex, SPECIALS)
    for range_bytes in [*range(1, 20), 64, 10_000]:
        ranges = list(plan_ranges([path], finder_of(pattern), range_bytes))
        parts = [read_range(r) for r in ranges]
        assert b"".join(parts) == data
        assert [r.start for r in ranges] == [0, *(r.end for r in ranges)][: len(ranges)]
        assert all(len(part) >= range_bytes for part in parts[:-1])
        assert merged([count_words([part], regex, SPECIALS) for part in parts]) == whole


def test_ranges_are_small_where_there_are_cuts(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(TEXTS["prose"])
    ranges = list(plan_ranges([path], finder_of(), 1))
    assert len(ranges) > 20
    path.write_bytes(TEXTS["no cut"])
    assert list(plan_ranges([path], finder_of(), 1)) == [FileRange(str(path), 0, 104)]
    path.write_bytes(TEXTS["chinese with specials"])
    assert len(list(plan_ranges([path], finder_of(CUSTOM), 1))) == 9


def test_files_come_one_after_the_other(tmp_path: Path) -> None:
    names = ["b", "a", "empty", "c"]
    for name in names:
        (tmp_path / name).write_bytes(b"" if name == "empty" else b"one two " + name.encode())
    ranges = list(plan_ranges([tmp_path / name for name in names], finder_of(), 5))
    assert [(Path(r.source).name, r.start, r.n_bytes) for r in ranges] == [
        ("b", 0, 7), ("b", 7, 2), ("a", 0, 7), ("a", 7, 2), ("c", 0, 7), ("c", 7, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("gap", [4_000, *range(4_098, 4_108), 70_000, 2_500_000])
@pytest.mark.parametrize("special", ["<s>", "<" + "x" * 9_000 + ">"])
def test_a_cut_is_found_however_far_it_is(gap: int, special: str, tmp_path: Path) -> None:
    """Windows slide and overlap: a special, or whitespace, may lie across the end of one."""
    path = tmp_path / "text"
    path.write_bytes(b"a" * gap + special.encode() + b"b" * gap)
    found = [r.end for r in plan_ranges([path], finder_of(CUSTOM, (special,)), 10)]
    assert found == [gap, 2 * gap + len(special)]
    for shift in range(8 if gap < 10**6 else 2):
        path.write_bytes(b"a" * shift + "\u3000".encode() * (gap // 3) + b"b c" + b"d" * gap)
        cut = shift + gap // 3 * 3 + 1
        found = [r.end for r in plan_ranges([path], finder_of("gpt2", (special,)), shift + 1)]
        assert found == [cut, cut + 2 + gap]


def test_ranges_are_planned_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one two three")
    ranges = plan_ranges([path, tmp_path / "missing"], finder_of(), 5)
    assert next(ranges).end == 7
    assert next(ranges).end == 13
    with pytest.raises(CorpusError, match=r"missing.*cannot be read"):
        next(ranges)


def test_a_file_that_shrinks_or_vanishes_is_an_error_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "shrinking"
    path.write_bytes(b"one two three")
    last = list(plan_ranges([path], finder_of(), 5))[-1]
    path.write_bytes(b"one two t")
    with pytest.raises(CorpusError, match=r"shrinking: became shorter"):
        read_range(last)
    path.unlink()
    with pytest.raises(CorpusError, match=r"shrinking: cannot be read"):
        read_range(last)


def test_a_range_that_does_not_fit_in_memory_says_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x")
    with pytest.raises(CorpusError, match=r"do not fit in memory|became shorter|cannot be read"):
        read_range(FileRange(str(path), 0, 2**62))


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["gpt2", CUSTOM])
@pytest.mark.parametrize("text", TEXTS)
def test_words_of_a_stream_are_the_same_for_every_block_size(pattern: str, text: str) -> None:
    data = TEXTS[text]
    regex = resolve_pattern(pattern).regex
    whole = count_words([data], regex, SPECIALS)
    for block_bytes in [1, 2, 3, 7, 50, 10_000]:
        blocks = list(read_stream(io.BytesIO(data), "stdin", finder_of(pattern), block_bytes))
        assert b"".join(block.data for block in blocks) == data
        starts = [block.start for block in blocks]
        assert starts == [sum(b.n_bytes for b in blocks[:k]) for k in range(len(blocks))]
        assert merged([count_words([block.data], regex, SPECIALS) for block in blocks]) == whole


@pytest.mark.parametrize("block_bytes", range(1, 20))
def test_a_cut_at_the_end_of_a_block_is_not_missed(block_bytes: int) -> None:
    data = b"aaaa " + b"b" * 20
    blocks = list(read_stream(io.BytesIO(data), "stdin", finder_of(specials=()), block_bytes))
    assert [block.data for block in blocks] == [data[:4], data[4:]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_read_once_from_front_to_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = TEXTS["prose"] * 100
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    blocks = list(plan_ranges(resolve_files(path), finder_of(), 1_000))
    writer.join()
    assert len(blocks) > 10
    assert all(isinstance(block, TextBlock) and block.source == str(path) for block in blocks)
    assert b"".join(map(read_range, blocks)) == data
