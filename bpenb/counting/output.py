"""What may stand where word counts are to be written: looked at before any work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bpenb.counting import npz
from bpenb.counting.shards import Shard, parse_shards
from bpenb.counting.word_counts import WordCounts
from bpenb.errors import CountsError, OutputError

__all__ = ["check_merge_output", "complete_counts"]

_WAYS_OUT = "choose another name, or force it (force=True, --force)"


def complete_counts(
    output: str | os.PathLike[str], shard: Shard | None, made_by: Mapping[str, object], *, force: bool
) -> WordCounts | None:
    """Return the counts of a shard if the file holds it already, complete and made alike; else None.

    Args:
        output: the file to be written.
        shard: what is to be counted; None: no shard, so it is counted anew.
        made_by: how it is to be counted.
        force: replace any file.

    Raises:
        OutputError: the file cannot be written, or holds something that must not be replaced.
    """
    metadata = _look_into(Path(output), force)
    if metadata is None or force:
        return None
    shards = parse_shards(metadata.get("shards", []))
    if not shards:
        return None
    if shard is None or shards != (shard,):
        raise OutputError(
            f"{os.fspath(output)} holds {_name(shards)}, not {shard or 'counts of a whole corpus'}, so it is "
            f"not replaced; {_WAYS_OUT}"
        )
    for what in npz.MADE_BY:
        if metadata[what] != made_by[what]:
            raise OutputError(
                f"{os.fspath(output)} holds {shard}, but counted with {what.replace('_', ' ')} "
                f"{metadata[what]!r}, not {made_by[what]!r}, so it is not replaced; {_WAYS_OUT}"
            )
    try:
        return WordCounts.load(output)
    except CountsError as error:
        raise OutputError(f"{error}; it is not replaced: {_WAYS_OUT}") from None


def check_merge_output(
    output: str | os.PathLike[str],
    shards: Sequence[Shard],
    parts: Iterable[str | os.PathLike[str]],
    *,
    force: bool,
) -> None:
    """Refuse a file that a merge must not replace.

    Args:
        output: the file to be written.
        shards: that it will hold.
        parts: files that are merged.
        force: replace any file.

    Raises:
        OutputError: the file cannot be written, is a part, holds other shards or something else.
    """
    metadata = _look_into(Path(output), force)
    if metadata is None or force:
        return
    if os.path.realpath(output) in {os.path.realpath(part) for part in parts}:
        raise OutputError(
            f"{os.fspath(output)} is one of the parts, and merging again would count the others twice; "
            f"{_WAYS_OUT}"
        )
    held = {(shard.corpus, shard.number) for shard in shards}
    lost = [s for s in parse_shards(metadata.get("shards", [])) if (s.corpus, s.number) not in held]
    if lost:
        raise OutputError(
            f"{os.fspath(output)} holds {_name(lost)}, not among the parts, so it is not replaced; "
            f"{_WAYS_OUT}"
        )


def _look_into(path: Path, force: bool) -> dict[str, Any] | None:
    """Return how the counts in a file were made; None if it is not there, or forced and something else."""
    try:
        if path.is_dir():
            raise OutputError(f"{path} is a folder; word counts are saved as a file")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: cannot be written: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"{path}: cannot be written: the folder {path.parent} is read-only")
        if not path.exists():
            return None
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    try:
        metadata = npz.read_metadata(path)
        parse_shards(metadata.get("shards", []))
    except CountsError as error:
        if force:
            return None
        raise OutputError(
            f"{path} is there and holds no word counts that can be read, so it is not replaced ({error}); "
            f"{_WAYS_OUT}"
        ) from None
    return metadata


def _name(shards: Sequence[Shard]) -> str:
    return f"{shards[0]} and {len(shards) - 1} more" if len(shards) > 1 else str(shards[0])
