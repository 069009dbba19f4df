"""Partial counts on a disk: words by partition, each partition ascending by its bytes.

    of each partition   bytes      uint8, all words one after the other
                        lengths    int64, of each word
                        counts     int64
    JSON                whose counts, of which shards, where each partition is, what its checksum is
    16 bytes            length of the JSON, and what kind of file this is

One file has all partitions of a shard: of 100,000 shards there are 100,000 files, not millions. It appears
under its name when it is complete, and the same words always make the same bytes.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, CountArray, Int64Array
from bpenb._atomic import atomic_write
from bpenb.counting import Words
from bpenb.errors import CountsError

__all__ = ["Partial", "PartialWriter", "Partition", "check_plan", "open_partial", "write_partial"]

_MAGIC = b"bpenbPC1"
_TAIL = 16
_IN_MEMORY = 1 << 22  # bytes of lengths and of counts that wait in memory, not in temporary files
_BLOCK = 1 << 20


class _Place(NamedTuple):
    """Where a partition is in its file, and how much it holds."""

    number: int
    n_words: int
    n_bytes: int
    offset: int
    checksum: int


@dataclass
class Partition:
    """The words of one partition of a file; reads as a `Run` does.

    Attributes:
        path: of the file.
        offset: byte of it at which the partition begins.
        n_words, n_bytes: in it.
    """

    path: Path
    offset: int
    n_words: int
    n_bytes: int

    def read_lengths(self, first: int, n: int) -> Int64Array:
        """Return the lengths of `n` words, from number `first` on."""
        return np.fromfile(self.path, dtype=np.int64, count=n, offset=self.offset + self.n_bytes + 8 * first)

    def read_counts(self, first: int, n: int) -> CountArray:
        """Return the counts of `n` words, from number `first` on."""
        behind = self.n_bytes + 8 * (self.n_words + first)
        return np.fromfile(self.path, dtype=np.int64, count=n, offset=self.offset + behind)

    def read_bytes(self, first: int, n: int) -> ByteArray:
        """Return `n` bytes of words, from byte `first` on."""
        return np.fromfile(self.path, dtype=np.uint8, count=n, offset=self.offset + first)


class Partial(NamedTuple):
    """What a file of partial counts says of itself.

    Attributes:
        path: of the file.
        plan: name of the plan that it belongs to.
        shards: (first, last) of those that were counted.
        report: what there is to tell of counting them.
        places: of its partitions.
    """

    path: Path
    plan: str
    shards: tuple[int, int]
    report: dict[str, Any]
    places: tuple[_Place, ...]

    def partition(self, number: int) -> Partition:
        """Return a partition, after reading it once to compare its checksum.

        Raises:
            CountsError: there is none of that number, or it is damaged.
        """
        place = next((place for place in self.places if place.number == number), None)
        if place is None:
            raise _damaged(self.path, f"partition {number} is missing")
        with _reading(self.path) as file:
            file.seek(place.offset)
            checksum, left = 0, place.n_bytes + 16 * place.n_words
            while left and (data := file.read(min(left, _BLOCK))):
                checksum, left = zlib.crc32(data, checksum), left - len(data)
        if left or checksum != place.checksum:
            raise _damaged(self.path, f"the checksum of partition {number} is not that of its words")
        return Partition(self.path, place.offset, place.n_words, place.n_bytes)


class PartialWriter:
    """Writes partitions, one after the other; made by `write_partial`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._offset = self._checksum = 0
        self.places: list[_Place] = []

    def add(self, number: int, portions: Iterable[Words]) -> None:
        """Write a partition.

        Args:
            number: of the partition.
            portions: its words, ascending by their bytes.
        """
        folder = os.environ.get("BPENB_TMPDIR") or None
        begin, n_words = self._offset, 0
        self._checksum = 0
        with (
            tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=folder) as lengths,
            tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=folder) as counts,
        ):
            for word_bytes, word_offsets, word_counts in portions:
                self._write(word_bytes.tobytes())
                lengths.write(np.diff(word_offsets).tobytes())
                counts.write(word_counts.tobytes())
                n_words += word_counts.shape[0]
            n_bytes = self._offset - begin
            for waiting in (lengths, counts):
                waiting.seek(0)
                while data := waiting.read(_BLOCK):
                    self._write(data)
        self.places.append(_Place(number, n_words, n_bytes, begin, self._checksum))

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._checksum = zlib.crc32(data, self._checksum)
        self._offset += len(data)


@contextmanager
def write_partial(
    path: Path, plan: str, shards: tuple[int, int], report: Mapping[str, Any]
) -> Iterator[PartialWriter]:
    """Open a file of partial counts for writing; it appears when the block ends well.

    Args:
        path, plan, shards, report: as of `Partial`.

    Raises:
        OutputError: it cannot be written.
    """
    with atomic_write(path) as file:
        writer = PartialWriter(file)
        yield writer
        told = {"plan": plan, "shards": shards, "report": report, "partitions": writer.places}
        encoded = json.dumps(told).encode()
        file.write(encoded + len(encoded).to_bytes(8, "little") + _MAGIC)


def open_partial(path: Path) -> Partial:
    """Return what a file of partial counts says of itself.

    Raises:
        CountsError: it is missing, damaged or something else.
    """
    with _reading(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        tail = file.read(_TAIL)
        n_bytes = int.from_bytes(tail[:8], "little")
        if tail[8:] != _MAGIC or n_bytes > size - _TAIL:
            raise _damaged(path, "it does not end as such a file does")
        file.seek(size - _TAIL - n_bytes)
        encoded = file.read(n_bytes)
    try:
        told = json.loads(encoded)
        first, last = told["shards"]
        places = tuple(_Place(*place) for place in told["partitions"])
        return Partial(path, told["plan"], (first, last), told["report"], places)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, str(error)) from error


def check_plan(partials: Iterable[Partial], plan: str) -> None:
    """Refuse files that belong to another plan than the one of that name.

    Raises:
        CountsError: one does.
    """
    for partial in partials:
        if partial.plan != plan:
            raise CountsError(
                f"{partial.path}: belongs to another plan; remove this file, and resume (resume=True, "
                "--resume): it is made again"
            )


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise CountsError(f"{path}: cannot be read: {error.strerror or error}") from error


def _damaged(path: Path, reason: str) -> CountsError:
    return CountsError(
        f"{path}: no partial counts, or damaged: {reason}; remove this file, and resume (resume=True, "
        "--resume): it is made again"
    )
