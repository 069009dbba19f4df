"""Opening a dataset: a file, a folder or a manifest.

With a manifest, format, dtype, splits and padding are known. Without one a file is recognised by
what it holds and by what stands beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy.typing as npt

from bpenb.dataset.document_index import DocumentIndex, EndsIndex, MegatronIndex, OffsetsIndex
from bpenb.dataset.manifest import MANIFEST_NAME, MANIFEST_SUFFIX, Manifest, SplitRecord
from bpenb.dataset.npy import read_ids
from bpenb.dataset.output_plan import DOCUMENTS_SUFFIX
from bpenb.dataset.reader import DatasetPart, DatasetReader
from bpenb.dataset.shard_writer import side_path
from bpenb.dataset.token_file import TokenFile, recognise_file
from bpenb.dataset.token_format import TOKEN_FORMATS
from bpenb.errors import FormatError

__all__ = ["find_manifest", "iterate_ids", "open_dataset"]


def find_manifest(path: Path) -> Path | None:
    """Return the manifest of a folder or a data file; a path to one is its own.

    Raises:
        FormatError: a manifest in the folder of the file that is damaged.
    """
    if path.is_dir():
        return path / MANIFEST_NAME if (path / MANIFEST_NAME).is_file() else None
    if path.name == MANIFEST_NAME or path.name.endswith(MANIFEST_SUFFIX):
        return path
    for token_format in TOKEN_FORMATS.values():
        if path.name.endswith(token_format.suffix):
            beside = side_path(path, token_format, MANIFEST_SUFFIX)
            if beside.is_file() and path.name in Manifest.read(beside).file_names:
                return beside
    folders = path.parent / MANIFEST_NAME
    if folders.is_file():
        try:
            return folders if path.name in Manifest.read(folders).file_names else None
        except FormatError:  # it may be anybody's
            return None
    return None


def open_dataset(
    path: str | os.PathLike[str],
    dtype: npt.DTypeLike | None = None,
    *,
    n_vocab: int | None = None,
    split: str | None = None,
) -> DatasetReader:
    """Open token ids to read them.

    Args:
        path: a data file of any format, a folder of them, or a manifest.
        dtype: of a file that holds nothing but ids and has no manifest: `u2` or `u4`.
        n_vocab: decides the dtype if nothing else does.
        split: only this one; None for all, one after the other.

    Raises:
        FormatError: what is no dataset, or is damaged: sizes that do not fit, a missing file.

    Example:
        >>> import numpy as np
        >>> np.save("ids.npy", np.arange(5, dtype=np.uint16))
        >>> dataset = open_dataset("ids.npy")
        >>> dataset.n_tokens, dataset.read(1, 3).tolist(), [len(b) for b in dataset.blocks(2)]
        (5, [1, 2], [2, 2, 1])
    """
    target = Path(path)
    if not target.exists():
        raise FormatError(f"{target}: is missing")
    place = find_manifest(target)
    if place is None:
        if split is not None:
            raise FormatError(f"{target}: has no manifest, so its splits are not known; leave out split")
        files = _bare_files(target) if target.is_dir() else [target]
        parts = tuple(_bare_part(file, dtype, n_vocab, alone=len(files) == 1) for file in files)
        return DatasetReader(target, parts, None)
    manifest = Manifest.read(place)
    if split is not None and split not in manifest.splits:
        raise FormatError(f"{place}: has no split {split!r}; there are: {', '.join(manifest.splits)}")
    only = None if target.is_dir() or target == place else target.name
    found: list[DatasetPart] = []
    for name, record in manifest.splits.items():
        if split in (None, name):
            found += _parts_of(place, manifest, record, dtype, only)
    if not found:
        raise FormatError(f"{target}: is no data file of {place}")
    return DatasetReader(target, tuple(found), manifest)


def _parts_of(
    place: Path, manifest: Manifest, record: SplitRecord, dtype: npt.DTypeLike | None, only: str | None
) -> Iterator[DatasetPart]:
    """Open the files of a split; of `only` one file, if it is named."""
    files, n_tokens = [], []
    for entry in record.data_files:
        if only in (None, entry.name):
            path = place.with_name(entry.name)
            file = recognise_file(path, manifest.dtype, known=manifest.format)
            if dtype is not None:
                recognise_file(path, dtype, known=manifest.format)  # what the caller tells must be so
            if file.n_tokens != entry.tokens:
                raise FormatError(
                    f"{path}: holds {file.n_tokens:,} ids; its manifest tells of {entry.tokens:,}"
                )
            files.append(file)
            is_last = entry == record.data_files[-1]
            n_tokens.append(file.n_tokens - (record.padding if is_last else 0))
    if not files:
        return
    if TOKEN_FORMATS[manifest.format].whole_documents:
        yield from (DatasetPart((f,), n, _own_index(f)) for f, n in zip(files, n_tokens, strict=True))
        return
    index = None
    if record.document_index is not None and len(files) == len(record.data_files):
        index = OffsetsIndex(place.with_name(record.document_index), sum(n_tokens))
    yield DatasetPart(tuple(files), sum(n_tokens), index)


def _own_index(file: TokenFile) -> DocumentIndex | None:
    """Return the index that the format asks for; a .ds can do without."""
    path = side_path(file.path, TOKEN_FORMATS[file.format], TOKEN_FORMATS[file.format].side_suffixes[0])
    if file.format == "megatron":
        return MegatronIndex(path, file)
    return EndsIndex(path, file.n_tokens) if path.exists() else None


def _bare_part(path: Path, dtype: npt.DTypeLike | None, n_vocab: int | None, alone: bool) -> DatasetPart:
    """Open a data file of which no manifest tells."""
    file = recognise_file(path, dtype, n_vocab)
    token_format, index = TOKEN_FORMATS[file.format], None
    if token_format.whole_documents:
        index = _own_index(file)
    elif alone:
        beside = side_path(path, token_format, DOCUMENTS_SUFFIX)
        index = OffsetsIndex(beside, file.n_tokens) if beside.is_file() else None
    return DatasetPart((file,), file.n_tokens, index)


def _bare_files(folder: Path) -> list[Path]:
    """Return the data files of a folder without a manifest, by name."""
    suffixes = {token_format.suffix for token_format in TOKEN_FORMATS.values()}
    files = sorted(
        entry
        for entry in folder.iterdir()
        if entry.suffix in suffixes
        and not entry.name.startswith(".")
        and not entry.name.endswith(DOCUMENTS_SUFFIX)
    )
    kinds = {file.suffix for file in files}
    if len(kinds) != 1:
        what = f"data files of several kinds ({', '.join(sorted(kinds))})" if kinds else "no data files"
        raise FormatError(f"{folder}: holds no {MANIFEST_NAME}, and {what}; name one file")
    return files


def iterate_ids(
    source: str | os.PathLike[str], dtype: npt.DTypeLike | None = None, n_vocab: int | None = None
) -> Iterator[npt.NDArray[Any]]:
    """Read ids from wherever they are, block by block.

    Args:
        source: what `open_dataset` opens; a pipe, or `"-"` for standard input, with a .npy file.
        dtype, n_vocab: as there.

    Raises:
        FormatError: as there, and as `read_ids`.
    """
    path = Path(source)
    if source == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        yield from read_ids(source)
    else:
        yield from open_dataset(path, dtype, n_vocab=n_vocab).blocks()
