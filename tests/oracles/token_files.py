"""The files of a dataset as they must be, byte for byte: everything in memory, a number at a time."""

from __future__ import annotations

import io
import struct

import numpy as np

CODES = {"<u2": "<H", "<u4": "<I", "<i4": "<i"}


def packed(ids: list[int], dtype: str) -> bytes:
    return b"".join(struct.pack(CODES[dtype], i) for i in ids)


def numpy_file(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def dtype_of(form: str, n_vocab: int) -> str:
    if form == "megatron":
        return "<u2" if n_vocab < 65_500 else "<i4"
    return "<u2" if n_vocab <= 65_536 else "<u4"


def data_file(form: str, ids: list[int], n_vocab: int, seq_len: int | None = None) -> bytes:
    dtype = dtype_of(form, n_vocab)
    if form == "npy":
        array = np.array(ids, dtype=dtype)
        return numpy_file(array if seq_len is None else array.reshape(-1, seq_len))
    if form == "llmc":
        magic = (20240520, 1) if dtype == "<u2" else (20240801, 7)
        return struct.pack("<256i", *magic, len(ids), *[0] * 253) + packed(ids, dtype)
    return packed(ids, dtype)


def human(n: int) -> str:
    assert n < 1000  # three digits, and T for tokens
    return next(text for text in (f"{n:.2f}", f"{n:.1f}", f"{n:.0f}") if len(text) <= 4) + " T"


def side_files(form: str, name: str, ids: list[int], ends: list[int], n_vocab: int) -> dict[str, bytes]:
    size = 2 if dtype_of(form, n_vocab) == "<u2" else 4
    starts = [0, *ends[:-1]]
    if form == "megatron":
        data = b"MMIDIDX\x00\x00" + struct.pack("<Q", 1) + struct.pack("<B", 8 if size == 2 else 4)
        data += struct.pack("<QQ", len(ends), len(ends) + 1)
        data += b"".join(struct.pack("<i", end - start) for start, end in zip(starts, ends, strict=False))
        data += b"".join(struct.pack("<q", start * size) for start in starts[: len(ends)])
        data += b"".join(struct.pack("<q", i) for i in range(len(ends) + 1))
        return {f"{name}.idx": data}
    if form == "datatrove":
        metadata = f"bpenb|{size}\n{len(ids)}\n{human(len(ids))}"
        index = b"".join(struct.pack("<Q", end) for end in ends)
        return {f"{name}.ds.index": index, f"{name}.ds.metadata": metadata.encode()}
    return {}


def cut(
    form: str, ids: list[int], ends: list[int], shard_tokens: int | None
) -> list[tuple[list[int], list[int]]]:
    """Return the ids of each shard, and the ends of the documents in it (flat formats have none)."""
    if form in ("npy", "bin", "llmc"):
        step = shard_tokens or max(1, len(ids))
        return [(ids[i : i + step], []) for i in range(0, len(ids), step)] or [([], [])]
    shards, shard_ids, shard_ends, start = [], [], [], 0
    for end in ends:
        shard_ids = shard_ids + ids[start:end]
        shard_ends = [*shard_ends, len(shard_ids)]
        start = end
        if shard_tokens is not None and len(shard_ids) >= shard_tokens:
            shards.append((shard_ids, shard_ends))
            shard_ids, shard_ends = [], []
    return [*shards, (shard_ids, shard_ends)] if shard_ends or not shards else shards


def split_files(
    form: str,
    ids: list[int],
    ends: list[int],
    n_vocab: int,
    names: list[str],
    *,
    shard_tokens: int | None = None,
    seq_len: int | None = None,
    pad_id: int = 0,
    index: str | None = None,
) -> dict[str, bytes]:
    """Return the contents of all files of a split by name; `names` are the stems of the data files."""
    if not ends or ends[-1] < len(ids):
        ends = [*ends, len(ids)] if ids[ends[-1] if ends else 0 :] else ends
    if seq_len is not None:
        shard_tokens = None if shard_tokens is None else shard_tokens // seq_len * seq_len
    suffix = {"npy": ".npy", "datatrove": ".ds"}.get(form, ".bin")
    files = {}
    for name, (shard_ids, shard_ends) in zip(names, cut(form, ids, ends, shard_tokens), strict=False):
        padding = [pad_id] * (-len(shard_ids) % seq_len) if seq_len else []
        files[name + suffix] = data_file(form, shard_ids + padding, n_vocab, seq_len)
        files |= side_files(form, name, shard_ids, shard_ends, n_vocab)
    if index is not None and form in ("npy", "bin", "llmc"):
        files[index] = numpy_file(np.array([0, *ends], dtype="<i8"))
    return files
