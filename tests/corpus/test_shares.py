"""Parts of inputs planned by sizes alone: every line and every group of rows is in exactly one of them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import bpenb
import pytest
from bpenb import InputOptions
from bpenb.corpus import (
    BadRows,
    CutFinder,
    Source,
    SpecialScanner,
    plan_shares,
    resolve_sources,
    settle_parts,
    share_of,
)
from bpenb.corpus.rows import read_rows
from bpenb.errors import CorpusError
from bpenb.patterns import resolve_pattern
from tests.corpus.writing import ROW_KINDS, TEXT_KINDS, write_rows, write_text

FINDER = CutFinder(resolve_pattern("gpt2"), SpecialScanner(["<s>"]))
ROWS = [random.Random(n).choice(["", "é", "low tower " * (n % 7), "x" * n]) + str(n) for n in range(60)]


def rows_of(source: Source) -> list[str]:
    batches = read_rows(source, InputOptions(), BadRows())
    return [text.decode() for batch in batches for text in batch.texts()]


def disk_bytes(source: Source) -> int:
    return sum(batch.n_disk_bytes for batch in read_rows(source, InputOptions(), BadRows()))


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7, 40, 5_000])
def test_plans_cover_every_byte_once(n_shards: int, tmp_path: Path) -> None:
    sizes = [5, 0, 17, 1, 0, 400, 0]
    sources = [Source(tmp_path / str(n), n, 1, n, n + size) for n, size in enumerate(sizes)]
    shares = plan_shares(sources, n_shards)
    total = sum(sizes)
    found = {n: [] for n in range(len(sizes))}
    for number, share in enumerate(shares):
        upper = total * (number + 1) // n_shards - total * number // n_shards
        assert sum(part.end - part.start for part in share) == upper
        for part in share:
            found[part.source.number].append((part.start, part.end))
    for n, size in enumerate(sizes):
        assert found[n][0][0] == n and found[n][-1][1] == n + size
        assert [start for start, _ in found[n][1:]] == [end for _, end in found[n][:-1]]
        assert len(found[n]) == 1 or size


@pytest.mark.parametrize("ending", ROW_KINDS)
@pytest.mark.parametrize("n_shards", [1, 2, 3, 10, 200])
def test_every_row_is_in_one_share(ending: str, n_shards: int, tmp_path: Path) -> None:
    sources = resolve_sources(
        [write_rows(tmp_path, ROWS, ending), write_rows(tmp_path, ROWS[:9], ending, "b")]
    )
    shares = [share_of(sources, (i + 1, n_shards), FINDER) for i in range(n_shards)]
    assert [row for share in shares for part in share for row in rows_of(part)] == ROWS + ROWS[:9]
    n_disk = sum(disk_bytes(part) for share in shares for part in share)
    assert n_disk == sum(source.path.stat().st_size for source in sources)
    if n_shards == 10 and "." not in ending[1:]:  # not compressed: the rows are divided
        assert sum(any(map(rows_of, share)) for share in shares) > 4


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n\n", b""])
def test_lines_of_any_kind_are_divided_at_any_byte(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps({"text": row}).encode() for row in ROWS[:6]]
    path.write_bytes(b"\xef\xbb\xbf" + (end or b"\n").join(lines) + end)
    (source,) = resolve_sources(path)
    size = path.stat().st_size
    whole = source._replace(end=size)
    for cut in range(1, size):
        first = plan_shares([source], 1)[0][0]._replace(end=cut)
        second = first._replace(start=cut, end=size)
        parts = settle_parts([first, second], FINDER)
        assert [row for part in parts for row in rows_of(part)] == rows_of(whole) == ROWS[:6]


def test_a_line_longer_than_all_that_is_read_at_once(tmp_path: Path) -> None:
    rows = ["a", "b" * 200_000, "c"]
    sources = resolve_sources(write_rows(tmp_path, rows, ".jsonl"))
    for n_shards in (2, 3, 9):
        shares = [share_of(sources, (i + 1, n_shards), FINDER) for i in range(n_shards)]
        assert [row for share in shares for part in share for row in rows_of(part)] == rows


def test_rows_keep_their_numbers_where_a_sample_needs_them(tmp_path: Path) -> None:
    path = write_rows(tmp_path, ROWS, ".jsonl")
    shares = [share_of([Source(path)], (i, 3), FINDER, keep_rows=True) for i in (1, 2, 3)]
    assert [list(map(rows_of, share)) for share in shares] == [[ROWS], [], []]
    for ending in (".jsonl", ".parquet"):
        path = write_rows(tmp_path, ROWS, ending)
        whole = bpenb.count_words(path, sample=0.5, seed=2)
        parts = [bpenb.count_words(path, sample=0.5, seed=2, shard=f"{i}/5") for i in range(1, 6)]
        assert bpenb.merge_counts(parts).to_dict() == whole.to_dict()
        assert len(whole) > 20


def test_a_bad_row_of_a_part_is_told_with_its_place(tmp_path: Path) -> None:
    for ending, told in ((".jsonl", r"line (\d+) behind byte ([\d,]+): "), (".parquet", "row 60: ")):
        path = write_rows(tmp_path, [*ROWS[:59], None, "end"], ending, group=1)
        parts = [part for i in range(2, 21) for part in share_of([Source(path)], (i, 20), FINDER)]
        assert all(part.start for part in parts)
        with pytest.raises(CorpusError, match=told) as wrong:
            list(map(rows_of, parts))
        if ending == ".jsonl":
            found = re.search(told, str(wrong.value))
            assert found is not None
            lines = path.read_bytes()[int(found[2].replace(",", "")) :].split(b"\n")
            assert b"null" in lines[int(found[1]) - 1]


def test_what_is_empty_and_should_not_be_is_in_one_share(tmp_path: Path) -> None:
    """A file without a byte is no gzip file, and no Parquet: that is told, though no byte is to be read."""
    for name, empty in (("a.txt", True), ("b.jsonl", True), ("c.txt.gz", False), ("d.parquet", False)):
        (tmp_path / name).write_bytes(b"")
        for sources in ([Source(tmp_path / name)], resolve_sources([tmp_path / "a.txt", tmp_path / name])):
            held = [share_of(sources, (i + 1, 4), FINDER) for i in range(4)]
            assert sum(map(len, held)) == (0 if empty else 1)


def test_shards_of_a_mixed_folder_add_up(tmp_path: Path) -> None:
    for ending in (*TEXT_KINDS, *ROW_KINDS):
        if ending in TEXT_KINDS:
            write_text(tmp_path, "<s>".join(ROWS), ending)
        else:
            write_rows(tmp_path, ROWS, ending)
    whole = bpenb.count_words(tmp_path, special_tokens=["<s>"])
    for n_shards in (1, 4, 13):
        shards = [
            bpenb.count_words(tmp_path, special_tokens=["<s>"], shard=f"{i + 1}/{n_shards}")
            for i in range(n_shards)
        ]
        assert bpenb.merge_counts(shards).to_dict() == whole.to_dict()
