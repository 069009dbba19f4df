"""Writing a file as a whole or not at all: a temporary name in the same folder, fsync, rename."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from bpenb.errors import OutputError

__all__ = ["atomic_write", "sync_folder", "temporary_sibling"]


def temporary_sibling(path: Path) -> Path:
    """Return a name beside `path` that nobody uses: hidden, so that no glob takes it for a result."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open `path` for writing bytes; it appears under its name only if the block ends well.

    Args:
        path: the file to write; one that exists is replaced at the end, never before.

    Raises:
        OutputError: the folder is missing or cannot be written, or the disk is full.
    """
    target = Path(path)
    part = temporary_sibling(target)
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        if error.filename not in (None, str(part), str(target)):  # of something else, in the block
            raise
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Let the system write a folder's list of names to the disk."""
    with suppress(OSError):  # Windows opens no folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
