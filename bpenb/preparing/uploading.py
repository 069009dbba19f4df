"""Training files behind a URL: made whole on the disk, then uploaded file by file, the manifest last.

look at what is there → encode to a folder in TMPDIR → upload, with its own journal → folder removed

The folder is the same for the same URL, so that `resume` finds it: an encoding goes on as it does on a
disk, and an upload with the first file that is not whole there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from bpenb.dataset import Manifest, OutputPlan
from bpenb.errors import OutputError
from bpenb.preparing.earlier import journal_path
from bpenb.preparing.upload_target import Upload, UploadTarget
from bpenb.progress import Reporter

__all__ = ["Encode", "encode_and_upload", "staging_folder"]

Encode: TypeAlias = Callable[[Path, bool], Manifest]


def staging_folder(url: str) -> Path:
    """Return the folder on the disk where the files for a URL are made, in that for temporary files.

    Example:
        >>> staging_folder("s3://bucket/data") == staging_folder("s3://bucket/data/")
        True
    """
    name = hashlib.sha256(f"{Path.home()}\n{url.rstrip('/')}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"bpenb-upload-{name}"


def encode_and_upload(
    encode: Encode,
    url: str,
    name_files: Callable[[Path], OutputPlan],
    is_same: Callable[[Manifest], bool],
    reporter: Reporter,
    *,
    format: str,
    resume: bool = False,
    force: bool = False,
) -> Manifest:
    """Make training files on the disk, and upload them.

    Args:
        encode: makes them at a path; told whether to go on from an earlier run.
        url: of the file, or folder.
        name_files: tells what the files at a path are called.
        is_same: tells of the manifest that is there whether nothing is to be done.
        reporter: told of bytes uploaded.
        format: of the files.
        resume, force: as of `encode_to_files`.

    Returns:
        The manifest, which was uploaded last.

    Raises:
        OutputError: something is there already, or an upload failed; what was made is kept then.
    """
    staging = staging_folder(url)
    target = UploadTarget.of(url, staging, name_files, format)
    _own(staging)
    if staging.exists() and not (resume or force):
        raise OutputError(
            f"{target}: an earlier run was interrupted; go on from there (resume=True, --resume), or start "
            "anew (force=True, --force)"
        )
    if staging.exists() and force:
        target.forget(Upload.read(staging) or Upload(staging))
        shutil.rmtree(staging)
    upload = Upload.read(staging)
    if upload is None:
        found = target.look()
        if resume and found.manifest is not None and is_same(found.manifest):
            return found.manifest
        target.check(found, force)
        upload = Upload(staging, replaced=found.ours)
    manifest = _encoded(encode, upload, target, resume=resume)
    try:
        target.upload(manifest, upload, reporter)
    except BaseException as error:
        error.add_note(
            f"{target}: all was encoded, and is kept in {staging}; the same with --resume (resume=True) "
            "uploads what is missing"
        )
        raise
    shutil.rmtree(staging, ignore_errors=True)
    return manifest


def _own(folder: Path) -> None:
    """Refuse a folder that somebody else made where all may write."""
    if folder.exists() and hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise OutputError(f"{folder}: is somebody else's; choose another folder (TMPDIR)")


def _encoded(encode: Encode, upload: Upload, target: UploadTarget, *, resume: bool) -> Manifest:
    """Make the files; what an error leaves is kept if a run can go on from it."""
    staging = upload.folder
    try:
        staging.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{staging}: cannot be made: {error.strerror or error}") from error
    try:
        upload.save()
        return encode(target.plan.path, resume)
    except BaseException:
        if not journal_path(target.plan).exists() and not target.plan.manifest.exists():
            shutil.rmtree(staging, ignore_errors=True)
        raise
