"""Reading one range of a file, as a worker does."""

from __future__ import annotations

from pathlib import Path

from bpenb.corpus.files import FileRange, TextBlock
from bpenb.corpus.remote import RemoteFile
from bpenb.errors import CorpusError

__all__ = ["read_range"]


def read_range(range: FileRange | TextBlock) -> bytes:
    """Return the bytes of a range.

    Raises:
        CorpusError: the file has vanished or shrunk since it was planned, or the range does not
            fit in memory.
    """
    if isinstance(range, TextBlock):
        return range.data
    try:
        path = range.path if isinstance(range.path, RemoteFile) else Path(range.path)
        with path.open("rb") as file:
            file.seek(range.start)
            data = file.read(range.n_bytes)
    except OSError as error:
        raise CorpusError(f"{range.path}: cannot be read: {error.strerror or error}") from error
    except MemoryError:
        raise CorpusError(
            f"{range.path}: bytes {range.start} to {range.end} hold no place to cut, and "
            f"{range.n_bytes:,} bytes do not fit in memory; separate documents with a special token"
        ) from None
    if len(data) < range.n_bytes:
        raise CorpusError(
            f"{range.path}: became shorter while it was read: byte {range.start + len(data)} of "
            f"{range.end} is gone"
        )
    return data
