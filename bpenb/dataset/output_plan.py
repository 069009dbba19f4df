"""Where the files of a dataset go, what they are called, and what may be replaced.

    one file     ids.bin (+ .idx, …)        ids.documents.npy         ids.manifest.json
    a folder     data/data_train_000001.bin  data/data_train.documents.npy   data/manifest.json
                 data/data_val_000000.bin    …

A folder that holds anything but a dataset of ours is never written into.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpenb._atomic import sync_folder
from bpenb.dataset.manifest import MANIFEST_NAME, MANIFEST_SUFFIX, Manifest
from bpenb.dataset.token_format import find_format
from bpenb.errors import FormatError, OutputError

if TYPE_CHECKING:
    from bpenb.dataset.split_writer import SplitWriter

__all__ = ["DOCUMENTS_SUFFIX", "OutputPlan", "SplitPlan", "file_and_sides", "name_outputs", "plan_outputs",
           "publish_dataset"]  # fmt: skip

DOCUMENTS_SUFFIX = ".documents.npy"
FIRST_NUMBERS = {"val": 0}  # llm.c keeps number 0 for validation, and trains on those from 1
_SPLIT_NAME = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)
class SplitPlan:
    """The names of the files of one split.

    Attributes:
        folder: that they are in.
        stem: of their names.
        suffix: of the data files.
        first_number: of the first shard; None: one file without a number.
    """

    folder: Path
    stem: str
    suffix: str
    first_number: int | None

    def path_of(self, i: int) -> Path:
        """Return the data file that is the split's number `i`, counted from 0."""
        if self.first_number is None:
            assert i == 0
            return self.folder / f"{self.stem}{self.suffix}"
        return self.folder / f"{self.stem}_{self.first_number + i:06d}{self.suffix}"

    @property
    def documents(self) -> Path:
        """The index of the documents, where the format has none of its own."""
        return self.folder / f"{self.stem}{DOCUMENTS_SUFFIX}"

    def to_state(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "folder": str(self.folder),
            "stem": self.stem,
            "suffix": self.suffix,
            "first_number": self.first_number,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> SplitPlan:
        """Return what `to_state` gave."""
        return cls(Path(state["folder"]), state["stem"], state["suffix"], state["first_number"])


@dataclass(frozen=True)
class OutputPlan:
    """The names of the files of a dataset.

    Attributes:
        path: the data file, or the folder.
        splits: by name, in order.
        manifest: the file that is written last.
        replaced: files of an older dataset here, which go when the new one is there.
    """

    path: Path
    splits: dict[str, SplitPlan]
    manifest: Path
    replaced: tuple[Path, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether the dataset has a folder of its own."""
        return self.manifest.parent == self.path


def plan_outputs(
    path: str | os.PathLike[str],
    format: str,
    sharded: bool,
    splits: Sequence[str] = ("train",),
    force: bool = False,
) -> OutputPlan:
    """Return where a dataset goes; nothing is written yet.

    Args:
        path: one file (the format's suffix is added if it lacks), if there are no shards and one
            split; else a folder, after which the files are called.
        format: a name of `TOKEN_FORMATS`.
        sharded: whether a split may have several files.
        splits: their names.
        force: replace what is there: a file, or a folder that holds a dataset of ours.

    Raises:
        OutputError: an unknown format; something is there and may not be replaced.

    Example:
        >>> plan = plan_outputs("data", "megatron", sharded=True, splits=("train", "val"))
        >>> [split.path_of(0).name for split in plan.splits.values()], plan.manifest.name
        (['data_train_000001.bin', 'data_val_000000.bin'], 'manifest.json')
        >>> plan_outputs("ids", "npy", sharded=False).splits["train"].path_of(0).name
        'ids.npy'
    """
    plan = name_outputs(path, format, sharded, splits)
    try:
        if plan.is_folder:
            return replace(plan, replaced=_check_folder(plan.path, force))
        if plan.manifest.name == MANIFEST_SUFFIX or Path(path).is_dir():
            raise OutputError(f"{Path(path)}: is a folder; name a file, or write shards (--shard-tokens)")
        return replace(plan, replaced=_check_files(file_and_sides(plan, format), force))
    except OSError as error:
        raise OutputError(f"{Path(path)}: cannot be looked into: {error.strerror or error}") from error


def name_outputs(
    path: str | os.PathLike[str], format: str, sharded: bool, splits: Sequence[str] = ("train",)
) -> OutputPlan:
    """Return where a dataset goes without a look at what is there; arguments as of `plan_outputs`.

    Raises:
        OutputError: an unknown format, or splits that are no names.
    """
    token_format = find_format(format)
    if not splits or len(set(splits)) < len(splits) or not all(map(_SPLIT_NAME.fullmatch, splits)):
        raise OutputError(f"splits {list(splits)} are no names that differ, of letters, digits and hyphens")
    target = Path(path)
    if sharded or len(splits) > 1:
        name = target.resolve().name
        plans = {
            split: SplitPlan(target, f"{name}_{split}", token_format.suffix, FIRST_NUMBERS.get(split, 1))
            for split in splits
        }
        return OutputPlan(target, plans, target / MANIFEST_NAME)
    stem = target.name.removesuffix(token_format.suffix)
    plan = SplitPlan(target.parent, stem, token_format.suffix, None)
    manifest = target.parent / (stem + MANIFEST_SUFFIX)
    return OutputPlan(plan.path_of(0), {splits[0]: plan}, manifest)


def file_and_sides(plan: OutputPlan, format: str) -> list[Path]:
    """Return the files that a dataset of one file may consist of, whether they are there or not.

    Example:
        >>> plan = name_outputs("data/ids", "megatron", sharded=False)
        >>> [path.name for path in file_and_sides(plan, "megatron")]
        ['ids.bin', 'ids.idx', 'ids.documents.npy', 'ids.manifest.json']
    """
    (split,) = plan.splits.values()
    stem = plan.manifest.name.removesuffix(MANIFEST_SUFFIX)
    sides = [plan.path.with_name(stem + side) for side in find_format(format).side_suffixes]
    return [plan.path, *sides, split.documents, plan.manifest]


def _check_files(paths: list[Path], force: bool) -> tuple[Path, ...]:
    """Return which of the files exist and may be replaced."""
    present = tuple(path for path in paths if os.path.lexists(path))
    for path in present:
        if path.exists() and not path.is_file():
            raise OutputError(f"{path}: is no regular file, so it is not replaced; choose another name")
        if not force:
            raise OutputError(f"{path} exists; choose another name, or replace it (force=True, --force)")
    return present


def _check_folder(folder: Path, force: bool) -> tuple[Path, ...]:
    """Return the files of an older dataset in a folder that may be replaced."""
    if not folder.exists():
        return ()
    if not folder.is_dir():
        raise OutputError(f"{folder}: is a file, and shards or splits go into a folder; choose another name")
    # What begins with a dot is of a run that was broken off, or of the system's.
    present = {entry.name: entry for entry in folder.iterdir() if not entry.name.startswith(".")}
    if not present:
        return ()
    ours: set[str] = set()
    if MANIFEST_NAME in present:
        with suppress(FormatError):  # then it is somebody else's
            ours = {MANIFEST_NAME, *Manifest.read(folder / MANIFEST_NAME).file_names}
    foreign = sorted(present.keys() - ours)
    if foreign:
        raise OutputError(
            f"{folder} holds other files ({', '.join(foreign[:3])}), so no dataset is written there, not "
            "even by force; choose another folder, or empty this one"
        )
    if not force:
        raise OutputError(
            f"{folder} holds a dataset; choose another folder, or replace it (force=True, --force)"
        )
    return tuple(present[name] for name in sorted(ours & present.keys()))


def publish_dataset(plan: OutputPlan, writers: Mapping[str, SplitWriter], manifest: Manifest) -> None:
    """Give all files of a dataset their names, and write the manifest last.

    The manifest of an older dataset goes first, its other files when the new ones are there, so at no
    time does a manifest stand beside files that are not its own.

    Args:
        plan: where they go.
        writers: of each split, complete.
        manifest: made of their records.

    Raises:
        OutputError: a file that cannot be renamed or written.
    """
    try:
        if plan.manifest in plan.replaced:
            plan.manifest.unlink(missing_ok=True)
            sync_folder(plan.manifest.parent)
        for writer in writers.values():
            writer.publish()
        for path in plan.replaced:
            if path.name not in manifest.file_names:
                path.unlink(missing_ok=True)
        manifest.write(plan.manifest)
    except OSError as error:
        raise OutputError(f"{plan.path}: cannot be replaced: {error.strerror or error}") from error
