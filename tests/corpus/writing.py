"""Writes the same documents as every kind of file, with the simplest code there is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
from bpenb.corpus.kinds import load_library

TEXT_KINDS = (".txt", ".txt.gz", ".txt.zst")
ROW_KINDS = (".jsonl", ".ndjson.gz", ".jsonl.zst", ".parquet")


def as_gzip(*members: bytes) -> bytes:
    return b"".join(gzip.compress(member) for member in members)


def as_zstd(*frames: bytes) -> bytes:
    zstd: Any = load_library("zstd")
    return b"".join(zstd.compress(frame) for frame in frames)


def halves(data: bytes) -> tuple[bytes, bytes]:
    return data[: len(data) // 2], data[len(data) // 2 :]


def packed(data: bytes, ending: str) -> bytes:
    """A file's bytes; compressed ones have two members or frames, each with a half."""
    if ending.endswith(".gz"):
        return as_gzip(*halves(data))
    return as_zstd(*halves(data)) if ending.endswith(".zst") else data


def write_text(folder: Path, text: str | bytes, ending: str, name: str = "corpus") -> Path:
    path = folder / f"{name}{ending}"
    path.write_bytes(packed(text.encode() if isinstance(text, str) else text, ending))
    return path


def write_rows(
    folder: Path, rows: Sequence[Any], ending: str, name: str = "rows", field: str = "text", group: int = 3
) -> Path:
    """Rows whose text is a string, or None."""
    path = folder / f"{name}{ending}"
    if ending == ".parquet":
        table = arrow.table({"id": list(range(len(rows))), field: arrow.array(rows, arrow.string())})
        arrow.parquet.write_table(table, path, row_group_size=group)
    else:
        lines = [json.dumps({"id": n, field: row}, ensure_ascii=n % 2 == 0) for n, row in enumerate(rows)]
        path.write_bytes(packed("".join(line + "\n" for line in lines).encode(), ending))
    return path
