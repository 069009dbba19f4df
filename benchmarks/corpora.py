"""Texts to measure on: by name, or any path; each with its size and sha256.

    prose    English: a dictionary, the King James Bible, manuals       102 MB
    multi    German, Japanese, Russian, Chinese, Arabic, Hindi, Korean   36 MB
    code     C sources and documents of the Linux kernel                302 MB
    stories  short stories of common words                              307 MB
    stdlib   the .py and .txt files of the Python that runs this: every machine has it

The first four are files NAME.txt in one folder ($BPENB_BENCH_CORPORA, or --corpora); `stdlib` is
written there when it is first asked for. Documents are separated by <|endoftext|>.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SPECIAL = "<|endoftext|>"
NAMES = ("multi", "prose", "code", "stories")  # in the order of what a run on them takes


class CorpusMissingError(Exception):
    """A corpus that is not there; the message says what to do."""


@dataclass(frozen=True)
class Corpus:
    """A text file: its name, path, size in bytes and sha256."""

    name: str
    path: Path
    n_bytes: int
    sha256: str


def corpora_folder(option: Path | None) -> Path:
    """Return the folder of the corpora: the option, the environment's, or one in the user's cache."""
    folder = option or os.environ.get("BPENB_BENCH_CORPORA") or "~/.cache/bpenb-bench"
    return Path(folder).expanduser()


def find_corpora(names: Sequence[str], folder: Path) -> list[Corpus]:
    """Return corpora by name or path; no name: those of `NAMES` that are there, else `stdlib`.

    Raises:
        CorpusMissingError: a name or a path that is not there.
    """
    if not names:
        names = [name for name in NAMES if (folder / f"{name}.txt").is_file()] or ["stdlib"]
    return [_find(name, folder) for name in names]


def head(path: Path, n_bytes: int, out: Path) -> Path:
    """Write whole documents (or at least whole lines) of up to n_bytes from a file's start to `out`."""
    with path.open("rb") as file:
        text = file.read(n_bytes)
    if len(text) == n_bytes:
        end = text.rfind(SPECIAL.encode())
        text = text[: end if end > 0 else text.rfind(b"\n") + 1] or text
    out.write_bytes(text)
    return out


def _find(name: str, folder: Path) -> Corpus:
    if name == "stdlib":
        path = _standard_library(folder)
    elif name in NAMES:
        path = folder / f"{name}.txt"
    else:
        path, name = Path(name), Path(name).stem
    if not path.is_file():
        raise CorpusMissingError(
            f"no file {path}; corpora are {', '.join(NAMES)} (files in $BPENB_BENCH_CORPORA or --corpora), "
            "stdlib, or any path"
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Corpus(name, path.resolve(), path.stat().st_size, digest)


def _standard_library(folder: Path) -> Path:
    """Write the standard library's text to one file, unless it is there."""
    path = folder / f"stdlib-{platform.python_version()}.txt"
    if path.is_file():
        return path
    source = Path(sysconfig.get_path("stdlib"))
    documents = []
    for file in sorted(source.rglob("*")):
        parts = file.relative_to(source).parts
        if file.suffix not in (".py", ".txt") or "site-packages" in parts or "dist-packages" in parts:
            continue
        try:
            documents.append(file.read_bytes().decode())
        except UnicodeDecodeError:  # tests of other encodings
            continue
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text((SPECIAL + "\n").join(documents), encoding="utf-8", newline="")
    return part.replace(path)
