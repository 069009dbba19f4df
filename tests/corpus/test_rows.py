"""Rows of JSON and Parquet: which texts they hold, and which are bad."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest
from bpenb.corpus import BadRows, DocumentSampler, InputOptions, Source, SpecialScanner
from bpenb.corpus import jsonl as jsonl_module
from bpenb.corpus import parquet as parquet_module
from bpenb.corpus.rows import read_rows
from bpenb.errors import CorpusError
from tests.corpus.writing import ROW_KINDS, as_gzip, as_zstd, write_rows

TEXTS = ["low", "", "é中🙂 \n\r\n\t", "\ufefflow", "a\0b", "x" * 5000, '\\n "quoted"', " ", "end"]
every_kind = pytest.mark.parametrize("ending", ROW_KINDS)


def rows_of(
    path: Path, bad_rows: BadRows | None = None, first: int = 0, **options: Any
) -> list[tuple[int, str]]:
    """Number and text of every row; the bytes on disk add up to those of the file."""
    source = Source(path, number=7)
    batches = list(read_rows(source, InputOptions(**options), bad_rows or BadRows(), None, first))
    assert sum(batch.n_disk_bytes for batch in batches) == path.stat().st_size
    found = []
    for batch in batches:
        assert batch.offsets.shape[0] == batch.n_rows + 1 == len(batch.texts()) + 1
        found += zip(batch.numbers.tolist(), (text.decode() for text in batch.texts()), strict=True)
    return found


@pytest.fixture(params=[1, 7, 100, 1 << 19])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(jsonl_module, "_BLOCK", request.param)
    monkeypatch.setattr(parquet_module, "_BATCH_BYTES", request.param)
    return int(request.param)


@every_kind
def test_every_row_is_a_document(ending: str, block: int, tmp_path: Path) -> None:
    path = write_rows(tmp_path, TEXTS, ending)
    assert rows_of(path) == list(enumerate(TEXTS))
    for first in range(len(TEXTS) + 1):
        assert rows_of(path, first=first) == list(enumerate(TEXTS))[first:]
    with pytest.raises(CorpusError, match="has 9 rows now; row 11, the place to go on, is gone"):
        rows_of(path, first=10)


@every_kind
def test_no_rows(ending: str, tmp_path: Path) -> None:
    assert rows_of(write_rows(tmp_path, [], ending)) == []


@every_kind
def test_another_field(ending: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path, TEXTS, ending, field="the content.of it")
    assert rows_of(path, field="the content.of it") == list(enumerate(TEXTS))


# --- JSON -----------------------------------------------------------------------------------------


def write_lines(tmp_path: Path, lines: Sequence[bytes], end: bytes = b"\n") -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(line + end for line in lines))
    return path


def test_blank_lines_are_no_rows_and_messages_tell_the_line(block: int, tmp_path: Path) -> None:
    lines = [b"", b'{"text": "a"}', b" \t\r", b'  {"text": "b"}\r', b"", b'{"text": 3}', b'{"text": "c"}']
    path = write_lines(tmp_path, lines)
    bad_rows = BadRows(skip=True)
    assert rows_of(path, bad_rows) == [(0, "a"), (1, "b"), (3, "c")]
    assert bad_rows.n_skipped == 1
    assert bad_rows.first == f"{path}, line 6: the field 'text' is no string, but a number"
    with pytest.raises(CorpusError, match=r"rows\.jsonl, line 6: the field .*skip_bad_rows=True"):
        rows_of(path)
    assert rows_of(path, first=3) == [(3, "c")]  # what is skipped is not looked at


def test_a_last_line_without_an_end_and_crlf(block: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "a\\r\\n"}\r\n{"text": "b"}')
    assert rows_of(path) == [(0, "a\r\n"), (1, "b")]


def test_only_lf_ends_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x7f"
    path = write_lines(tmp_path, [json.dumps({"text": text}, ensure_ascii=False).encode()])
    assert rows_of(path) == [(0, text)]


def test_a_bom_of_the_file_is_none_of_the_text(tmp_path: Path) -> None:
    path = write_lines(tmp_path, [b'\xef\xbb\xbf{"text": "\xef\xbb\xbfa"}', b'{"text": "b"}'])
    assert rows_of(path) == [(0, "\ufeffa"), (1, "b")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "a"', "is no valid JSON"),
        (b"{'text': 'a'}", "is no valid JSON"),
        (b'{"text": "a"} x', "is no valid JSON"),
        (b'{"text": "\xff"}', "is no valid JSON"),
        (b'{"text": "a", "other": "\xc3("}', "is no valid JSON"),
        (b'{"text": "\\ud800"}', "is no valid JSON"),  # a lone surrogate
        (b'{"text": "\\udc00\\ud800"}', "is no valid JSON"),
        (b'{"text": "\xed\xa0\x80"}', "is no valid JSON"),
        (b"NaN", "is no valid JSON"),
        (b"\x0b", "is no valid JSON"),
        (b'"text"', "is no JSON object, but a string"),
        (b'["text"]', "is no JSON object, but a list"),
        (b"null", "is no JSON object, but null"),
        (b"{}", "has no field 'text'"),
        (b'{"Text": "a"}', "has no field 'text'"),
        (b'{"text": null}', "the field 'text' is null"),
        (b'{"text": ["a"]}', "the field 'text' is no string, but a list"),
        (b'{"text": {"text": "a"}}', "the field 'text' is no string, but an object"),
        (b'{"text": 1.5}', "the field 'text' is no string, but a number"),
        (b'{"text": true}', "the field 'text' is no string, but a boolean"),
        (b"[" * 5000, "is no valid JSON"),
    ],
)
def test_bad_rows_of_json(line: bytes, reason: str, block: int, tmp_path: Path) -> None:
    path = write_lines(tmp_path, [b'{"text": "a"}', line, line, b'{"text": "b"}'])
    with pytest.raises(CorpusError, match=rf"rows\.jsonl, line 2: {reason}") as caught:
        rows_of(path)
    assert "--skip-bad-rows" in str(caught.value)
    bad_rows = BadRows(skip=True)
    assert rows_of(path, bad_rows) == [(0, "a"), (3, "b")]
    assert bad_rows.n_skipped == 2 and bad_rows.first.startswith(f"{path}, line 2: {reason}")


def test_pairs_of_surrogates_and_double_keys(tmp_path: Path) -> None:
    path = write_lines(tmp_path, [b'{"text": "x", "text": "\\ud83d\\ude42"}'])
    assert rows_of(path) == [(0, "🙂")]


def test_a_line_far_longer_than_a_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jsonl_module, "_BLOCK", 64)
    texts = ["low " * 100_000, "", "low"]
    assert rows_of(write_rows(tmp_path, texts, ".jsonl")) == list(enumerate(texts))


@pytest.mark.parametrize(("ending", "compress"), [(".gz", as_gzip), (".zst", as_zstd)])
def test_rows_of_a_file_that_is_cut_short(ending: str, compress: Any, tmp_path: Path) -> None:
    path = tmp_path / f"rows.jsonl{ending}"
    path.write_bytes(compress(b'{"text": "low"}\n' * 1000)[:-3])
    with pytest.raises(CorpusError, match=rf"rows\.jsonl\{ending}: is damaged or cut short"):
        rows_of(path, BadRows(skip=True))


# --- Parquet --------------------------------------------------------------------------------------


def write_column(tmp_path: Path, column: Any, **options: Any) -> Path:
    path = tmp_path / "rows.parquet"
    arrow.parquet.write_table(arrow.table({"id": list(range(len(column))), "text": column}), path, **options)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        arrow.string(),
        arrow.large_string(),
        arrow.string_view(),
        arrow.dictionary(arrow.int32(), arrow.string()),
    ],
    ids=str,
)
@pytest.mark.parametrize("group", [1, 4, 100])
def test_columns_of_every_kind_of_string(kind: Any, group: int, block: int, tmp_path: Path) -> None:
    texts = [*TEXTS, None, *TEXTS[::-1], None]
    column = arrow.array(texts).cast(kind) if str(kind) != "string_view" else arrow.array(texts, kind)
    path = write_column(tmp_path, column, row_group_size=group)
    expected = [(n, text) for n, text in enumerate(texts) if text is not None]
    bad_rows = BadRows(skip=True)
    assert rows_of(path, bad_rows) == expected
    assert (bad_rows.n_skipped, bad_rows.first) == (2, f"{path}, row 10: the field 'text' is null")
    with pytest.raises(
        CorpusError, match=r"rows\.parquet, row 10: the field 'text' is null; .*skip_bad_rows"
    ):
        rows_of(path)
    for first in range(len(texts)):
        assert rows_of(path, BadRows(skip=True), first) == [row for row in expected if row[0] >= first]


def test_groups_without_rows_and_names_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = arrow.table({"text": ["a", "b"]})
    with arrow.parquet.ParquetWriter(path, table.schema) as writer:
        for part in (table[:0], table, table[:0], table[:1], table[:0]):
            writer.write_table(part)
    with contextlib.suppress(OSError, UnicodeError):  # some systems know no such name
        path = path.rename(tmp_path / os.fsdecode(b"\xff.parquet"))
    assert rows_of(path) == [(0, "a"), (1, "b"), (2, "a")]
    assert rows_of(path, first=2) == [(2, "a")]


def test_groups_before_the_first_row_are_not_read(tmp_path: Path) -> None:
    path = write_column(tmp_path, arrow.array(["low " * 500, "lower " * 500, "lowest"]), row_group_size=1)
    start = arrow.parquet.read_metadata(path).row_group(0).column(1).dictionary_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 30] = b"\xff" * 30
    path.write_bytes(data)
    assert rows_of(path, first=1) == [(1, "lower " * 500), (2, "lowest")]
    with pytest.raises(CorpusError, match="damaged"):
        rows_of(path)


def test_texts_that_occur_again_and_again_come_in_small_batches(tmp_path: Path) -> None:
    """The file stores the text once, in a dictionary."""
    path = write_column(tmp_path, arrow.array(["x" * 100_000] * 500), row_group_size=500)
    assert path.stat().st_size < 100_000
    sizes = [batch.n_rows for batch in read_rows(Source(path), InputOptions(), BadRows())]
    assert sum(sizes) == 500 and max(sizes) <= 10


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    for width in (arrow.string(), arrow.large_string()):
        data = arrow.array([b"a", b"b\xff", None, b"", "é".encode()], arrow.binary())
        large = data if width == arrow.string() else data.cast(arrow.large_binary())
        path = write_column(tmp_path, large.view(width))
        bad_rows = BadRows(skip=True)
        assert rows_of(path, bad_rows) == [(0, "a"), (3, ""), (4, "é")]
        assert bad_rows.n_skipped == 2
        assert bad_rows.first == f"{path}, row 2: byte 1 of the field 'text' is not valid UTF-8"
        with pytest.raises(CorpusError, match="row 2: byte 1"):
            rows_of(path)


@pytest.mark.parametrize("column", [[1, 2], [b"a", b"b"], [["a"], ["b"]], [{"a": "b"}, None], [None, None]])
def test_a_column_of_something_else(column: list[Any], tmp_path: Path) -> None:
    path = write_column(tmp_path, arrow.array(column))
    with pytest.raises(CorpusError, match=r"rows\.parquet: the column 'text' holds .*, no strings"):
        rows_of(path, BadRows(skip=True))


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = write_rows(tmp_path, ["a"], ".parquet")
    with pytest.raises(CorpusError, match=r"rows\.parquet: has no column 'content', but id, text; name one"):
        rows_of(path, BadRows(skip=True), field="content")


def test_parquet_that_is_damaged_or_none(tmp_path: Path) -> None:
    path = write_rows(tmp_path, [text * 100 for text in TEXTS], ".parquet")
    whole = path.read_bytes()
    start = arrow.parquet.read_metadata(path).row_group(0).column(1).dictionary_page_offset
    damaged = bytearray(whole)
    damaged[start : start + 30] = b"\xff" * 30
    for data in (b"", b"PAR1", whole[: len(whole) // 2], whole[:-5], b'{"text": "a"}\n', bytes(damaged)):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=r"rows\.parquet: is damaged, cut short or no Parquet"):
            rows_of(path, BadRows(skip=True))


def test_parquet_with_checksums_that_do_not_fit(tmp_path: Path) -> None:
    column = arrow.array(["low lower lowest"])
    path = write_column(
        tmp_path,
        column,
        use_dictionary=False,
        compression="none",
        write_page_checksum=True,
        write_statistics=False,
    )
    assert rows_of(path) == [(0, "low lower lowest")]
    path.write_bytes(path.read_bytes().replace(b"low lower lowest", b"low lower lowesu"))
    with pytest.raises(CorpusError, match=r"rows\.parquet: is damaged"):
        rows_of(path)


# --- samples --------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_rows_are_sampled_by_their_number(ending: str, probability: float, tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(300)]
    texts[20] = texts[30] = None  # type: ignore[call-overload]
    path = write_rows(tmp_path, texts, ending, group=50)
    sampler = DocumentSampler(SpecialScanner(()), probability, seed=3)
    bad_rows = BadRows(skip=True)
    found: list[tuple[int, bytes]] = []
    for batch in read_rows(Source(path, number=4), InputOptions(), bad_rows, sampler):
        found += zip(batch.numbers.tolist(), batch.texts(), strict=True)
    kept = sampler.keeps(np.array([4]), np.arange(300))
    assert found == [(n, b"text %d" % n) for n in range(300) if kept[n] and n not in (20, 30)]
    assert bad_rows.n_skipped == 2


# --- options --------------------------------------------------------------------------------------


def test_options_are_checked() -> None:
    assert InputOptions() == InputOptions("text", None, False)
    with pytest.raises(TypeError, match="field must be a str, not int"):
        InputOptions(field=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="document_separator must be a str or None, not bytes"):
        InputOptions(document_separator=b"\n\n")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="skip_bad_rows must be a bool, not int"):
        InputOptions(skip_bad_rows=1)  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="document_separator is empty"):
        InputOptions(document_separator="")
    with pytest.raises(CorpusError, match="lone surrogate"):
        InputOptions(document_separator="\ud800")
