"""Shares: inputs divided by bytes into parts that can be read on their own; together they are the whole.

    sources → [Part, …] by sizes alone → [Source, …] when they are read, each part at its exact ends

Whatever begins in the bytes of a part belongs to it: the text from a safe cut to the next one, a line of
JSON, a group of Parquet rows, a compressed file. So neighbours agree on where the one ends and the other
begins without a word, and a plan needs no look into any file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.files import next_cut
from bpenb.corpus.sources import Source, known_size, opened

__all__ = ["Part", "plan_shares", "settle_parts", "share_of"]

_WINDOW = 1 << 16  # bytes looked at for the end of a line


class Part(NamedTuple):
    """Bytes of a source, planned: what begins between `start` and `end` is meant.

    Attributes:
        source: all of it, with its end.
        start, end: bytes of the file.
    """

    source: Source
    start: int
    end: int


def plan_shares(sources: Sequence[Source], n_shares: int) -> list[list[Part]]:
    """Return the parts of n shares of equally many bytes; nothing is read.

    Args:
        sources: all inputs.
        n_shares: how many, at least 1.

    Raises:
        CorpusError: an input without a size (a pipe).

    Example:
        >>> from pathlib import Path
        >>> shares = plan_shares([Source(Path("a"), end=10), Source(Path("b"), 1, end=20)], 2)
        >>> [[(str(part.source.path), part.start, part.end) for part in share] for share in shares]
        [[('a', 0, 10), ('b', 0, 5)], [('b', 5, 20)]]
    """
    sizes = [known_size(source) for source in sources]
    total = sum(sizes)
    shares: list[list[Part]] = [[] for _ in range(n_shares)]
    number, upto, done = 0, total // n_shares, 0  # of the share at hand; its end; bytes before the source
    for source, size in zip(sources, sizes, strict=True):
        source = source._replace(end=source.start + size)
        start = 0
        while True:
            while upto <= done + start and number < n_shares - 1:
                number += 1
                upto = total * (number + 1) // n_shares
            end = min(size, upto - done)
            shares[number].append(Part(source, source.start + start, source.start + end))
            if end == size:
                break
            start = end
        done += size
    return shares


def settle_parts(parts: Iterable[Part], finder: CutFinder, *, keep_rows: bool = False) -> list[Source]:
    """Return what planned parts hold, with their exact ends; parts in which nothing begins are left out.

    Args:
        parts: as planned.
        finder: of the places where a text may be cut.
        keep_rows: whether a file of JSON lines is not divided, so that its rows have their numbers.

    Raises:
        CorpusError: an input that cannot be read.
    """
    found = []
    for part in parts:
        source, kind = part.source, part.source.kind
        if kind.content == "parquet" and part.start < part.end:
            found.append(source._replace(start=part.start, end=part.end))
        elif kind.compression or kind.content == "parquet" or (kind.is_rows and keep_rows):
            if part.start == source.start:
                found.append(source)
        else:
            start, end = _settled(source, part.start, finder), _settled(source, part.end, finder)
            if start < end:
                found.append(source._replace(start=start, end=end))
    return found


def share_of(
    sources: Sequence[Source], share: tuple[int, int], finder: CutFinder, *, keep_rows: bool = False
) -> list[Source]:
    """Return the i-th of n shares of about equally many bytes; together they are all of the text.

    Args:
        sources: all inputs; each machine gives the same, in the same order.
        share: (i, n) with 1 ≤ i ≤ n.
        finder, keep_rows: as of `settle_parts`.

    Raises:
        CorpusError: an input without a size (a pipe), or that cannot be read.
    """
    number, n_shares = share
    return settle_parts(plan_shares(sources, n_shares)[number - 1], finder, keep_rows=keep_rows)


def _settled(source: Source, position: int, finder: CutFinder) -> int:
    """Return the first place at `position` of a text or of lines, or after it, where a part may end."""
    assert source.end is not None
    if position in (source.start, source.end):
        return position
    with opened(source) as file:
        if not source.kind.is_rows:
            cut = next_cut(file, position, source.end, finder)
            return source.end if cut is None else cut
        file.seek(position - 1)
        while position <= source.end and (block := file.read(_WINDOW)):
            line_end = block.find(b"\n")
            if line_end >= 0:
                return min(position + line_end, source.end)
            position += len(block)
    return source.end
