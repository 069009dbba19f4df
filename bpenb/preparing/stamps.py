"""Whether inputs stay as they are while they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from bpenb.corpus import RemoteFile, Source
from bpenb.errors import CorpusError

__all__ = ["Stamps", "check_stamps", "take_stamps"]

Stamp: TypeAlias = tuple[int, int | str]
Stamps: TypeAlias = list[Stamp | None]


def take_stamps(sources: Sequence[Source]) -> Stamps:
    """Return size and time of change of each input; None for one that is no regular file, or is gone.

    Of a remote file it is what was told of it when it was found.
    """
    return [_stamp(source) for source in sources]


def _stamp(source: Source) -> Stamp | None:
    if isinstance(source.path, RemoteFile):
        return source.path.stamp
    if source.n_bytes is None:
        return None
    try:
        stat = source.path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def check_stamps(sources: Sequence[Source], before: Stamps, since: str) -> None:
    """Refuse what was read while somebody wrote it.

    Args:
        sources: the inputs.
        before: their stamps when it was begun.
        since: when that was, and what to do; for the message.

    Raises:
        CorpusError: an input is another one now, or gone.
    """
    for source, known in zip(sources, before, strict=True):
        if not _is_unchanged(source, known):
            raise CorpusError(f"{source.name}: was changed or removed {since}")


def _is_unchanged(source: Source, known: Stamp | None) -> bool:
    if isinstance(source.path, RemoteFile):
        return known is None or source.path.is_still((known[0], str(known[1])))
    return _stamp(source) == known
