"""Kinds of input, told by the end of a file's name: text, rows of JSON, rows of Parquet; compressed or not.

corpus.txt   corpus.txt.gz   rows.jsonl   rows.ndjson.zst   rows.parquet
└─ text ───────────────────┘ └─ rows: each one is a document ──────────┘
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bpenb.errors import CorpusError

if TYPE_CHECKING:
    from bpenb.corpus.remote import InputPath, RemoteFile

__all__ = ["ENDINGS", "Kind", "check_libraries", "has_known_ending", "kind_of", "load_library"]

Content = Literal["text", "jsonl", "parquet"]
Compression = Literal["", "gzip", "zstd"]

_CONTENTS: dict[str, Content] = {
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
ENDINGS = f"{' '.join(_CONTENTS)} (also with {' or '.join(_COMPRESSIONS)} behind)"

_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_LIBRARIES = {"jsonl": "orjson", "parquet": "pyarrow", "zstd": _ZSTD}  # of an optional extra


class Kind(NamedTuple):
    """What a file holds.

    Attributes:
        content: `text`, `jsonl` or `parquet`.
        compression: `gzip`, `zstd`, or empty.
    """

    content: Content
    compression: Compression

    @property
    def is_rows(self) -> bool:
        """Whether each row is a document."""
        return self.content != "text"

    @property
    def has_byte_ranges(self) -> bool:
        """Whether any part can be read on its own, between two bytes."""
        return self.content == "text" and not self.compression


def _endings(path: PurePath | RemoteFile) -> tuple[str, str]:
    """Return the ending that tells the content, and that of a compression, in small letters."""
    stem, ending = path.name.lower(), ""
    for compression in _COMPRESSIONS:
        if stem.endswith(compression):
            stem, ending = stem[: -len(compression)], compression
    dot = stem.rfind(".")
    return (stem[dot:] if dot >= 0 else ""), ending


def kind_of(path: InputPath) -> Kind:
    """Return what a file of that name holds; an ending that is not known means text.

    Raises:
        CorpusError: Parquet that was compressed once more.

    Example:
        >>> kind_of(PurePath("rows.JSONL.gz"))
        Kind(content='jsonl', compression='gzip')
        >>> kind_of(PurePath("corpus.en"))
        Kind(content='text', compression='')
    """
    content, compression = _endings(path)
    kind = Kind(_CONTENTS.get(content, "text"), _COMPRESSIONS.get(compression, ""))
    if kind.content == "parquet" and kind.compression:
        raise CorpusError(f"{path}: Parquet is compressed within; unpack the {compression} around it")
    return kind


def has_known_ending(path: PurePath) -> bool:
    """Tell whether a file in a folder is taken for an input.

    Example:
        >>> [has_known_ending(PurePath(name)) for name in ("a.md.zst", "a.py", "a.gz")]
        [True, False, False]
    """
    return _endings(path)[0] in _CONTENTS


def load_library(what: str) -> Any:
    """Return the package that reads `jsonl`, `parquet` or `zstd`.

    Raises:
        CorpusError: it is not installed.
    """
    name = _LIBRARIES[what]
    try:
        if what == "parquet":
            import_module("pyarrow.parquet")  # an attribute of the package then
        return import_module(name)
    except ImportError:
        raise CorpusError(
            f"{what} files are read by the package {name}, which is not here: pip install 'bpenb[io]'"
        ) from None


def check_libraries(kind: Kind) -> None:
    """Load what reads a kind of file, so that what is missing is told before any work."""
    for what in kind:
        if what in _LIBRARIES:
            load_library(what)
