"""Rows of Parquet: a column of strings, taken from Arrow's offsets and data buffers as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from bpenb._arrays import ByteArray, Int64Array
from bpenb.corpus.inputs import BadRows
from bpenb.corpus.kinds import load_library
from bpenb.corpus.remote import RemoteFile
from bpenb.corpus.row_batch import RowBatch, batch_of_texts
from bpenb.corpus.sources import Source
from bpenb.errors import CorpusError

__all__ = ["read_parquet"]

_BATCH_BYTES = 1 << 20  # of text in a batch, about
_MOST_ROWS = 1 << 13  # in a batch
_FIRST_ROWS = 1 << 6  # looked at, to learn how large rows are
_READ_BUFFER = 1 << 17
_MOST_NAMES = 20  # of columns, in a message


def read_parquet(source: Source, field: str, bad_rows: BadRows, first: int = 0) -> Iterator[RowBatch]:
    """Yield the rows of a Parquet file, in batches of about a megabyte.

    Args:
        source: the file, or a part of it: the groups of rows that begin there.
        field: the column of the text.
        bad_rows: is told of rows without a text.
        first: number of the first row to yield; whole groups of rows before it are not read.

    Raises:
        CorpusError: the file cannot be read or is damaged; there is no such column, or it holds no
            strings; a bad row; fewer than `first` rows.
    """
    arrow = load_library("parquet")
    try:
        # Buffered, and without reading ahead: memory holds some pages, not a group of rows.
        with (
            _opened(source, arrow) as opened,
            arrow.parquet.ParquetFile(
                opened, buffer_size=_READ_BUFFER, pre_buffer=False, page_checksum_verification=True
            ) as file,
        ):
            _check_column(source, file.schema_arrow, field, arrow.types)
            n_all, n_read, n_disk = file.metadata.num_rows, 0, 0
            size = source.n_bytes or 0
            if first > n_all:
                raise CorpusError(
                    f"{source.name}: has {n_all:,} rows now; row {first + 1:,}, the place to go on, is gone"
                )
            groups = _groups(file, source)
            n_here = sum(n_in_group for _, _, n_in_group in groups)
            for group, n_rows, n_in_group in groups:
                n_read += n_in_group
                if not n_in_group or n_rows + n_in_group <= first:
                    continue
                n_left = n_read - n_in_group - n_rows  # of the groups that are not of this part
                for column in _read(file, group, field, _rows_per_batch(file, group, field)):
                    n_rows += len(column)
                    column = column.slice(max(first - (n_rows - len(column)), 0))
                    upto = size * (n_rows + n_left) // n_here  # a row's share of the file
                    yield _batch(column, n_rows - len(column), source, field, bad_rows, upto - n_disk)
                    n_disk = upto
            if n_disk < size:  # no rows, or none that were asked for
                yield batch_of_texts([], np.empty(0, dtype=np.int64), size - n_disk)
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise CorpusError(f"{source.name}: cannot be read: {os.strerror(error.errno)}") from error
        raise CorpusError(f"{source.name}: is damaged, cut short or no Parquet: {error}") from error


def _groups(file: Any, source: Source) -> list[tuple[int, int, int]]:
    """Return the groups of rows of a source: number, rows of the file before it, rows in it.

    A group begins where its first column has its first page of data; whatever a file says there, every
    group is in one part.
    """
    groups, n_before = [], 0
    size = source.path.n_bytes if isinstance(source.path, RemoteFile) else source.path.stat().st_size
    last = (size or 0) - 1
    for group in range(file.num_row_groups):
        told = file.metadata.row_group(group)
        begin = min(max(told.column(0).data_page_offset, 0), last)
        if source.start <= begin and (source.end is None or begin < source.end):
            groups.append((group, n_before, told.num_rows))
        n_before += told.num_rows
    return groups


def _opened(source: Source, arrow: Any) -> Any:
    """Return the file as Arrow reads it."""
    if not isinstance(source.path, RemoteFile):
        return arrow.OSFile(os.fsencode(source.path))
    if source.n_bytes is None:
        raise CorpusError(
            f"{source.name}: the server gives no parts of a file, which Parquet needs; fetch the file first"
        )
    return arrow.PythonFile(source.path.open(), mode="r")


def _check_column(source: Source, schema: Any, field: str, types: Any) -> None:
    names = schema.names
    if field not in names:
        listed = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
        raise CorpusError(
            f"{source.name}: has no column {field!r}, but {listed or 'none at all'}; name one "
            "(field=…, --field)"
        )
    kind = schema.types[names.index(field)]
    text = kind.value_type if types.is_dictionary(kind) else kind
    if not (types.is_string(text) or types.is_large_string(text) or types.is_string_view(text)):
        raise CorpusError(
            f"{source.name}: the column {field!r} holds {kind}, no strings; name another (--field)"
        )


def _rows_per_batch(file: Any, group: int, field: str) -> int:
    """Return how many rows of a group hold about `_BATCH_BYTES` of text.

    The size that the file tells counts a text that occurs again and again (a dictionary) only once,
    so the first rows are looked at as well.
    """
    told = file.metadata.row_group(group)
    columns = (told.column(k) for k in range(told.num_columns))
    per_row = sum(c.total_uncompressed_size for c in columns if c.path_in_schema == field) // told.num_rows
    if told.num_rows > _FIRST_ROWS:
        first = next(_read(file, group, field, _FIRST_ROWS))
        per_row = max(per_row, _as_strings(first).nbytes // len(first))
    return int(min(max(_BATCH_BYTES // max(per_row, 1), 1), _MOST_ROWS))


def _read(file: Any, group: int, field: str, n_rows: int) -> Iterator[Any]:
    """Yield the column of a group of rows in arrays of `n_rows`."""
    for batch in file.iter_batches(n_rows, row_groups=[group], columns=[field], use_threads=False):
        yield batch.column(batch.schema.names.index(field))


def _as_strings(column: Any) -> Any:
    """Return an array of strings with offsets and data."""
    arrow = load_library("parquet")
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(arrow.large_string()) if arrow.types.is_string_view(column.type) else column


def _batch(
    column: Any, first: int, source: Source, field: str, bad_rows: BadRows, n_disk_bytes: int
) -> RowBatch:
    """Return the rows of a column, the first of which has that number; bad ones are told of."""
    arrow = load_library("parquet")
    numbers = np.arange(first, first + len(column), dtype=np.int64)
    column = _as_strings(column)
    is_text = None
    if column.null_count:
        is_text = column.is_valid().to_numpy(zero_copy_only=False)
    try:
        column.validate(full=True)  # Parquet promises UTF-8, and nobody looks
    except arrow.ArrowInvalid:
        return _look_at_each(column, numbers, source, field, bad_rows, n_disk_bytes)
    if is_text is not None:
        for number in numbers[~is_text].tolist():
            bad_rows.meet(f"{source.name}, row {number + 1}", f"the field {field!r} is null")
        column, numbers = column.drop_null(), numbers[is_text]
    return RowBatch(*_arrays(column, arrow), numbers, n_disk_bytes)


def _arrays(column: Any, arrow: Any) -> tuple[ByteArray, Int64Array]:
    """Return the data and offsets of an array of strings, without a copy of the data."""
    _, offsets, data = column.buffers()
    if not len(column) or offsets is None:
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    width = np.int64 if arrow.types.is_large_string(column.type) else np.int32
    ends = np.frombuffer(offsets, dtype=width)[column.offset : column.offset + len(column) + 1]
    has_data = data is not None and data.size
    return np.frombuffer(data if has_data else b"", dtype=np.uint8), ends.astype(np.int64)


def _look_at_each(
    column: Any, numbers: Int64Array, source: Source, field: str, bad_rows: BadRows, n_disk_bytes: int
) -> RowBatch:
    """Return the rows of a column in which some are no UTF-8; slow, and rare."""
    arrow = load_library("parquet")
    binary = arrow.large_binary() if arrow.types.is_large_string(column.type) else arrow.binary()
    texts, kept = [], []
    for number, text in zip(numbers.tolist(), column.view(binary).to_pylist(), strict=True):
        place = f"{source.name}, row {number + 1}"
        if text is None:
            bad_rows.meet(place, f"the field {field!r} is null")
            continue
        try:
            text.decode()
        except UnicodeDecodeError as error:
            bad_rows.meet(place, f"byte {error.start} of the field {field!r} is not valid UTF-8")
            continue
        texts.append(text)
        kept.append(number)
    return batch_of_texts(texts, np.array(kept, dtype=np.int64), n_disk_bytes)
