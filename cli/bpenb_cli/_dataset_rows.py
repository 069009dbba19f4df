"""The figures of a dataset, as lines on standard output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpenb.dataset import DatasetReader

__all__ = ["dataset_rows", "print_figures"]


def dataset_rows(dataset: DatasetReader) -> list[tuple[str, str]]:
    """Return name and value of each line."""
    n_documents = "no index" if dataset.n_documents is None else f"{dataset.n_documents:,}"
    rows = [
        ("format", f"{dataset.format}, ids of {dataset.dtype.itemsize * 8} bits ({dataset.dtype})"),
        ("files", f"{len(dataset.files):,}"),
        ("tokens", f"{dataset.n_tokens:,}"),
        ("documents", n_documents),
    ]
    manifest = dataset.manifest
    if manifest is None:
        return [*rows, ("manifest", "none")]
    if dataset.n_documents is None:
        rows[-1] = ("documents", f"{manifest.n_documents:,} in all, without an index")
    if manifest.seq_len is not None:
        rows.append(("rows", f"of {manifest.seq_len:,} tokens"))
    for name, split in manifest.splits.items():
        padding = f", {split.padding:,} ids of padding" if split.padding else ""
        files = f"in {len(split.data_files):,} files{padding}"
        rows.append((f"split {name}", f"{split.tokens:,} tokens, {split.documents:,} documents, {files}"))
    if manifest.bytes_per_token:
        rate = f"{manifest.bytes_per_token:.3f} bytes per token"
        rows.append(("text", f"{manifest.text_bytes:,} bytes, {rate}"))
    rows.append(("tokenizer", f"{manifest.n_vocab:,} ids, {manifest.tokenizer}"))
    if manifest.inputs:
        n_bytes = sum(entry.get("bytes") or 0 for entry in manifest.inputs)
        rows.append(("inputs", f"{len(manifest.inputs):,} files, {n_bytes:,} bytes"))
    if manifest.settings:
        rows.append(("settings", json.dumps(manifest.settings, ensure_ascii=False)))
    return rows


def print_figures(dataset: DatasetReader) -> None:
    """Print a line for each figure: its name, a tab, its value."""
    for name, value in dataset_rows(dataset):
        print(f"{name}\t{value}")
