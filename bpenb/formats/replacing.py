"""Replacing a folder of files as a whole, so that a crash leaves the old ones or the new ones.

    1. write   .tokenizer.1f3a.part/   every file, fsync
    2. rename  tokenizer/ -> .tokenizer.old/            a crash here: `settled` finds the old one
    3. rename  .tokenizer.1f3a.part/ -> tokenizer/
    4. delete  .tokenizer.old/

A folder that holds foreign files is not replaced: our files are written into it one by one. So is
one that cannot be moved, or that somebody works in: a mount point, the current folder.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from bpenb._atomic import atomic_write, sync_folder, temporary_sibling
from bpenb.errors import OutputError

__all__ = ["backup_of", "check_replaceable", "is_ours", "settled", "write_folder"]

_PART = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part")  # what an interrupted `atomic_write` leaves


def write_folder(
    target: Path, files: Mapping[str, bytes], known: Collection[str], marker: str, force: bool
) -> None:
    """Write files as the contents of a folder.

    Args:
        target: the folder; it is replaced as a whole if it is missing, empty or ours.
        files: contents by name.
        known: names of files that a folder of ours may hold.
        marker: the one among them without which it is not ours.
        force: write the files into any other folder, one by one; what else is there stays.

    Raises:
        OutputError: another folder and no `force`, or a folder that cannot be written.
    """
    check_replaceable(target, known, marker, force)
    target = Path(os.path.realpath(target))  # a link stays one; what it leads to is replaced
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = backup_of(target)
        if not target.exists() and is_ours(backup, known, marker):
            backup.replace(target)  # a run before this one ended between its two renames
        if _is_replaceable(target, known, marker) and not Path.cwd().is_relative_to(target):
            _replace(target, files, known, marker)
        else:
            _write_one_by_one(target, files, known, marker)
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from error


def check_replaceable(target: Path, known: Collection[str], marker: str, force: bool) -> None:
    """Raise OutputError if `write_folder` would refuse this folder."""
    try:
        if target.exists() and not target.is_dir():
            raise OutputError(f"{target} is a file; a tokenizer is saved as a folder")
        if force or _is_replaceable(target, known, marker):
            return
        foreign = sorted(_foreign(target, known))
    except OSError as error:
        raise OutputError(f"{target}: cannot be looked into: {error.strerror or error}") from error
    what = f"holds other files ({', '.join(foreign[:3])})" if foreign else f"holds no {marker}"
    raise OutputError(
        f"{target} is not empty and {what}, so it is not replaced; choose another folder, or force it "
        "(force=True, --force): the tokenizer's files are then written among the others"
    )


def settled(target: Path, known: Collection[str], marker: str) -> Path:
    """Return where to read a folder: under its name, or where a crash in `write_folder` left the old one."""
    if not target.exists() and is_ours(backup_of(target), known, marker):
        return backup_of(target)
    return target


def backup_of(target: Path) -> Path:
    """Return where the old folder is while the new one takes its place."""
    return target.with_name(f".{target.name}.old")


def _foreign(folder: Path, known: Collection[str]) -> list[str]:
    """Return the names of what we did not write."""

    def is_known(entry: Path) -> bool:
        part = _PART.fullmatch(entry.name)
        return (part[1] if part else entry.name) in known and entry.is_file() and not entry.is_symlink()

    return [entry.name for entry in folder.iterdir() if not is_known(entry)]


def is_ours(folder: Path, known: Collection[str], marker: str) -> bool:
    """Tell whether a folder holds the marker, and no file that we did not write."""
    return (folder / marker).is_file() and not _foreign(folder, known)


def _is_replaceable(folder: Path, known: Collection[str], marker: str) -> bool:
    return not folder.exists() or not any(folder.iterdir()) or is_ours(folder, known, marker)


def _replace(target: Path, files: Mapping[str, bytes], known: Collection[str], marker: str) -> None:
    part, backup = temporary_sibling(target), backup_of(target)
    try:
        try:
            part.mkdir()
        except PermissionError:  # the folder may be written, the one it is in may not
            _write_one_by_one(target, files, known, marker)
            return
        for name, contents in files.items():
            with (part / name).open("wb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
        sync_folder(part)
        if not target.exists():
            part.replace(target)
        elif not _set_aside(target, backup, known, marker):
            _write_one_by_one(target, files, known, marker)
        else:
            try:
                part.replace(target)
            except BaseException:  # Ctrl-C too
                if not target.exists():
                    backup.replace(target)
                raise
        sync_folder(target.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if is_ours(backup, known, marker) or (backup.is_dir() and not any(backup.iterdir())):
        shutil.rmtree(backup, ignore_errors=True)


def _set_aside(target: Path, backup: Path, known: Collection[str], marker: str) -> bool:
    """Rename the old folder; False if it cannot move: a mount point, or in use on Windows."""
    if backup.is_dir() and _is_replaceable(backup, known, marker):
        shutil.rmtree(backup)  # of a run that ended before it could
    try:
        target.rename(backup)
    except OSError:
        return False
    return True


def _write_one_by_one(target: Path, files: Mapping[str, bytes], known: Collection[str], marker: str) -> None:
    """Write each file atomically; the marker goes first and comes last, so a mix is never taken for whole."""
    target.mkdir(exist_ok=True)
    was_ours = (target / marker).is_file()
    (target / marker).unlink(missing_ok=True)
    if was_ours:  # what the old tokenizer had, and the new one has not
        for name in set(known) - files.keys():
            (target / name).unlink(missing_ok=True)
    for name in sorted(files, key=lambda name: name == marker):
        with atomic_write(target / name) as file:
            file.write(files[name])
    sync_folder(target)
