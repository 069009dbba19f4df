"""Which files are meant: paths, URLs, globs, folders, and `-` for standard input."""

from __future__ import annotations

import glob
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from bpenb._remote import is_remote
from bpenb.corpus.kinds import ENDINGS, has_known_ending
from bpenb.corpus.remote import InputPath, RemoteFile, find_remote
from bpenb.errors import CorpusError

__all__ = ["STDIN", "Files", "resolve_each", "resolve_files"]

Files: TypeAlias = "str | os.PathLike[str] | RemoteFile | Iterable[str | os.PathLike[str] | RemoteFile]"

STDIN = Path("-")
_URL_AS_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")


def resolve_files(files: Files) -> list[InputPath]:
    """Return the files that are meant, after looking that each is there.

    Args:
        files: a path or URL, or several. A name that no file has and that holds `*`, `?` or `[` is a glob
            (`**` for any folders). A folder means the files in it and below with a known ending, but
            for hidden ones and those that we wrote (tokenizers, datasets). `-` is standard input.
            The files of a glob or folder are sorted by their path.

    Raises:
        CorpusError: no file at all, one that is missing, or standard input twice.
        TypeError: something that is no path, such as bytes.
    """
    return [path for paths in resolve_each(files) for path in paths]


def resolve_each(files: Files) -> list[list[InputPath]]:
    """Return the files that each of `files` means; errors as of `resolve_files`."""
    if isinstance(files, str | os.PathLike | RemoteFile):
        files = [files]
    listed: object = files
    if isinstance(listed, bytes | bytearray) or not isinstance(listed, Iterable):
        raise TypeError(f"files must be a path or a list of paths, not {type(listed).__name__}")
    found = [_find_files(file) for file in listed]
    if not found:
        raise CorpusError("no input files were given")
    if found.count([STDIN]) > 1:
        raise CorpusError("- (standard input) is given twice, but can be read only once")
    return found


def _find_files(file: object) -> list[InputPath]:
    if isinstance(file, RemoteFile):
        return [file]
    name = os.fspath(file) if isinstance(file, os.PathLike) else file
    if not isinstance(name, str):
        raise TypeError(f"a file must be given as a str or a path, not {type(name).__name__}")
    if not name:
        raise CorpusError("an input file has an empty name")
    if is_remote(name):
        return [*find_remote(name)]
    path = Path(name)
    if path == STDIN:
        return [path]
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if glob.has_magic(name) and "\0" not in name:
            return [*_matches(name)]
        reason = getattr(error, "strerror", None) or str(error)
        if _URL_AS_PATH.match(name):
            reason += "; give a URL as a str, since a path has no // in it"
        raise CorpusError(f"{name}: cannot be read: {reason}") from None
    return [*_files_in(path)] if stat.S_ISDIR(mode) else [path]


def _matches(pattern: str) -> list[Path]:
    found = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207 (absolute ones too)
    paths = [_not_stdin(path) for path in found if path.is_file()]
    if not paths:
        raise CorpusError(f"{pattern}: there is no such file, and none that it matches")
    return sorted(set(paths), key=lambda path: path.parts)


def _files_in(folder: Path) -> list[Path]:
    paths = sorted(map(_not_stdin, _walk(folder)), key=lambda path: path.parts)
    if not paths:
        raise CorpusError(
            f"{folder}: is a folder without an input: no file in it or below ends in {ENDINGS}, but for "
            "hidden ones and those of tokenizers and datasets that bpenb wrote; name the files themselves"
        )
    return paths


def _walk(top: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise CorpusError(f"{error.filename}: cannot be read: {error.strerror or error}")

    for name, folders, files in os.walk(top, onerror=fail):
        folder = Path(name)
        if _is_ours(folder, files):
            folders.clear()
            continue
        folders[:] = [inner for inner in folders if not inner.startswith(".")]
        for file in files:
            path = folder / file
            if not file.startswith(".") and has_known_ending(path) and path.is_file():
                yield path


def _is_ours(folder: Path, files: list[str]) -> bool:
    """Tell whether a folder is a tokenizer, or a dataset that we wrote."""
    if "bpenb.json" in files:
        return True
    if "manifest.json" not in files:
        return False
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):  # anybody's file
        return False
    return isinstance(manifest, dict) and "bpenb" in manifest


def _not_stdin(path: Path) -> Path:
    """Return a path that was found; a file of the name `-` is told by its whole path."""
    return path.absolute() if path == STDIN else path
