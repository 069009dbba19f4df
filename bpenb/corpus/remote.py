"""Remote files as inputs: what a path is for a local file, `RemoteFile` is for a URL.

s3://bucket/data/*.jsonl.gz → [RemoteFile, …] → opened where it is read: in a thread, or in a worker

A server without byte ranges, or that does not tell a size, makes a pipe of a file: it is read once, from
its front.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, TypeAlias, cast

from bpenb._remote import connect, is_http, shown_url, try_again
from bpenb.corpus.kinds import ENDINGS, has_known_ending
from bpenb.corpus.remote_reading import RangeReader, StreamReader
from bpenb.errors import CorpusError

__all__ = ["InputPath", "RemoteFile", "find_remote"]

InputPath: TypeAlias = "Path | RemoteFile"

# What file systems tell of a version of a file, by name; the first that one has decides.
_MARKS = ("ETag", "etag", "blob_id", "generation", "md5Hash", "Content-MD5", "Last-Modified", "LastModified",
          "last_modified", "updated", "mtime", "modified", "created")  # fmt: skip
_PROBE = 1 << 16


@dataclass(frozen=True, repr=False)
class RemoteFile:
    """A file behind a URL, which was there when it was looked for.

    Attributes:
        url: with all that opens it, so never shown; `str` of the file may be.
        n_bytes: its length; None if it can only be read once, from its front.
        mark: what tells this version of it from others (an ETag, a time of change); None if nothing does.

    Example:
        >>> str(RemoteFile("https://me:secret@host/a.txt?token=secret", 7, None))
        'https://host/a.txt'
    """

    url: str
    n_bytes: int | None
    mark: str | None

    def __str__(self) -> str:
        return shown_url(self.url)

    __repr__ = __str__

    @property
    def name(self) -> str:
        """The last part of the path."""
        return str(self).rstrip("/").rpartition("/")[2]

    @property
    def digest(self) -> str | None:
        """What stands for its content in a manifest: a SHA-256 of length and mark, or None without these."""
        if self.n_bytes is None or self.mark is None:
            return None
        return f"mark-sha256:{hashlib.sha256(json.dumps([self.n_bytes, self.mark]).encode()).hexdigest()}"

    def is_file(self) -> bool:
        """Tell whether it has a length and byte ranges, as a regular file has."""
        return self.n_bytes is not None

    @property
    def stamp(self) -> tuple[int, str] | None:
        """Length and mark; None if it can only be read once."""
        return None if self.n_bytes is None else (self.n_bytes, self.mark or "")

    def is_still(self, stamp: tuple[int, str]) -> bool:
        """Tell whether the file is there, and has that length and mark.

        Raises:
            CorpusError: nobody can tell.
        """
        file_system, path = connect(self.url, CorpusError)
        file_system.invalidate_cache()
        info = _info(self.url, file_system, path)
        if info is None or info.get("size") != stamp[0]:
            return False
        marks, name = _marks(info), stamp[1].partition(":")[0]
        return marks.get(name, stamp[1]) == stamp[1]  # a listing may tell other marks than a single file

    def open(self, mode: Literal["rb"] = "rb", buffering: int = 0) -> IO[bytes]:
        """Open it for reading, in this process; it is read in blocks of its own, whatever the buffering.

        Raises:
            CorpusError: it cannot be read, here or later.
        """
        file_system, path = connect(self.url, CorpusError)
        if self.n_bytes is None:
            return cast(IO[bytes], StreamReader(self.url, file_system, path))
        return cast(IO[bytes], RangeReader(self.url, file_system, path, self.n_bytes))


def find_remote(url: str) -> list[RemoteFile]:
    """Return the files that a URL means: itself, those that it matches, or those in the folder and below.

    Globs and folders mean what they do on a disk; a URL of the web is always one file.

    Raises:
        CorpusError: none, no access, or a package that is missing.
    """
    if is_http(url):
        return [_look_at(url)]
    file_system, path = connect(url, CorpusError)
    file_system.invalidate_cache()
    info = _info(url, file_system, path)
    if info is not None and info["type"] != "directory":
        return [_file_of(url, info)]
    if info is None and not glob.has_magic(path):
        raise CorpusError(f"{shown_url(url)}: cannot be read: there is no such file")
    listing = file_system.glob if info is None else file_system.find
    found: Mapping[str, Any] = try_again(
        url, "cannot be listed", lambda: listing(path, detail=True), CorpusError
    )
    infos = {name: each for name, each in found.items() if each["type"] == "file"}
    if info is None:
        chosen = [name for name in infos if _is_meant(name, path)]
    else:
        chosen = list(_inputs_below(path, infos, url))
    if not chosen and info is None:
        raise CorpusError(f"{shown_url(url)}: there is no such file, and none that it matches")
    if not chosen:
        raise CorpusError(
            f"{shown_url(url)}: is a folder without an input: no file in it or below ends in {ENDINGS}, but "
            "for hidden ones and those of tokenizers and datasets that bpenb wrote; name the files themselves"
        )
    chosen.sort(key=lambda name: name.split("/"))
    files = [_file_of(_url_of(name, url, file_system, path), infos[name]) for name in chosen]
    return [file if file.mark is not None else _look_at(file.url) for file in files]


def _look_at(url: str) -> RemoteFile:
    """Return a file as it is now."""
    file_system, path = connect(url, CorpusError)
    file_system.invalidate_cache()
    info = _info(url, file_system, path)
    if info is None:
        raise CorpusError(f"{shown_url(url)}: cannot be read: there is no such file")
    found = _file_of(url, info)
    if is_http(url) and found.n_bytes and not _has_ranges(url, file_system, path, info):
        return RemoteFile(url, None, None)
    return found


def _info(url: str, file_system: Any, path: str) -> Mapping[str, Any] | None:
    """Return what a file system tells of a path; None if it is not there."""

    def look() -> Mapping[str, Any] | None:
        try:
            info: Mapping[str, Any] = file_system.info(path)
        except FileNotFoundError as problem:
            if problem.__cause__ is not None:  # it may be anything
                raise
            return None
        return info

    return try_again(url, "cannot be read", look, CorpusError)


def _file_of(url: str, info: Mapping[str, Any]) -> RemoteFile:
    size = info.get("size")
    return RemoteFile(url, None if size is None else int(size), next(iter(_marks(info).values()), None))


def _marks(info: Mapping[str, Any]) -> dict[str, str]:
    """Return what tells a version of a file, by name; the best first."""
    marks = {}
    for name in _MARKS:
        if value := info.get(name):
            time = getattr(value, "timestamp", None)  # spelled in two ways by a listing and for one file
            spelled = str(time()) if callable(time) else str(value).strip('"')
            marks[name] = f"{name}:{spelled}"
    return marks


def _has_ranges(url: str, file_system: Any, path: str, info: Mapping[str, Any]) -> bool:
    """Tell whether a server of the web gives parts of a file; many do that do not say so.

    The last byte is asked for: a server that begins to send the whole file is hung up on.
    """
    size = info["size"]

    def ask() -> bool:
        try:
            with file_system.open(path, block_size=_PROBE, cache_type="none", size=size) as file:
                file.seek(size - 1)
                return len(file.read(1)) == 1
        except ValueError:
            return False

    if size == 1:  # all of it is a part of it
        return True
    return info.get("partial", True) and try_again(url, "cannot be read", ask, CorpusError)


# --- globs and folders ----------------------------------------------------------------------------


def _url_of(name: str, url: str, file_system: Any, path: str) -> str:
    """Return the URL of a file that was found at `url`, whose path is `path`; a host is kept."""
    if url.rstrip("/").endswith(path):
        return url.rstrip("/").removesuffix(path) + name
    return str(file_system.unstrip_protocol(name))


def _is_meant(name: str, pattern: str) -> bool:
    """Tell whether a match of a glob is no hidden file, unless hidden ones are asked for."""
    return "/." not in name or "/." in pattern


def _inputs_below(folder: str, infos: Mapping[str, Any], url: str) -> Iterator[str]:
    """Yield the files of a folder that are inputs: as in a folder on a disk."""
    ours = tuple(f"{place}/" for place in _our_folders(infos, url))
    for name in infos:
        below = name.removeprefix(folder).lstrip("/").split("/")
        is_hidden = any(part.startswith(".") for part in below)
        if not is_hidden and not name.startswith(ours) and has_known_ending(PurePosixPath(name)):
            yield name


def _our_folders(infos: Mapping[str, Any], url: str) -> Iterator[str]:
    """Yield folders that are a tokenizer, or a dataset that we wrote."""
    file_system, _ = connect(url, CorpusError)
    for name in infos:
        folder, _, last = name.rpartition("/")
        if last == "bpenb.json":
            yield folder
        elif last == "manifest.json":
            read = partial(file_system.cat_file, name)
            try:
                manifest = json.loads(try_again(url, "cannot be read", read, CorpusError))
            except ValueError:  # anybody's file
                continue
            if isinstance(manifest, dict) and "bpenb" in manifest:
                yield folder
