"""The file that word counts are saved in: an .npz of three arrays, and how they were made.

word_bytes.npy     uint8[n_bytes]
word_offsets.npy   int64[n_words+1]
word_counts.npy    int64[n_words]
metadata.npy       uint8[]: JSON in UTF-8: format, version, pattern name and regex, special
                   tokens, engine, Unicode version, document separator, and which shards of
                   which corpus it holds

A file appears under its name when it is complete; one that can be read is complete.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._atomic import atomic_write
from bpenb.errors import CountsError
from bpenb.patterns import PATTERNS, SplitPattern, resolve_pattern

__all__ = ["ARRAY_NAMES", "MADE_BY", "read", "read_metadata", "write"]

ARRAY_NAMES = ("word_bytes", "word_offsets", "word_counts")
# What decides the words of a text.
MADE_BY = ("pattern", "special_tokens", "engine", "unicode_version", "document_separator")

_FORMAT = "bpenb word counts"
_VERSION = 1
# All that reading a file which is no .npz, or is cut short or altered, was seen to raise.
_DAMAGE = (ValueError, TypeError, KeyError, EOFError, OSError, MemoryError, NotImplementedError, RuntimeError,
           zipfile.BadZipFile, zlib.error)  # fmt: skip


def write(
    path: str | os.PathLike[str],
    arrays: dict[str, npt.NDArray[Any]],
    pattern: SplitPattern,
    made_by: dict[str, object],
) -> None:
    """Write the arrays and how they were made, as a whole or not at all."""
    metadata = {"format": _FORMAT, "version": _VERSION, "pattern_name": pattern.name, **made_by}
    encoded = np.frombuffer(json.dumps(metadata).encode(), dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, metadata=encoded, **arrays)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, npt.NDArray[Any]], SplitPattern, dict[str, Any]]:
    """Return the arrays, the pattern and how they were made.

    Raises:
        CountsError: the file is missing, damaged, of another kind or of another version.
    """
    with _opened(path) as stored:
        metadata = _metadata(stored)
        arrays = {key: stored[key] for key in ARRAY_NAMES}
        return arrays, _pattern(metadata), metadata


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return how the counts of a file were made, without reading its words; errors as of `read`."""
    with _opened(path) as stored:
        return _metadata(stored)


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a file of arrays; whatever goes wrong in the block is an error with its name."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise CountsError("no word counts: a single array")
            with stored:
                yield stored
    except CountsError as error:
        raise CountsError(f"{name}: {error}") from None
    except FileNotFoundError:
        raise CountsError(f"{name}: there is no such file") from None
    except _DAMAGE as error:
        raise CountsError(f"{name}: no word counts, or damaged: {error}") from error


def _metadata(stored: Any) -> dict[str, Any]:
    if "metadata" not in stored:
        raise CountsError("no word counts: an .npz of something else")
    metadata = json.loads(stored["metadata"].tobytes())
    if not isinstance(metadata, dict) or metadata.get("format") != _FORMAT:
        raise CountsError("no word counts: an .npz of something else")
    if metadata.get("version") != _VERSION:
        raise CountsError(
            f"word counts of format version {metadata.get('version')!r}; this bpenb reads version {_VERSION}"
        )
    metadata.setdefault("document_separator", None)  # files of the first release know of none
    for key in MADE_BY:
        if key not in metadata:
            raise CountsError(f"damaged word counts: {key} is missing")
    return metadata


def _pattern(metadata: dict[str, Any]) -> SplitPattern:
    name, expression = str(metadata.get("pattern_name")), metadata["pattern"]
    if PATTERNS.get(name) == expression:  # `llama3` stays `llama3`, though it is `cl100k`
        return SplitPattern(name, expression)
    return resolve_pattern(expression)
