"""One data file of any format, recognised by what it holds, and read a range at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb.dataset.document_ends import MEGATRON_CODES, MEGATRON_HEADER_BYTES, MEGATRON_MAGIC
from bpenb.dataset.npy import id_dtype, read_npy_header
from bpenb.dataset.shard_writer import side_path
from bpenb.dataset.token_format import LLMC_HEADER_BYTES, LLMC_MAGICS, TOKEN_FORMATS
from bpenb.errors import FormatError

__all__ = ["TokenFile", "as_id_dtype", "recognise_file"]

NPY_MAGIC = b"\x93NUMPY"


@dataclass(frozen=True)
class TokenFile:
    """A data file.

    Attributes:
        path: where it is.
        format: a name of `TOKEN_FORMATS`.
        dtype: of the ids, as they stand in the file.
        n_header: bytes before the first id.
        n_tokens: ids in it, padding included.
    """

    path: Path
    format: str
    dtype: np.dtype[Any]
    n_header: int
    n_tokens: int

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return the ids of a range, in native byte order.

        Raises:
            FormatError: the file cannot be read, or became shorter.
        """
        try:
            offset = self.n_header + start * self.dtype.itemsize
            ids = np.fromfile(self.path, self.dtype, count=stop - start, offset=offset)
        except OSError as error:
            raise FormatError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if ids.shape[0] < stop - start:
            raise FormatError(f"{self.path}: cut short: {stop - start - ids.shape[0]} ids are missing")
        return ids.astype(self.dtype.newbyteorder("="), copy=False)


def as_id_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return a dtype of ids, little-endian.

    Raises:
        FormatError: not one of u2, u4 and i4.

    Example:
        >>> as_id_dtype("u4").str
        '<u4'
    """
    try:
        found = np.dtype(dtype).newbyteorder("<")
    except TypeError:
        found = None
    if found is None or found.str not in ("<u2", "<u4", "<i4"):
        raise FormatError(f"dtype {dtype!r}: ids are u2, u4 or i4 (uint16, uint32, int32)")
    return found


def recognise_file(
    path: Path, dtype: npt.DTypeLike | None = None, n_vocab: int | None = None, known: str | None = None
) -> TokenFile:
    """Return a data file by what it holds.

    Args:
        path: the file.
        dtype: of the ids, as a manifest or the caller tells; a file that tells another is an error.
        n_vocab: decides the dtype where nobody tells it.
        known: the format, where a manifest tells it.

    Raises:
        FormatError: a file that cannot be read or is none of these, or whose size does not fit.
    """
    told = None if dtype is None else as_id_dtype(dtype)
    try:
        with path.open("rb") as file:
            head = file.read(12)
            if head.startswith(NPY_MAGIC) or known == "npy" or (known is None and path.suffix == ".npy"):
                file.seek(0)
                npy_dtype, shape = read_npy_header(file, str(path))
                if not 1 <= len(shape) <= 2 or min(shape) < 0:
                    raise FormatError(f"{path}: has shape {shape}; token ids stand in a row, or in rows")
                found = TokenFile(path, "npy", npy_dtype, file.tell(), int(np.prod(shape)))
            else:
                found = _without_npy_header(path, head, told, n_vocab, known)
            n_bytes = path.stat().st_size
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    if told is not None and told.itemsize != found.dtype.itemsize:
        raise FormatError(f"{path}: holds ids of {found.dtype.itemsize * 8} bits, not of {told.itemsize * 8}")
    _check_size(found, n_bytes)
    return found


def _check_size(file: TokenFile, n_bytes: int) -> None:
    expected = file.n_header + file.n_tokens * file.dtype.itemsize
    if n_bytes == expected:
        return
    what = "cut short" if n_bytes < expected else "more bytes follow the ids"
    raise FormatError(
        f"{file.path}: {what}: {file.n_tokens:,} ids make {expected:,} bytes, and it has {n_bytes:,}"
    )


def _without_npy_header(
    path: Path, head: bytes, told: np.dtype[Any] | None, n_vocab: int | None, known: str | None
) -> TokenFile:
    """Recognise by an index beside it, the magic number of llm.c, or the name."""
    n_bytes = path.stat().st_size
    index = side_path(path, TOKEN_FORMATS["megatron"], ".idx")
    if known == "megatron" or (known is None and path.suffix == ".bin" and index.exists()):
        return _plain(path, "megatron", _megatron_dtype(index), n_bytes)
    magic, version, n_tokens = np.frombuffer(head.ljust(12, b"\0"), dtype="<i4").tolist()
    is_magic = any(magic == m for m, _ in LLMC_MAGICS)
    if known == "llmc" or (known is None and is_magic):
        if (magic, version) not in LLMC_MAGICS:
            raise FormatError(f"{path}: magic number {magic}, version {version}: unknown to llm.c")
        return TokenFile(path, "llmc", LLMC_MAGICS[magic, version], LLMC_HEADER_BYTES, max(0, n_tokens))
    if known == "datatrove" or (known is None and path.suffix == ".ds"):
        return _plain(path, "datatrove", _first(_datatrove_dtype(path), told, _by_vocab(n_vocab)), n_bytes)
    if known is None and path.suffix != ".bin" and told is None:
        raise FormatError(
            f"{path}: is no token file that is known: not a .npy file, no .bin and no .ds; "
            "if it holds nothing but ids, tell their dtype (dtype='u2', --dtype u2)"
        )
    return _plain(path, "bin", _first(told, _by_vocab(n_vocab)), n_bytes)


def _first(*dtypes: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """Return the first that is known."""
    return next((dtype for dtype in dtypes if dtype is not None), None)


def _by_vocab(n_vocab: int | None) -> np.dtype[Any] | None:
    return None if n_vocab is None else id_dtype(n_vocab)


def _plain(path: Path, token_format: str, dtype: np.dtype[Any] | None, n_bytes: int) -> TokenFile:
    """Return a file that holds nothing but ids."""
    if dtype is None:
        raise FormatError(
            f"{path}: has no manifest beside it, and nothing else tells the dtype of its ids; "
            "name it (dtype='u2' or 'u4', --dtype), or the tokenizer"
        )
    if n_bytes % dtype.itemsize:
        raise FormatError(f"{path}: {n_bytes:,} bytes do not divide into ids of {dtype.itemsize}: cut short?")
    return TokenFile(path, token_format, dtype, 0, n_bytes // dtype.itemsize)


def _megatron_dtype(index: Path) -> np.dtype[Any]:
    """Return the dtype that a .idx tells."""
    with index.open("rb") as file:
        head = file.read(MEGATRON_HEADER_BYTES)
    if len(head) < MEGATRON_HEADER_BYTES or not head.startswith(MEGATRON_MAGIC):
        raise FormatError(f"{index}: does not begin with MMIDIDX, so it is no index of Megatron")
    version, code = int.from_bytes(head[9:17], "little"), head[17]
    if version != 1 or code not in MEGATRON_CODES:
        raise FormatError(f"{index}: version {version}, dtype code {code}: known are 1, and 8 or 4")
    return MEGATRON_CODES[code]


def _datatrove_dtype(path: Path) -> np.dtype[Any] | None:
    """Return the dtype that the metadata tell, if there are any: `name|bytes of an id` in line 1."""
    metadata = side_path(path, TOKEN_FORMATS["datatrove"], ".ds.metadata")
    if not metadata.exists():
        return None
    size = metadata.read_bytes().split(b"\n")[0].rpartition(b"|")[2]
    by_size: dict[bytes, np.dtype[Any]] = {b"2": np.dtype("<u2"), b"4": np.dtype("<u4")}
    return by_size.get(size)
