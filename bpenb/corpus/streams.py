"""Bytes of a file from its front, unpacked, and how much of the file on disk they took.

disk → counted → [gzip, all members | zstd, all frames] → bytes
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from bpenb.corpus.kinds import load_library
from bpenb.corpus.sources import Source
from bpenb.errors import CorpusError

__all__ = ["ByteStream", "open_stream"]

_PACKED_BLOCK = 1 << 16  # bytes read at once of a compressed file
_SKIPPED_BLOCK = 1 << 18


class _Counted(io.RawIOBase):
    """A file, or a part of it, and how many of its bytes were read."""

    def __init__(self, file: IO[bytes], source: Source) -> None:
        self._file = cast(io.BufferedReader, file)
        self._source = source
        self._left = None if source.end is None else source.end - source.start
        self.n_read = 0

    def readable(self) -> bool:
        return True

    def seek_to(self, offset: int) -> None:
        """Go to a byte of the file, as if those of the part before it had been read."""
        self._file.seek(offset)
        skipped = offset - self._source.start
        self.n_read += skipped
        if self._left is not None:
            self._left -= skipped

    def readinto(self, view: Any) -> int:
        view = memoryview(view)
        if self._left is not None:
            view = view[: self._left]
        n = self._file.readinto(view) or 0
        self.n_read += n
        if self._left is not None:
            self._left -= n
            if not n and self._left and len(view):
                raise CorpusError(
                    f"{self._source.name}: became shorter while it was read: {self._left:,} bytes before "
                    f"byte {self._source.end} are gone"
                )
        return n


class ByteStream:
    """Unpacked bytes of an input; made by `open_stream`."""

    def __init__(self, source: Source, counted: _Counted, unpacked: Any, damage: tuple[type[Exception], ...]):
        self.name = source.name
        self._counted = counted
        self._unpacked = unpacked
        self._damage = damage

    @property
    def n_disk_bytes(self) -> int:
        """Bytes of the file on disk that were read so far."""
        return self._counted.n_read

    def readinto(self, view: memoryview) -> int:
        """Read the next bytes; 0 at the end.

        Raises:
            CorpusError: compressed data that is damaged or cut short.
        """
        if not self._damage:
            return self._counted.readinto(view)
        try:
            n: int = self._unpacked.readinto(view)
        except self._damage as error:
            raise CorpusError(f"{self.name}: is damaged or cut short: {error}") from None
        if not n and len(view) and not self._counted.n_read:
            raise CorpusError(
                f"{self.name}: is damaged or cut short: it is empty, which no compressed file is"
            )
        return n

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, fewer only at the end."""
        view, filled = memoryview(bytearray(n_bytes)), 0
        while filled < n_bytes and (n := self.readinto(view[filled:])):
            filled += n
        # Copied, not cut: a profiler that samples frames (Dask has one) may still hold a view.
        return bytes(view[:filled])

    def skip(self, n_bytes: int) -> None:
        """Read and forget bytes.

        Raises:
            CorpusError: there are not so many.
        """
        view = memoryview(bytearray(min(n_bytes, _SKIPPED_BLOCK)))
        while n_bytes:
            n = self.readinto(view[:n_bytes])
            if not n:
                raise CorpusError(
                    f"{self.name}: became shorter: {n_bytes:,} bytes before the place to go on are gone"
                )
            n_bytes -= n


@contextmanager
def open_stream(source: Source, offset: int | None = None) -> Iterator[ByteStream]:
    """Open an input; what the system refuses in the block is an error with its name.

    Args:
        source: regular file or part of one, pipe, standard input, compressed or not.
        offset: unpacked bytes of the file before the place to begin at; None: where the source begins.

    Raises:
        CorpusError: it cannot be read, is damaged, or ends before `offset`.
    """
    try:
        if source.is_stdin:
            if sys.stdin is None:
                raise CorpusError("standard input: is closed")
            yield _stream(source, sys.stdin.buffer, offset)
        else:
            with source.path.open("rb", buffering=0) as file:
                yield _stream(source, file, offset)
    except OSError as error:
        raise CorpusError(f"{source.name}: cannot be read: {error.strerror or error}") from error


def _stream(source: Source, file: IO[bytes], offset: int | None) -> ByteStream:
    counted = _Counted(file, source)
    compression = source.kind.compression
    if not compression:
        stream = ByteStream(source, counted, None, ())
        if source.path.is_file() and not source.is_stdin:
            begin = source.start if offset is None else offset
            if begin > source.start + (source.n_bytes or 0):
                raise CorpusError(
                    f"{source.name}: became shorter: byte {begin:,}, the place to go on, is gone"
                )
            if begin:
                counted.seek_to(begin)
            return stream
    elif compression == "gzip":
        import gzip

        packed = io.BufferedReader(counted, _PACKED_BLOCK)
        unpacked = gzip.GzipFile(fileobj=packed, mode="rb")
        stream = ByteStream(source, counted, unpacked, (gzip.BadGzipFile, EOFError, zlib.error))
    else:
        zstd = load_library("zstd")
        window = zstd.DecompressionParameter.window_log_max  # of `zstd --long=31` too
        unpacked = zstd.ZstdFile(
            io.BufferedReader(counted, _PACKED_BLOCK), "rb", options={window: window.bounds()[1]}
        )
        stream = ByteStream(source, counted, unpacked, (zstd.ZstdError, EOFError))
    stream.skip(offset or 0)
    return stream
