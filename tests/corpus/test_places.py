"""Where ranges begin, which documents end with them, and going on from any of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from bpenb.corpus import (
    BadRows,
    CutFinder,
    FilledRoom,
    InputOptions,
    Place,
    SpecialScanner,
    fill_from_documents,
    fill_from_files,
    resolve_sources,
)
from bpenb.errors import CorpusError
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import ScanBuffer
from tests.corpus.writing import ROW_KINDS, TEXT_KINDS, write_rows, write_text

FINDER = CutFinder(resolve_pattern("gpt2"), SpecialScanner(("<s>",)))
TEXT = "one two\r\n\n  three <s>four" + " 中文，\u3000é" * 3 + "\ufeff \0 x" + "y" * 30 + " end\n"
ROWS = ["low", "", "", "lower é", TEXT * 3, None, "x", "", TEXT * 2, ""]
SIZES = [1, 2, 5, 13, 40, 100, 1000]
Range = tuple[Place, bool, bytes]


def taken(rooms: Iterable[FilledRoom]) -> tuple[list[Range], int]:
    """Place, end of a document, and text of every range; and all bytes on disk."""
    found, n_disk = [], 0
    for filled in rooms:
        ends = filled.ends_document
        assert ends.dtype == np.bool_ and len(ends) == filled.n_ranges == len(filled.ranges)
        assert filled.sources.tolist() == [filled.place(n).source for n in range(filled.n_ranges)]
        n_disk += filled.n_disk_bytes
        for number, (start, end) in enumerate(filled.ranges.tolist()):
            text = filled.room.text[start:end].tobytes()
            found.append((filled.place(number), bool(ends[number]), text))
    return found, n_disk


def documents_of(ranges: Iterable[Range]) -> list[tuple[Place, bytes]]:
    """Ranges put together to documents, each part at its place."""
    found: list[tuple[Place, bytes]] = []
    goes_on = False
    for place, ends, text in ranges:
        if goes_on:
            first, begun = found[-1]
            assert place == first._replace(offset=first.offset + len(begun))
            found[-1] = first, begun + text
        else:
            found.append((place, text))
        goes_on = not ends
    assert not goes_on
    return found


def write_all(folder: Path) -> tuple[list[Path], list[tuple[Place, bytes]]]:
    """Files of all kinds, empty ones too, and the documents that they hold."""
    paths: list[Path] = []
    expected: list[tuple[Place, bytes]] = []
    for ending in (*ROW_KINDS[:2], *TEXT_KINDS, *ROW_KINDS[2:]):
        if ending in TEXT_KINDS:
            for n, text in enumerate(["", TEXT * 4, "low"]):
                expected.append((Place(len(paths), 0, 0), text.encode()))
                paths.append(write_text(folder, text, ending, f"{n}"))
        else:
            rows = [(Place(len(paths), n, 0), row.encode()) for n, row in enumerate(ROWS) if row is not None]
            expected += rows
            paths.append(write_rows(folder, ROWS, ending))
            paths.append(write_rows(folder, [], ending, "none"))
    return paths, expected


@pytest.mark.parametrize("size", SIZES)
def test_every_range_knows_its_place(size: int, tmp_path: Path) -> None:
    paths, expected = write_all(tmp_path)
    bad_rows = BadRows(skip=True)
    found, n_disk = taken(
        fill_from_files(resolve_sources(paths), FINDER, lambda: ScanBuffer(size), bad_rows=bad_rows)
    )
    assert documents_of(found) == expected
    assert bad_rows.n_skipped == len(ROW_KINDS)
    assert n_disk == sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize("size", [5, 40, 1000])
def test_reading_goes_on_at_every_place(size: int, tmp_path: Path) -> None:
    paths, _ = write_all(tmp_path)
    sources, options = resolve_sources(paths), InputOptions(skip_bad_rows=True)
    whole, _ = taken(fill_from_files(sources, FINDER, lambda: ScanBuffer(size), options=options))
    for n, (start, _, _) in enumerate(whole):
        found, _ = taken(
            fill_from_files(sources, FINDER, lambda: ScanBuffer(size), options=options, start=start)
        )
        assert found[0][0] == start
        assert documents_of(found) == documents_of(whole[n:])
        texts = {source.number for source in sources if not source.kind.is_rows}
        rows = [[r for r in ranges if r[0].source not in texts] for ranges in (found, whole[n:])]
        assert rows[0] == rows[1]


def test_bytes_on_disk_before_the_place_are_told_first(tmp_path: Path) -> None:
    paths, _ = write_all(tmp_path)
    sources, options = resolve_sources(paths), InputOptions(skip_bad_rows=True)
    total = sum(path.stat().st_size for path in paths)
    start = Place(8, 0, 40)  # in a text that is compressed
    assert paths[8].name == "1.txt.gz"
    rooms = list(fill_from_files(sources, FINDER, lambda: ScanBuffer(50), options=options, start=start))
    assert rooms[0].n_disk_bytes >= sum(path.stat().st_size for path in paths[:8])
    assert sum(room.n_disk_bytes for room in rooms) == total
    with pytest.raises(CorpusError, match="no input number 99"):
        next(fill_from_files(sources, FINDER, lambda: ScanBuffer(50), start=Place(99, 0, 0)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("per_batch", [1, 2, 100])
def test_documents_know_their_place(size: int, per_batch: int) -> None:
    documents = [row.encode() for row in ROWS if row is not None]
    batches = [documents[n : n + per_batch] for n in range(0, len(documents), per_batch)]
    whole, n_disk = taken(fill_from_documents(batches, FINDER, lambda: ScanBuffer(size)))
    assert documents_of(whole) == [(Place(0, n, 0), text) for n, text in enumerate(documents)]
    assert n_disk == sum(map(len, documents))
    for n, (start, _, _) in enumerate(whole):
        found, _ = taken(fill_from_documents(batches, FINDER, lambda: ScanBuffer(size), start=start))
        assert found == whole[n:]


def test_labels_name_rows_and_documents(tmp_path: Path) -> None:
    path = write_rows(tmp_path, ["low", None, TEXT], ".jsonl")
    options = InputOptions(skip_bad_rows=True)
    rooms = fill_from_files([path], FINDER, lambda: ScanBuffer(30), options=options)
    labels = [room.label(n) for room in rooms for n in range(room.n_ranges)]
    assert labels[0] == (f"{path}, row 1", 0)
    assert labels[1] == (f"{path}, row 3", 0)
    assert labels[2][0] == labels[1][0] and labels[2][1] > 0
    rooms = fill_from_documents([[b"low", b"", TEXT.encode()]], FINDER, lambda: ScanBuffer(30))
    labels = [room.label(n) for room in rooms for n in range(room.n_ranges)]
    assert labels[:3] == [("document 0", 0), ("document 1", 0), ("document 2", 0)]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_empty_rows_do_not_pile_up(ending: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path, [""] * 70_000, ending, group=70_000)
    rooms = list(fill_from_files([path], FINDER, lambda: ScanBuffer(64)))
    assert [room.n_ranges for room in rooms] == [1 << 16, 70_000 - (1 << 16)]
    rooms = list(fill_from_documents([[b""]] * 35_000 + [[b""] * 35_000], FINDER, lambda: ScanBuffer(64)))
    assert [room.n_ranges for room in rooms] == [1 << 16, 70_000 - (1 << 16)]
    assert [room.place(0).unit for room in rooms] == [0, 1 << 16]


def test_text_and_rows_share_no_buffer(tmp_path: Path) -> None:
    paths = [write_text(tmp_path, "low", ".txt"), write_rows(tmp_path, ["low"] * 3, ".jsonl")]
    rooms = fill_from_files([*paths, paths[0], paths[0]], FINDER, lambda: ScanBuffer(1000))
    assert [(room.holds_rows, room.n_ranges) for room in rooms] == [(False, 1), (True, 3), (False, 2)]


@pytest.mark.parametrize("ending", ROW_KINDS)
def test_a_row_that_does_not_fit_in_memory(ending: str, tmp_path: Path) -> None:
    class Full(ScanBuffer):
        def grow(self, capacity: int) -> None:
            raise MemoryError

    path = write_rows(tmp_path, ["low", "x" * 500], ending)
    with pytest.raises(CorpusError, match=r"rows\S*, row 2: holds no place to cut for 500 bytes"):
        taken(fill_from_files([path], FINDER, lambda: Full(64)))
