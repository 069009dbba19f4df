"""Rows of any kind of file, and what a sample keeps of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bpenb.corpus.inputs import BadRows, InputOptions
from bpenb.corpus.row_batch import RowBatch
from bpenb.corpus.sampling import DocumentSampler
from bpenb.corpus.sources import Source

__all__ = ["read_rows"]


def read_rows(
    source: Source,
    options: InputOptions,
    bad_rows: BadRows,
    sampler: DocumentSampler | None = None,
    first: int = 0,
) -> Iterator[RowBatch]:
    """Yield the rows of a file in batches; some may be without a row.

    Args:
        source: a file of rows.
        options: which field holds the text.
        bad_rows: is told of rows without a text.
        sampler: decides which rows are kept, by their number.
        first: number of the first row to yield.

    Raises:
        CorpusError: the file cannot be read, or has a bad row that is not to be skipped.
    """
    for batch in _reader(source)(source, options.field, bad_rows, first):
        if sampler is None:
            yield batch
        else:
            yield batch.kept(sampler.keeps(np.array([source.number], dtype=np.int64), batch.numbers))


def _reader(source: Source) -> Callable[[Source, str, BadRows, int], Iterator[RowBatch]]:
    if source.kind.content == "jsonl":
        from bpenb.corpus.jsonl import read_jsonl

        return read_jsonl
    from bpenb.corpus.parquet import read_parquet

    return read_parquet
