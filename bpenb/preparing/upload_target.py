"""Where an upload goes: what is there, what may be replaced, and files sent as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bpenb._atomic import atomic_write
from bpenb._remote import connect, is_http, shown_url, split_url, try_again
from bpenb.dataset import Manifest, OutputPlan, file_and_sides
from bpenb.errors import FormatError, OutputError
from bpenb.progress import Reporter

__all__ = ["Found", "Upload", "UploadTarget"]

_UPLOAD = "upload.json"


@dataclass
class Upload:
    """What an upload has done and will do; its file is in the staging folder from its beginning on.

    Attributes:
        folder: the staging folder.
        replaced: names of files of an older dataset, which go.
        done: names of files that are there as a whole.
    """

    folder: Path
    replaced: Sequence[str] = ()
    done: Sequence[str] = ()

    @classmethod
    def read(cls, folder: Path) -> Upload | None:
        """Return what an earlier run tells, or None."""
        try:
            data = json.loads((folder / _UPLOAD).read_bytes())
            return cls(folder, data["replaced"], data["done"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self) -> None:
        """Write it down."""
        with atomic_write(self.folder / _UPLOAD) as file:
            file.write(json.dumps({"replaced": list(self.replaced), "done": list(self.done)}).encode())


@dataclass(frozen=True)
class Found:
    """What is at a URL: names of files of a dataset of ours and of others, and its manifest."""

    ours: Sequence[str]
    others: Sequence[str]
    manifest: Manifest | None


@dataclass(frozen=True)
class UploadTarget:
    """Where the files go.

    Attributes:
        url: of the file or folder.
        plan: of the files on the disk.
        folder_url: of the folder.
        file_system, folder: the same, as fsspec has it.
        format: of the files.
    """

    url: str
    plan: OutputPlan
    folder_url: str
    file_system: Any
    folder: str
    format: str

    @classmethod
    def of(
        cls, url: str, staging: Path, name_files: Callable[[Path], OutputPlan], format: str
    ) -> UploadTarget:
        """Connect; raises OutputError if nothing can be written there."""
        _, _, place, query = split_url(url)
        name = place.rstrip("/").rpartition("/")[2]
        if is_http(url) or query:
            raise OutputError(
                f"{shown_url(url)}: a web server takes no files; give the URL of a file system, such as s3://"
            )
        plan = name_files(staging / name)
        if not plan.is_folder and (not name or "/" not in place or place.endswith("/")):
            raise OutputError(f"{shown_url(url)}: is a folder; name a file, or write shards (--shard-tokens)")
        folder_url = url.rstrip("/") if plan.is_folder else url.rpartition("/")[0]
        file_system, folder = connect(folder_url, OutputError)
        return cls(url, plan, folder_url, file_system, folder, format)

    def __str__(self) -> str:
        return shown_url(self.url)

    def _try(self, name: str, what: str, action: Callable[[], Any]) -> Any:
        return try_again(f"{self.folder_url}/{name}", what, action, OutputError)

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    # --- what is there ------------------------------------------------------------------------------

    def look(self) -> Found:
        """Return what is there: in the folder, or under the names that one file and those beside it have."""
        self.file_system.invalidate_cache()
        plan, manifest_name = self.plan, self.plan.manifest.name
        listed = self._try(manifest_name, "cannot be looked for", self._list)
        manifest = self._manifest() if manifest_name in listed else None
        ours = listed
        if plan.is_folder:
            ours = {manifest_name, *manifest.file_names} if manifest is not None else set()
        return Found(sorted(ours & listed), sorted(listed - ours), manifest)

    def _list(self) -> set[str]:
        if not self.plan.is_folder:
            return {path.name for path in file_and_sides(self.plan, self.format) if self._is_there(path.name)}
        try:
            found = self.file_system.find(self.folder)
        except FileNotFoundError:
            return set()
        return {name.removeprefix(self.folder).lstrip("/") for name in found}

    def _is_there(self, name: str) -> bool:
        try:
            self.file_system.info(self._path(name))
        except FileNotFoundError:
            return False
        return True

    def _manifest(self) -> Manifest | None:
        name = self.plan.manifest.name
        data = self._try(name, "cannot be read", lambda: self.file_system.cat_file(self._path(name)))
        try:
            return Manifest.from_json(data.decode(), name)
        except (FormatError, UnicodeDecodeError):  # somebody else's
            return None

    def check(self, found: Found, force: bool) -> None:
        """Refuse to replace what is there: never what is not ours, and a dataset only by force."""
        if found.others:
            raise OutputError(
                f"{self} holds other files ({', '.join(found.others[:3])}), so no dataset is written there, "
                "not even by force; choose another folder, or empty this one"
            )
        if found.ours and not force:
            what = "holds a dataset" if self.plan.is_folder else f"exists ({', '.join(found.ours[:3])})"
            raise OutputError(f"{self} {what}; choose another name, or replace it (force=True, --force)")

    def forget(self, upload: Upload) -> None:
        """Remove what a broken-off upload left, which no manifest tells of."""
        if self.plan.manifest.name not in upload.done:
            for name in upload.done:
                self._remove(name)

    # --- uploading ----------------------------------------------------------------------------------

    def upload(self, manifest: Manifest, upload: Upload, reporter: Reporter) -> None:
        """Upload all that is not there yet: an older manifest goes first, the new one comes last."""
        folder, last = self.plan.manifest.parent, self.plan.manifest.name
        names = [record.name for split in manifest.splits.values() for record in split.files]
        sizes = {name: (folder / name).stat().st_size for name in [*names, last]}
        if last in upload.replaced and last not in upload.done:
            self._remove(last)
        reporter.start("upload", sum(sizes.values()), "bytes")
        n_bytes = 0
        for name in [*names, last]:
            if name == last:
                for old in set(upload.replaced) - sizes.keys():
                    self._remove(old)
            if name not in upload.done:
                self._put(folder / name, sizes[name])
                upload.done = [*upload.done, name]
                upload.save()
            n_bytes += sizes[name]
            reporter.update(n_bytes)
        reporter.finish(n_bytes)

    def _put(self, file: Path, n_bytes: int) -> None:
        """Upload a file as a whole; if that fails, nothing is under its name."""
        place = self._path(file.name)

        def put() -> None:
            try:
                self.file_system.put_file(str(file), place)
            except FileNotFoundError:
                where = f"{shown_url(self.folder_url)}/{file.name}"
                raise OutputError(f"{where}: cannot be uploaded: there is no such bucket or folder") from None
            self.file_system.invalidate_cache()
            arrived = self.file_system.info(place)["size"]
            if arrived != n_bytes:
                raise OSError(f"{n_bytes:,} bytes were sent, and {arrived:,} arrived")

        try:
            self._try(file.name, "cannot be uploaded", put)
        except BaseException:
            with suppress(Exception):  # the connection may be down
                if self.file_system.exists(place):
                    self.file_system.rm_file(place)
            raise

    def _remove(self, name: str) -> None:
        def remove() -> None:
            with suppress(FileNotFoundError):
                self.file_system.rm_file(self._path(name))

        self._try(name, "cannot be removed", remove)
