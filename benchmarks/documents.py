"""Plain ways to the documents of a file, for libraries that do not read files themselves."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

_BLOCK_BYTES = 1 << 20
_RANGE_BYTES = 4 << 20


def read_documents(path: str, special: str) -> Iterator[str]:
    """Yield what stands between the special tokens of a file, reading block by block."""
    separator, rest = special.encode(), b""
    with Path(path).open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            *documents, rest = (rest + block).split(separator)
            yield from (document.decode() for document in documents)
    yield rest.decode()


def plan_ranges(path: str, special: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of pieces of a file of about 4 MiB, each cut before a special token."""
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        start = 0
        while start < len(text):
            found = text.find(special.encode(), start + _RANGE_BYTES)
            end = len(text) if found < 0 else found
            yield start, end
            start = end


def read_range(path: str, start: int, end: int) -> str:
    """Return the text between two offsets in bytes."""
    with Path(path).open("rb") as file:
        file.seek(start)
        return file.read(end - start).decode()
