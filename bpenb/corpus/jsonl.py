"""Rows of JSON, one to a line: large blocks are read, cut at LF, and parsed line by line.

Blank lines are no rows. A row's number counts rows; messages tell the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bpenb.corpus.inputs import BadRows
from bpenb.corpus.kinds import load_library
from bpenb.corpus.row_batch import RowBatch, batch_of_texts
from bpenb.corpus.sources import Source
from bpenb.corpus.streams import ByteStream, open_stream
from bpenb.errors import CorpusError

__all__ = ["read_jsonl"]

_BLOCK = 1 << 19  # bytes: 335 MB/s of text in rows of 600 bytes; 326 with 1 << 17, 284 with 1 << 21
_BLANK = b" \t\r"  # what JSON calls whitespace, and a line can hold
_BOM = b"\xef\xbb\xbf"
_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}
_UNFIT = (ValueError, LookupError, TypeError, AttributeError)  # what a row without a text raises


def read_jsonl(source: Source, field: str, bad_rows: BadRows, first: int = 0) -> Iterator[RowBatch]:
    """Yield the rows of a file of JSON lines, in batches of about half a megabyte of the file.

    Args:
        source: the file, or a part of it between two lines; a row's number, and the line that a message
            tells, are those of the part.
        field: the key of the text.
        bad_rows: is told of rows without a text.
        first: number of the first row to yield; those before it are not parsed.

    Raises:
        CorpusError: the file cannot be read or is damaged; a bad row; fewer than `first` rows.
    """
    loads = load_library("jsonl").loads
    n_rows = n_lines = n_disk = 0
    where = f" behind byte {source.start:,}" if source.start else ""
    with open_stream(source) as stream:
        for lines in _line_blocks(stream):
            if not n_lines and not source.start and lines[0].startswith(_BOM):  # of the file, not of a text
                lines[0] = lines[0][len(_BOM) :]
            rows = [row for line in lines if (row := line.strip(_BLANK))]
            skipped = min(max(first - n_rows, 0), len(rows))
            try:  # all are fit, mostly
                texts = [loads(row)[field].encode() for row in rows[skipped:]]
                numbers = np.arange(n_rows + skipped, n_rows + len(rows), dtype=np.int64)
            except _UNFIT:
                places = [n_lines + k for k, line in enumerate(lines) if line.strip(_BLANK)]
                read = zip(range(n_rows, n_rows + len(rows)), places, rows, strict=True)
                found = [
                    (number, text)
                    for number, place, row in list(read)[skipped:]
                    if (text := _text(loads, row, field, f"{source.name}, line {place + 1}{where}", bad_rows))
                    is not None
                ]
                texts = [text for _, text in found]
                numbers = np.array([number for number, _ in found], dtype=np.int64)
            n_rows, n_lines = n_rows + len(rows), n_lines + len(lines)
            yield batch_of_texts(texts, numbers, stream.n_disk_bytes - n_disk)
            n_disk = stream.n_disk_bytes
    if first > n_rows:
        raise CorpusError(
            f"{source.name}: has {n_rows:,} rows now; row {first + 1:,}, the place to go on, is gone"
        )


def _line_blocks(stream: ByteStream) -> Iterator[list[bytes]]:
    """Yield the lines of a file, never none; a line without an LF at the end of the file is one too."""
    begun: list[bytes] = []  # of the line that is not over
    while block := stream.read(_BLOCK):
        lines = block.split(b"\n")
        last = lines.pop()
        if not lines:
            begun.append(last)  # joined once, however long the line is
            continue
        lines[0] = b"".join([*begun, lines[0]])
        begun = [last]
        yield lines
    yield [b"".join(begun)]


def _text(loads: Any, row: bytes, field: str, place: str, bad_rows: BadRows) -> bytes | None:
    """Return the text of a row; if there is none, say why."""
    try:
        value = loads(row)
    except ValueError as error:
        bad_rows.meet(place, f"is no valid JSON: {error}")
        return None
    if not isinstance(value, dict):
        reason = f"is no JSON object, but {_spell_type(value)}"
    elif field not in value:
        reason = f"has no field {field!r}"
    elif value[field] is None:
        reason = f"the field {field!r} is null"
    elif not isinstance(value[field], str):
        reason = f"the field {field!r} is no string, but {_spell_type(value[field])}"
    else:
        text: bytes = value[field].encode()
        return text
    bad_rows.meet(place, reason)
    return None


def _spell_type(value: object) -> str:
    return _TYPES.get(type(value), "null")
