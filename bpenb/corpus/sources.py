"""Inputs: whole files or parts of them, each with its weight; capped.

files → [Source, …] → capped at a safe cut → the i-th of n shares (shares.py) → ranges, buffers
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, NamedTuple, TypeAlias

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.finding import STDIN, Files, resolve_each
from bpenb.corpus.kinds import Kind, check_libraries, kind_of
from bpenb.corpus.remote import InputPath, RemoteFile
from bpenb.errors import BpenbError, CorpusError

__all__ = [
    "Source",
    "WeightedFiles",
    "as_source",
    "cap_sources",
    "check_weight",
    "corpus_identity",
    "known_size",
    "opened",
    "resolve_sources",
    "total_bytes",
]

WeightedFiles: TypeAlias = "Files | Mapping[str | os.PathLike[str], int]"

_MOST_WEIGHT = 2**63 - 1
_WINDOW = 1 << 16  # bytes looked at for the last cut before a cap
_SAMPLE = 1 << 12  # bytes at either end of a file that identify it


class Source(NamedTuple):
    """An input file, or a part of it between two safe cuts.

    Attributes:
        path: of the file; `-` is standard input.
        number: its place among the inputs, from 0.
        weight: how often its words count.
        start, end: bytes of the part; an end of None is where the file ends. Text begins and ends at safe
            cuts, JSON lines between two lines; of Parquet the groups of rows that begin in these bytes are
            meant.
    """

    path: InputPath
    number: int = 0
    weight: int = 1
    start: int = 0
    end: int | None = None

    @property
    def is_stdin(self) -> bool:
        """Whether this is standard input."""
        return self.path == STDIN

    @property
    def name(self) -> str:
        """For messages."""
        return "standard input" if self.is_stdin else str(self.path)

    @property
    def kind(self) -> Kind:
        """What it holds."""
        return kind_of(self.path)

    @property
    def n_bytes(self) -> int | None:
        """Length in bytes on disk now, or None if there is none to tell (a pipe)."""
        if self.end is not None:
            return self.end - self.start
        if isinstance(self.path, RemoteFile) or self.is_stdin:
            return None
        return self.path.stat().st_size - self.start if self.path.is_file() else None


def as_source(file: InputPath | Source, number: int = 0) -> Source:
    """Return a path as the whole file, input of that number, and a source as it is."""
    return file if isinstance(file, Source) else _whole(file, number)


def _whole(path: InputPath, number: int, weight: int = 1) -> Source:
    """Return a whole file; what is remote is as long as it was when it was found."""
    return Source(path, number, weight, end=path.n_bytes if isinstance(path, RemoteFile) else None)


def check_weight(weight: object) -> int:
    """Return how often something counts, checked.

    Raises:
        BpenbError: below 1, or more than an int64 holds.
        TypeError: no int.
    """
    number = weight.__index__() if hasattr(weight, "__index__") else None
    if isinstance(weight, bool) or number is None:
        raise TypeError(f"a weight must be an int, not {type(weight).__name__}")
    if not 1 <= number <= _MOST_WEIGHT:
        raise BpenbError(f"a weight is {number}; it must be a positive integer below 2**63")
    return int(number)


def resolve_sources(files: WeightedFiles) -> list[Source]:
    """Return the inputs, after looking that each is there.

    Args:
        files: paths, URLs, globs and folders as of `resolve_files`, or a mapping of these to weights.

    Raises:
        BpenbError: a weight below 1.
        CorpusError: no file at all, one that is missing, or that needs a package which is not here.
        TypeError: something that is no path, or a weight that is no int.
    """
    found = resolve_each(files)
    weights = map(check_weight, files.values()) if isinstance(files, Mapping) else [1] * len(found)
    weighted = [(path, weight) for paths, weight in zip(found, weights, strict=True) for path in paths]
    for kind in {kind_of(path) for path, _ in weighted}:
        check_libraries(kind)
    return [_whole(path, number, weight) for number, (path, weight) in enumerate(weighted)]


def total_bytes(sources: Iterable[Source]) -> int | None:
    """Return the bytes of all sources, or None if one has no size to tell (a pipe)."""
    total = 0
    for source in sources:
        n_bytes = source.n_bytes
        if n_bytes is None:
            return None
        total += n_bytes
    return total


def cap_sources(sources: Sequence[Source], n_bytes: int, finder: CutFinder) -> list[Source]:
    """Return the sources, those larger than `n_bytes` up to the last safe cut that is not behind it.

    Raises:
        CorpusError: a file that cannot be read, has no size (a pipe) or no byte ranges, or no cut in its
            first `n_bytes`.
    """
    return [_capped(source, n_bytes, finder) for source in sources]


def _capped(source: Source, n_bytes: int, finder: CutFinder) -> Source:
    size = source.n_bytes
    if size is None:
        raise CorpusError(
            f"{source.name}: has no size (a pipe?), so it cannot be capped; cap it where it is written"
        )
    if not source.kind.has_byte_ranges:
        raise CorpusError(
            f"{source.name}: max_bytes_per_source is for plain text, not for rows or compressed files; take "
            "a sample of them instead, or cap them where they are written"
        )
    if size <= n_bytes:
        return source
    with opened(source) as file:
        cut = _last_cut(file, n_bytes, finder)
    if cut is None:
        raise CorpusError(
            f"{source.name}: holds no place to cut in its first {n_bytes:,} bytes; take a larger "
            "max_bytes_per_source, or separate documents with a special token"
        )
    return source._replace(end=cut)


def _last_cut(file: IO[bytes], position: int, finder: CutFinder) -> int | None:
    """Return the last safe cut of a file at `position` or before it, looking ever further to the front."""
    while position > 0:
        low = max(0, position - _WINDOW)
        begin = max(0, low - finder.context)
        file.seek(begin)
        cut = finder.last(file.read(position - begin + finder.margin), low - begin, at_end=False)
        if cut is not None:
            return begin + cut
        position = low
    return None


def known_size(source: Source) -> int:
    """Return the length of a source in bytes.

    Raises:
        CorpusError: it has none (a pipe).
    """
    size = source.n_bytes
    if size is None:
        raise CorpusError(
            f"{source.name}: has no size (a pipe?), so it cannot be cut into shards; write it to a file"
        )
    return size


def corpus_identity(sources: Sequence[Source], *settings: object) -> str:
    """Return a name for the text of sources: their sizes, weights, first and last bytes, and `settings`.

    A change in the middle of a file that leaves its size alone is not seen. Paths do not matter.
    """
    digest = hashlib.sha256(json.dumps(settings).encode())
    for source in sources:
        size = known_size(source)
        digest.update(json.dumps([size, source.weight]).encode())
        with opened(source) as file:
            for place in (0, max(0, size - _SAMPLE)):
                file.seek(source.start + place)
                digest.update(file.read(min(size, _SAMPLE)))
    return digest.hexdigest()[:32]


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """Open the file of a source; what goes wrong in the block is an error with its name."""
    try:
        with source.path.open("rb", buffering=0) as file:
            yield file
    except OSError as error:
        raise CorpusError(f"{source.name}: cannot be read: {error.strerror or error}") from error
