"""The folder of a sweep: a tokenizer's folder for each vocab size, and the table beside them.

    8000/        as `save_folder` writes it
    16000/
    sweep.json   the table, for programs; without it the folder is no sweep
    sweep.csv    the table, a row for each size and text

It is replaced as a whole or not at all: everything is written under another name first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bpenb._atomic import atomic_write, sync_folder, temporary_sibling
from bpenb.errors import OutputError
from bpenb.formats.folder import is_tokenizer_folder, save_folder
from bpenb.formats.replacing import backup_of
from bpenb.model import BPEModel

__all__ = ["SWEEP_CSV", "SWEEP_JSON", "check_sweep_folder", "save_sweep"]

SWEEP_JSON, SWEEP_CSV = "sweep.json", "sweep.csv"


def check_sweep_folder(path: str | os.PathLike[str], force: bool = False) -> None:
    """Raise now what `save_sweep` would raise because of the folder, before hours of work.

    Raises:
        OutputError: a file; a folder of something else; the current folder; or a sweep or a
            tokenizer and no `force`.
    """
    target = Path(os.path.realpath(path))
    try:
        if Path.cwd().is_relative_to(target):
            raise OutputError(f"{path} is the current folder or holds it; a sweep needs a folder of its own")
        if target.exists() and not target.is_dir():
            raise OutputError(f"{path} is a file; a sweep is saved as a folder")
        if not target.exists() or not any(target.iterdir()):
            return
        foreign = [] if is_tokenizer_folder(target) else _foreign(target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be looked into: {error.strerror or error}") from error
    if foreign:
        raise OutputError(
            f"{path} holds other files ({', '.join(foreign[:3])}), and a sweep takes the place of the whole "
            "folder; choose another one"
        )
    if not force:
        raise OutputError(
            f"{path} holds a tokenizer or a sweep already; choose another folder, or replace it as a whole "
            "(force=True, --force)"
        )


def save_sweep(
    path: str | os.PathLike[str],
    tokenizers: Mapping[int, tuple[BPEModel, Mapping[str, Any] | None]],
    tables: Mapping[str, bytes],
    force: bool = False,
) -> None:
    """Save several tokenizers as one folder; a crash leaves the old one or the new one.

    Args:
        path: a folder that is missing or empty; with `force` also a sweep or a tokenizer.
        tokenizers: model and report by vocab size, which names the folder of each.
        tables: contents of SWEEP_JSON and SWEEP_CSV.
        force: replace what is there.

    Raises:
        OutputError: a folder that must not be replaced or cannot be written, or a model that no
            file can hold.
    """
    check_sweep_folder(path, force)
    target = Path(os.path.realpath(path))  # a link stays one; what it leads to is replaced
    part = temporary_sibling(target)
    try:
        part.mkdir(parents=True)
        for vocab_size, (model, report) in tokenizers.items():
            save_folder(model, part / str(vocab_size), report)
        for name, contents in tables.items():
            with atomic_write(part / name) as file:
                file.write(contents)
        sync_folder(part)
        _put_in_place(part, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _put_in_place(part: Path, target: Path) -> None:
    """Rename the new folder to its name, the old one out of the way first."""
    backup = backup_of(target)
    if target.exists():
        if backup.is_dir() and _is_replaceable(backup):
            shutil.rmtree(backup)  # of a run that ended before it could
        target.rename(backup)
    try:
        part.rename(target)
    except BaseException:  # Ctrl-C too
        if backup.exists() and not target.exists():
            backup.rename(target)
        raise
    sync_folder(target.parent)
    if backup.is_dir() and _is_replaceable(backup):
        shutil.rmtree(backup, ignore_errors=True)


def _is_replaceable(folder: Path) -> bool:
    return is_tokenizer_folder(folder) or not _foreign(folder)


def _foreign(folder: Path) -> list[str]:
    """Return the names in a folder that no sweep holds; all, if it is none."""

    def is_known(entry: Path) -> bool:
        if entry.is_symlink():
            return False
        if entry.is_dir():
            return entry.name.isdecimal() and is_tokenizer_folder(entry)
        return entry.name in (SWEEP_JSON, SWEEP_CSV)

    names = sorted(entry.name for entry in folder.iterdir())
    is_sweep = (folder / SWEEP_JSON).is_file()
    return [name for name in names if not (is_sweep and is_known(folder / name))]
