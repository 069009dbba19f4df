"""Reading text and JSON from files that somebody else may have written: every surprise is a FormatError."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bpenb._arrays import NO_TOKEN
from bpenb._vocab_checks import MAX_IDS
from bpenb.errors import BpenbError, FormatError
from bpenb.model import BPEModel, MergeError

__all__ = [
    "check_line_count",
    "checked_id",
    "expect",
    "model_errors",
    "read_bytes",
    "read_json",
    "read_text",
    "warn_missing_bytes",
]

_T = TypeVar("_T")
_JSON_NAMES: dict[type, str] = {dict: "an object", list: "an array", str: "a string", int: "an integer",
                                bool: "true or false"}  # fmt: skip
_BOM = b"\xef\xbb\xbf"
_MUCH = 1 << 20  # characters


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes without a byte order mark at its start.

    Raises:
        FormatError: a file that is missing or cannot be read.
    """
    try:
        return path.read_bytes().removeprefix(_BOM)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """Return a file's text, line ends as they are.

    Raises:
        FormatError: a file that cannot be read, or is not UTF-8.
    """
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path}: line {line}: not valid UTF-8") from error


def check_line_count(data: bytes | str, n_lines: int, path: Path) -> None:
    """Refuse a text of more lines than a vocab has ids, before it becomes a list of them.

    Raises:
        FormatError: the message tells how many lines there are.
    """
    if len(data) > MAX_IDS and n_lines > MAX_IDS:
        raise FormatError(
            f"{path}: not a tokenizer's file: it has {n_lines} lines; ids are 0 to {MAX_IDS - 1}"
        )


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; a key that stands twice in one object is an error.

    Raises:
        FormatError: not JSON; the message names the line, or the key.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise FormatError(f"{path}: key {twice!r} stands twice in one object")
        return found

    text = read_text(path)
    if len(text) > _MUCH and not text.startswith("{"):  # else a gigabyte of numbers would become objects
        raise FormatError(
            f"{path}: line 1: not a tokenizer's JSON: it must begin with '{{', not {text[:20]!r}"
        )
    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}: line {error.lineno}: not JSON: {error.msg}") from error
    except RecursionError:
        raise FormatError(f"{path}: not a tokenizer's JSON: it is nested too deeply") from None
    except FormatError:
        raise
    except ValueError as error:  # a number of more digits than Python converts
        raise FormatError(f"{path}: not a tokenizer's JSON: {error}") from error


def expect(value: Any, kind: type[_T], path: Path, key: str) -> _T:
    """Return a value of a JSON file if it has the type that it must have.

    Args:
        value: as read.
        kind: dict, list, str, int or bool.
        path: the file, for messages.
        key: where in it the value stands, for messages.

    Raises:
        FormatError: another type (for int, a bool too).
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise FormatError(f"{path}: {key} must be {_JSON_NAMES[kind]}, not {_shown(value)}")
    return value


def checked_id(value: Any, path: Path, key: str) -> int:
    """Return a token id of a JSON file.

    Raises:
        FormatError: not an integer, or negative.
    """
    token_id = expect(value, int, path, key)
    if token_id < 0:
        raise FormatError(f"{path}: {key} must not be negative: {token_id}")
    return token_id


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@contextmanager
def model_errors(path: Path, merges_path: Path | None = None, first_line: int = 1) -> Iterator[None]:
    """Turn what a model refuses, while the block makes one, into a FormatError that names the file.

    Args:
        path: the file that the vocab, and all else, came from.
        merges_path: the file that the merges came from, one a line, if it is another.
        first_line: number of the line that holds the merge of rank 0.
    """
    try:
        yield
    except FormatError:
        raise
    except MergeError as error:
        if merges_path is None:
            raise FormatError(f"{path}: {error}") from error
        raise FormatError(f"{merges_path}: line {first_line + error.rank}: {error.reason}") from error
    except BpenbError as error:
        raise FormatError(f"{path}: {error}") from error


def warn_missing_bytes(model: BPEModel, path: Path) -> BPEModel:
    """Return the model, after a warning if its vocab lacks single bytes."""
    missing = [byte for byte, token_id in enumerate(model.byte_ids.tolist()) if token_id == NO_TOKEN]
    if missing:
        shown = ", ".join(f"0x{byte:02X}" for byte in missing[:4]) + (", ..." if len(missing) > 4 else "")
        warnings.warn(
            f"{path}: the vocab lacks {len(missing)} of the 256 single bytes ({shown}); "
            "a text that needs one of them cannot be encoded",
            stacklevel=3,
        )
    return model
