"""The demo's text: the .py and .txt files of the running Python's own standard library."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DemoCorpus", "standard_library", "write_corpus"]

LEFT_OUT = {"site-packages", "dist-packages", "__pycache__"}
SEPARATOR = b"<|endoftext|>"


@dataclass(frozen=True)
class DemoCorpus:
    """What was written.

    Attributes:
        path: one file, `<|endoftext|>` after every document.
        n_files: documents in it.
        n_bytes: of the file.
        n_left_out: files that are not valid UTF-8, or could not be read.
    """

    path: Path
    n_files: int
    n_bytes: int
    n_left_out: int


def standard_library() -> Path:
    """Return the folder of the running Python's standard library."""
    return Path(sysconfig.get_path("stdlib"))


def _text_files(root: Path) -> Iterator[Path]:
    """Yield the .py and .txt files below a folder, in the same order on every system."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(set(subfolders) - LEFT_OUT)
        yield from (Path(folder, name) for name in sorted(names) if name.endswith((".py", ".txt")))


def _read_utf8(path: Path) -> bytes | None:
    """Return the bytes of a file, or None if it cannot be read as UTF-8."""
    try:
        data = path.read_bytes()
        data.decode()
    except (OSError, UnicodeDecodeError):
        return None
    return data


def write_corpus(root: Path, path: Path) -> DemoCorpus:
    """Write all text files below `root` into one corpus file."""
    n_files = n_left_out = 0
    with path.open("wb") as corpus:
        for file in _text_files(root):
            data = _read_utf8(file)
            if data is None:
                n_left_out += 1
                continue
            corpus.write(data + SEPARATOR)
            n_files += 1
        return DemoCorpus(path, n_files, corpus.tell(), n_left_out)
