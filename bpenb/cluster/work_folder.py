"""The work folder: the plan, the partials and the merges; on storage that all workers see."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bpenb._atomic import atomic_write
from bpenb.cluster.plan import CountPlan, name_plan
from bpenb.counting import Shard
from bpenb.errors import OutputError

__all__ = ["PLAN", "WorkFolder", "open_work_folder"]

PLAN = "plan.json"
_FOLDERS = ("shards", "merges")
_FORMAT = "bpenb counting plan"
_VERSION = 1


class WorkFolder:
    """A folder with its plan; made by `open_work_folder`.

    Attributes:
        path: absolute.
        plan: of the counting whose files these are.
        is_resumed: whether an earlier run began it.
    """

    def __init__(self, path: Path, plan: CountPlan, *, is_resumed: bool) -> None:
        self.path, self.plan, self.is_resumed = path, plan, is_resumed

    def has(self, name: str) -> bool:
        """Tell whether a file is there, and so complete."""
        return (self.path / name).exists()

    def remove(self) -> None:
        """Remove what was written here, and the folder if nothing else is in it."""
        _remove_contents(self.path)
        with suppress(OSError):
            self.path.rmdir()


def open_work_folder(
    path: Path, plan: CountPlan, corpus: Shard, made_by: Mapping[str, object], *, resume: bool, force: bool
) -> WorkFolder:
    """Return the folder, new with this plan, or with that of an earlier run to go on with.

    Args:
        path: of the folder, which is made if need be.
        plan: for a new folder; an earlier run keeps its own shards and partitions.
        corpus: marker of all that is to be counted.
        made_by: what decides the words.
        resume: go on with an earlier run, if there is one.
        force: begin anew, whatever an earlier run left.

    Raises:
        OutputError: the folder cannot be written, holds something else, or an earlier run that is not to be
            gone on with, or was of another corpus or other settings.
    """
    path = path.absolute()
    try:
        if (path / PLAN).exists():
            earlier = _read_plan(path)
            if resume:
                if earlier != name_plan(corpus, made_by, earlier.n_shards, earlier.n_partitions):
                    raise OutputError(
                        f"{path} holds the work of counting another corpus, or with other settings (pattern, "
                        "special tokens, errors, sample, field …); give the same ones, or another work folder"
                    )
                return WorkFolder(path, earlier, is_resumed=True)
            if not force:
                n_done = sum(1 for n in range(earlier.n_shards) if (path / earlier.partial(n + 1)).exists())
                raise OutputError(
                    f"{path} holds an earlier run, {n_done:,} of {earlier.n_shards:,} shards counted; go on "
                    "with it (resume=True, --resume), begin anew (force=True, --force), or take another work "
                    "folder"
                )
            _remove_contents(path)
        elif path.exists() and not _is_unused(path):
            raise OutputError(f"{path} holds something else; the work folder must be new or empty")
        for name in _FOLDERS:
            (path / name).mkdir(parents=True, exist_ok=True)
        _write_plan(path, plan)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return WorkFolder(path, plan, is_resumed=False)


def _is_unused(path: Path) -> bool:
    """Tell whether a folder is empty, but for folders that a run made and did not fill."""
    return path.is_dir() and not any(
        found.name not in _FOLDERS or not found.is_dir() or any(found.iterdir()) for found in path.iterdir()
    )


def _write_plan(path: Path, plan: CountPlan) -> None:
    told = {"format": _FORMAT, "version": _VERSION, "name": plan.name, "n_shards": plan.n_shards}
    with atomic_write(path / PLAN) as file:
        file.write(json.dumps(told | {"n_partitions": plan.n_partitions}).encode())


def _read_plan(path: Path) -> CountPlan:
    try:
        told = json.loads((path / PLAN).read_bytes())
        if told["format"] != _FORMAT or told["version"] != _VERSION:
            raise ValueError(f"format {told['format']!r}, version {told['version']!r}")
        return CountPlan(str(told["name"]), int(told["n_shards"]), int(told["n_partitions"]))
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{path / PLAN}: is no plan of this version of bpenb: {error}; take another work folder"
        ) from error


def _remove_contents(path: Path) -> None:
    (path / PLAN).unlink(missing_ok=True)  # first: without it the rest is nothing to go on with
    for name in _FOLDERS:
        shutil.rmtree(path / name, ignore_errors=True)
