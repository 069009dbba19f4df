"""Holding a dataset against its manifest: nothing missing, nothing changed, every id a token's."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bpenb.dataset.checksum import crc32_text
from bpenb.dataset.manifest import MANIFEST_NAME, FileRecord, Manifest, SplitRecord, model_digest
from bpenb.dataset.opening import find_manifest, open_dataset
from bpenb.dataset.reader import DatasetReader
from bpenb.dataset.token_file import TokenFile
from bpenb.dataset.token_format import find_format
from bpenb.encoding import Tokenizer
from bpenb.errors import FormatError
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["DatasetCheck", "check_tokenizer", "verify_dataset"]

BLOCK_BYTES = 1 << 20


class DatasetCheck(NamedTuple):
    """What was looked at, and found right.

    Attributes:
        n_files: with the files beside the data.
        n_bytes: of them all.
        n_tokens: padding not counted.
        n_documents: as the manifest tells.
        has_index: whether an index of documents was there to be checked.
    """

    n_files: int
    n_bytes: int
    n_tokens: int
    n_documents: int
    has_index: bool


def verify_dataset(
    path: str | os.PathLike[str], n_vocab: int | None = None, progress: ProgressOption | Reporter = None
) -> DatasetCheck:
    """Check all files of a dataset against its manifest.

    Sizes, checksums and numbers of tokens; every id is below `n_vocab`; the documents are all the
    tokens, one after the other; no other data file is in the folder, which a trainer would read, too.
    Each file is read once.

    Args:
        path: the manifest, its folder, or a data file.
        n_vocab: of the tokenizer that the ids are for; None for what the manifest tells.
        progress: as elsewhere.

    Raises:
        FormatError: the first thing that is wrong, with the file.
    """
    place = _place_of(path)
    manifest = Manifest.read(place)
    records = [record for split in manifest.splits.values() for record in split.files]
    _check_nothing_more(place, manifest)
    for record in records:
        _check_size(place.with_name(record.name), record)
    dataset = open_dataset(place)  # headers and indexes fit their sizes
    reporter, n_bytes = make_reporter(progress), 0
    reporter.start("verify", sum(record.bytes for record in records), "bytes")
    data = {file.path.name: file for file in dataset.files}
    for record in records:
        path, limit = place.with_name(record.name), n_vocab or manifest.n_vocab
        for n_read in _check_contents(path, record, data.get(record.name), limit):
            n_bytes += n_read
            reporter.update(n_bytes)
    for name, split in manifest.splits.items():
        _check_counts(f"{place}: split {name}", split)
    _check_documents(place, manifest, dataset)
    reporter.finish(n_bytes)
    has_index = dataset.n_documents is not None
    return DatasetCheck(len(records), n_bytes, manifest.n_tokens, manifest.n_documents, has_index)


def check_tokenizer(path: str | os.PathLike[str], tokenizer: Tokenizer) -> None:
    """Check that a dataset was made by this tokenizer, by the digest in its manifest.

    Raises:
        FormatError: it was not, or there is no manifest.
    """
    manifest = Manifest.read(_place_of(path))
    digest = model_digest(tokenizer.model)
    if manifest.tokenizer != digest:
        raise FormatError(
            f"{os.fspath(path)}: was made by another tokenizer, of {manifest.n_vocab:,} ids "
            f"({manifest.tokenizer}), than this one of {tokenizer.n_vocab:,} ({digest})"
        )


def _place_of(path: str | os.PathLike[str]) -> Path:
    place = find_manifest(Path(path)) if Path(path).exists() else None
    if place is None:
        raise FormatError(f"{os.fspath(path)}: has no manifest, against which it could be checked")
    return place


def _check_nothing_more(place: Path, manifest: Manifest) -> None:
    """In a folder of ours: a data file that the manifest does not tell of."""
    if place.name != MANIFEST_NAME:
        return
    suffix = find_format(manifest.format).suffix
    for entry in sorted(place.parent.iterdir()):
        if (
            entry.suffix == suffix
            and not entry.name.startswith(".")
            and entry.name not in manifest.file_names
        ):
            raise FormatError(f"{entry}: is not in the manifest, but a trainer would read it with the others")


def _check_size(path: Path, record: FileRecord) -> None:
    try:
        n_bytes = path.stat().st_size
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    if n_bytes != record.bytes:
        raise FormatError(f"{path}: has {n_bytes:,} bytes, and its manifest tells of {record.bytes:,}")


def _check_contents(path: Path, record: FileRecord, data: TokenFile | None, n_vocab: int) -> Iterator[int]:
    """Read a file once: its checksum, and the ids if it holds any. Yield how many bytes were read."""
    try:
        with path.open("rb") as file:
            header = file.read(data.n_header if data else 0)
            crc, n_ids = zlib.crc32(header), 0
            yield len(header)
            while block := file.read(BLOCK_BYTES):
                crc = zlib.crc32(block, crc)
                if data is not None:
                    ids = np.frombuffer(block, dtype=data.dtype)
                    if ids.max() >= n_vocab or ids.min() < 0:
                        i = int(np.argmax((ids >= n_vocab) | (ids < 0)))
                        raise FormatError(
                            f"{path}: the id at position {n_ids + i} (counted from 0) is {ids[i]}, "
                            f"which is not in 0..{n_vocab - 1}"
                        )
                    n_ids += ids.shape[0]
                yield len(block)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    if crc32_text(crc) != record.crc32:
        raise FormatError(
            f"{path}: was changed: its CRC-32 is {crc32_text(crc)}, and its manifest tells of {record.crc32}"
        )


def _check_counts(name: str, split: SplitRecord) -> None:
    n_ids = sum(record.tokens or 0 for record in split.data_files)
    if n_ids != split.tokens + split.padding:
        raise FormatError(
            f"{name} tells of {split.tokens:,} tokens and {split.padding:,} of padding, "
            f"but its files hold {n_ids:,}"
        )


def _check_documents(place: Path, manifest: Manifest, dataset: DatasetReader) -> None:
    for part in dataset.parts:
        if part.index is not None:
            part.index.check()
    if dataset.n_documents not in (None, manifest.n_documents):
        raise FormatError(
            f"{place}: tells of {manifest.n_documents:,} documents, and the index has {dataset.n_documents:,}"
        )
