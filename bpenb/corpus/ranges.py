"""Planning ranges: what worker processes are told to read, or are given as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.files import FileRange, TextBlock, plan_parts, read_stream
from bpenb.corpus.inputs import BadRows, InputOptions
from bpenb.corpus.reader import read_range
from bpenb.corpus.remote import InputPath
from bpenb.corpus.rows import read_rows
from bpenb.corpus.sampling import DocumentSampler
from bpenb.corpus.sources import Source, as_source
from bpenb.corpus.streams import open_stream

__all__ = ["plan_ranges"]


def plan_ranges(
    files: Iterable[InputPath | Source],
    finder: CutFinder,
    range_bytes: int,
    sampler: DocumentSampler | None = None,
    *,
    options: InputOptions | None = None,
    bad_rows: BadRows | None = None,
) -> Iterator[FileRange | TextBlock]:
    """Yield ranges that cover the files in order; how plain text is cut, `plan_parts` tells.

    What is no plain text in a regular file is read here, and yielded as text: rows, compressed files,
    pipes. With a sampler so is all that is kept: a worker that knows its range alone could not tell
    where the document around its start begins.

    Args:
        files: files that exist, of any kind, or parts of text files.
        finder: of the split pattern and special tokens.
        range_bytes: bytes per range, at least 1.
        sampler: decides which documents are kept; None: all.
        options: how rows are read.
        bad_rows: is told of rows without a text; None: as `options` says.

    Raises:
        CorpusError: a file that cannot be read; a bad row.
    """
    options = options or InputOptions()
    bad_rows = bad_rows or BadRows(options.skip_bad_rows)
    untold = 0  # bytes on disk that no text has come of yet
    name = ""
    for number, file in enumerate(files):
        source = as_source(file, number)
        name = source.name
        if source.kind.is_rows:
            parts = _row_blocks(source, finder, range_bytes, sampler, options, bad_rows)
        else:
            parts = _text_parts(source, finder, range_bytes)
            if sampler is not None:
                parts = _kept(parts, source, sampler)
        for part in parts:
            if isinstance(part, TextBlock):
                untold += part.n_disk_bytes
                if not part.data:
                    continue
                part, untold = part._replace(n_disk_bytes=untold), 0
            yield part
    if untold:
        yield TextBlock(name, 0, b"", untold)


def _text_parts(source: Source, finder: CutFinder, range_bytes: int) -> Iterator[FileRange | TextBlock]:
    if source.kind.has_byte_ranges and not source.is_stdin and source.path.is_file():
        yield from plan_parts(source.path, source.start, source.end, finder, range_bytes)
        return
    with open_stream(source) as stream:
        n_disk = 0
        for block in read_stream(stream, source.name, finder, range_bytes):
            yield block._replace(n_disk_bytes=stream.n_disk_bytes - n_disk)
            n_disk = stream.n_disk_bytes


def _kept(
    parts: Iterable[FileRange | TextBlock], source: Source, sampler: DocumentSampler
) -> Iterator[FileRange | TextBlock]:
    """Yield what a sample keeps of the text, after a block without any for the bytes on disk."""
    sample = sampler.of(source.number, source.start)
    for part in parts:
        data = read_range(part)
        yield TextBlock(part.source, part.start, b"", part.n_disk_bytes)
        for start, end in sample.kept(data, part.start):
            yield TextBlock(part.source, part.start + start, data[start:end])


def _row_blocks(
    source: Source,
    finder: CutFinder,
    range_bytes: int,
    sampler: DocumentSampler | None,
    options: InputOptions,
    bad_rows: BadRows,
) -> Iterator[FileRange | TextBlock]:
    """Yield each row as a text, large ones cut; before a batch a block without any for its bytes on disk."""
    for batch in read_rows(source, options, bad_rows, sampler):
        yield TextBlock(source.name, 0, b"", batch.n_disk_bytes)
        for number, text in zip(batch.numbers.tolist(), batch.texts(), strict=True):
            name = f"{source.name}, row {number + 1}"
            if len(text) <= 2 * range_bytes:
                yield TextBlock(name, 0, text)
                continue
            for start, end in finder.spans(text, range_bytes):
                yield TextBlock(name, start, text[start:end])
