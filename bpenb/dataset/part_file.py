"""A file that grows under a hidden name, can go on after a kill, and gets its own name at the end.

    .ids.bin.1f3a5c7e.part      room for a header │ appended bytes …
    ids.bin                     after `publish`

The state that `sync` gives has the length that is safe on disk. What a kill leaves behind it is
cut off by `reopen`; a file that is shorter has lost something, and is an error.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from bpenb.dataset.checksum import combine_crc32
from bpenb.errors import OutputError

__all__ = ["PartFile"]

READ_BLOCK = 1 << 20


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn the errors of the system into ours, which name the file."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


class PartFile:
    """An append-only file under a hidden name.

    Args:
        path: the name at the end.
        token: what makes the hidden name one of this run's; the same name is written over.
        header: room for it is left, and filled with this for now.

    Attributes:
        n_bytes: length, header included.
        published: whether it has its own name.

    Raises:
        OutputError: the file cannot be written.
    """

    def __init__(self, path: Path, token: str, header: bytes = b"") -> None:
        self.path = path
        self.part = path.with_name(f".{path.name}.{token}.part")
        self.n_bytes = len(header)
        self._n_header, self._header_crc, self._body_crc = len(header), zlib.crc32(header), 0
        self._settled = self.published = False
        self._file: IO[bytes] | None = None
        try:
            with _naming(path):
                self._file = self.part.open("wb", buffering=0)  # no buffer: nothing to flush after an error
                self._write_all(header)
        except BaseException:
            self.discard()
            raise

    def append(self, data: bytes | memoryview) -> None:
        """Write bytes at the end; after an error the file takes no more.

        Raises:
            OutputError: the disk is full, or the file cannot be written.
        """
        self._check_open()
        try:
            with _naming(self.path):
                self._write_all(data)
        except BaseException:  # Ctrl-C too: who knows how much was written
            self.close()
            raise
        self._body_crc = zlib.crc32(data, self._body_crc)
        self.n_bytes += len(data)

    def patch_header(self, header: bytes) -> None:
        """Write the header, now that all is known; it is as long as the room that was left."""
        assert len(header) == self._n_header
        if not header:
            return
        file = self._check_open()
        with _naming(self.path):
            file.seek(0)
            self._write_all(header)
            file.seek(self.n_bytes)
        self._header_crc = zlib.crc32(header)

    def _check_open(self) -> IO[bytes]:
        if self._file is None:
            raise OutputError(
                f"{self.path}: an earlier write failed; go on from the last state, or discard it"
            )
        return self._file

    def _write_all(self, data: bytes | memoryview) -> None:
        assert self._file is not None
        left = memoryview(data)
        while left:  # a raw write may stop half-way: at a signal, at the end of a disk
            left = left[self._file.write(left) :]

    @property
    def crc32(self) -> int:
        """CRC-32 of the whole file."""
        return combine_crc32(self._header_crc, self._body_crc, self.n_bytes - self._n_header)

    def read_blocks(self, block_bytes: int = READ_BLOCK) -> Iterator[bytes]:
        """Read what was written, without the header."""
        with self.part.open("rb") as file:
            file.seek(self._n_header)
            left = self.n_bytes - self._n_header
            while left and (data := file.read(min(left, block_bytes))):
                left -= len(data)
                yield data

    # --- going on ---------------------------------------------------------------------------------

    def sync(self) -> dict[str, Any]:
        """Bring everything to the disk; return what `reopen` needs, as JSON can hold it."""
        if not self._settled:
            file = self._check_open()
            try:
                with _naming(self.path):
                    os.fsync(file.fileno())
            except OutputError:  # what the system could not write it may have forgotten
                self.close()
                raise
        return {
            "path": str(self.path),
            "part": self.part.name,
            "settled": self._settled,
            "n_bytes": self.n_bytes,
            "n_header": self._n_header,
            "header_crc": self._header_crc,
            "body_crc": self._body_crc,
        }

    @classmethod
    def reopen(cls, state: dict[str, Any]) -> PartFile:
        """Open a part file again as it was at a `sync`; what was written later is cut off.

        A file that has its own name already (the run ended while publishing) is taken as it is.

        Raises:
            OutputError: the file is missing, or shorter than it was.
        """
        self = cls.__new__(cls)
        self.path = Path(state["path"])
        self.part = self.path.with_name(state["part"])
        self.n_bytes, self._n_header = state["n_bytes"], state["n_header"]
        self._header_crc, self._body_crc = state["header_crc"], state["body_crc"]
        self._settled, self.published, self._file = state["settled"], False, None
        if self._settled and not self.part.exists() and self._has_its_name():
            self.published = True
            return self
        try:
            self._file = self.part.open("r+b", buffering=0)
            found = self._file.seek(0, os.SEEK_END)
            if found >= self.n_bytes:
                self._file.truncate(self.n_bytes)
                self._file.seek(self.n_bytes)
                if self._settled:
                    self.close()
                return self
        except FileNotFoundError:
            raise OutputError(f"{self.part}: is missing, so the run cannot go on; start it anew") from None
        except OSError as error:
            self.close()
            raise OutputError(f"{self.part}: cannot be opened: {error.strerror or error}") from error
        self.close()
        raise OutputError(
            f"{self.part}: has {found:,} bytes, but {self.n_bytes:,} were safe on disk: something cut it; "
            "start the run anew"
        )

    def _has_its_name(self) -> bool:
        """Tell whether the file under the final name is this one, by size and checksum."""
        if not self.path.is_file() or self.path.stat().st_size != self.n_bytes:
            return False
        crc = 0
        with self.path.open("rb") as file:
            while data := file.read(READ_BLOCK):
                crc = zlib.crc32(data, crc)
        return crc == self.crc32

    # --- the end ----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring a whole file to the disk, and close it: nothing is added any more."""
        self.sync()
        self._settled = True
        self.close()

    def publish(self) -> None:
        """Give a settled file its own name; one that has it is replaced."""
        assert self._settled
        if self.published:
            return
        with _naming(self.path):
            self.part.replace(self.path)
        self.published = True

    def close(self) -> None:
        """Close the file; it stays where it is."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def discard(self) -> None:
        """Remove the file, unless it has its own name already."""
        self.close()
        with suppress(OSError):
            self.part.unlink(missing_ok=True)
