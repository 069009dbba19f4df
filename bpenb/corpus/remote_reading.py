"""Reading a remote file: by byte ranges, or once from its front; connections that break are made again."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

from bpenb._remote import shown_url, try_again
from bpenb.errors import CorpusError

__all__ = ["RangeReader", "StreamReader"]

LEAST_BLOCK = 1 << 14  # bytes asked for at once
BLOCK = 1 << 23
_SKIPPED_BLOCK = 1 << 18


class RangeReader(io.RawIOBase):
    """A file of which any part can be asked for.

    A read after a seek asks for what is wanted; the next ones for twice as much each time, up to `BLOCK`,
    so that a few bytes come cheap, and a whole file comes in few requests.

    Args:
        url: for messages.
        file_system, path: where it is, as fsspec has it.
        n_bytes: its length when it was found.
    """

    def __init__(self, url: str, file_system: Any, path: str, n_bytes: int) -> None:
        self._url, self._file_system, self._path, self._n_bytes = url, file_system, path, n_bytes
        self._position = self._begin = self._ahead = 0
        self._block = memoryview(b"")  # its bytes from `_begin` on

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read from any place on."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; nothing is asked of the server."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._n_bytes}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, view: Any) -> int:
        """Read the next bytes, all that are wanted if there are so many.

        Raises:
            CorpusError: the connection broke again and again; the file became shorter.
        """
        view = memoryview(view).cast("B")
        n_read = 0
        while n_read < len(view) and self._position < self._n_bytes:
            within = self._position - self._begin
            if not 0 <= within < len(self._block):
                self._fetch(len(view) - n_read)
                within = 0
            part = self._block[within : within + len(view) - n_read]
            view[n_read : n_read + len(part)] = part
            n_read += len(part)
            self._position += len(part)
        return n_read

    def _fetch(self, n_wanted: int) -> None:
        """Get the bytes from the position on."""
        goes_on = len(self._block) and self._position == self._begin + len(self._block)
        self._ahead = min(2 * max(self._ahead, len(self._block)), BLOCK) if goes_on else 0
        start = self._position
        end = min(start + max(n_wanted, self._ahead, LEAST_BLOCK), self._n_bytes)

        def fetch() -> bytes:
            nonlocal end
            n_asked = end - start
            end = start + max(n_asked // 4, min(n_asked, LEAST_BLOCK))  # of another try, if this one fails
            data: bytes = self._file_system.cat_file(self._path, start=start, end=start + n_asked)
            if len(data) > n_asked:
                raise ValueError(f"{n_asked:,} bytes were asked for, and {len(data):,} came")
            if len(data) < n_asked:
                raise OSError(f"{n_asked:,} bytes were asked for, and {len(data):,} came")
            return data

        got = try_again(self._url, f"cannot be read from byte {start:,} on", fetch, CorpusError)
        self._block, self._begin = memoryview(got), start


class StreamReader(io.RawIOBase):
    """A file that can only be read from its front; after a break, what was read already is skipped."""

    def __init__(self, url: str, file_system: Any, path: str) -> None:
        self._url, self._file_system, self._path = url, file_system, path
        self._position = 0
        self._file: Any = None

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, view: Any) -> int:
        """Read some of the next bytes; 0 at the end.

        Raises:
            CorpusError: the connection broke again and again; the file became shorter.
        """
        view = memoryview(view).cast("B")
        if not len(view):
            return 0
        data: bytes = try_again(
            self._url,
            f"cannot be read from byte {self._position:,} on",
            lambda: self._read(len(view)),
            CorpusError,
        )
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _read(self, n_bytes: int) -> bytes:
        try:
            if self._file is None:
                self._file = self._file_system.open(self._path, "rb", block_size=0)
                self._skip(self._position)
            data: bytes = self._file.read(n_bytes)
        except Exception:
            self._close_file()
            raise
        return data

    def _skip(self, n_bytes: int) -> None:
        while n_bytes:
            n = len(self._file.read(min(n_bytes, _SKIPPED_BLOCK)))
            if not n:
                raise CorpusError(
                    f"{shown_url(self._url)}: became shorter while it was read: byte {self._position:,} "
                    "is gone"
                )
            n_bytes -= n

    def _close_file(self) -> None:
        if self._file is not None:
            with suppress(Exception):  # broken already
                self._file.close()
            self._file = None

    def close(self) -> None:
        """Close the connection."""
        self._close_file()
        super().close()
