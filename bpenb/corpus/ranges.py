"""Planning ranges: what worker processes are told to read, or are given as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.files import FileRange, TextBlock, plan_parts
from bpenb.corpus.reader import read_range
from bpenb.corpus.sampling import DocumentSampler
from bpenb.corpus.sources import Source, as_source

__all__ = ["plan_ranges"]


def plan_ranges(
    files: Iterable[Path | Source],
    finder: CutFinder,
    range_bytes: int,
    sampler: DocumentSampler | None = None,
) -> Iterator[FileRange | TextBlock]:
    """Yield ranges that cover the files in order; how each file is cut, `plan_parts` tells.

    With a sampler the text is read here, and what is kept of it is yielded: a worker that knows its
    range alone could not tell where the document around its start begins.

    Args:
        files: files that exist, or parts of them.
        finder: of the split pattern and special tokens.
        range_bytes: bytes per range, at least 1.
        sampler: decides which documents are kept; None: all.

    Raises:
        CorpusError: a file that cannot be read.
    """
    for file in files:
        source = as_source(file)
        parts = plan_parts(source.path, source.start, source.end, finder, range_bytes)
        if sampler is None:
            yield from parts
            continue
        sample = sampler.of(source.number, source.start)
        for part in parts:
            data = read_range(part)
            for start, end in sample.kept(data, part.start):
                yield TextBlock(part.source, part.start + start, data[start:end])
