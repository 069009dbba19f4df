"""Token ids as .npy files, written and read as streams.

The number of ids stands in the header, and is known at the end only: room is left for it, and it
is filled in where the file began (stdout.py has the ways to do so on a pipe, too).

Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bpenb.dataset.id_checks import fit_ids
from bpenb.dataset.stdout import open_target
from bpenb.errors import FormatError, OutputError

__all__ = ["HEADER_BYTES", "NpyWriter", "id_dtype", "npy_header", "read_ids", "read_npy_header"]

HEADER_BYTES = 128  # what NumPy writes for integers in one or two dimensions; readers must not rely on it
MAX_UINT16 = 1 << 16  # so many ids fit
MAX_UINT32 = 1 << 32
READ_BLOCK = 1 << 18  # ids


def id_dtype(n_vocab: int) -> np.dtype[Any]:
    """Return the dtype that holds every id below `n_vocab`: little-endian uint16, else uint32.

    Raises:
        OutputError: ids that fit neither.

    Example:
        >>> id_dtype(65536).str, id_dtype(65537).str
        ('<u2', '<u4')
    """
    if n_vocab > MAX_UINT32:
        raise OutputError(f"ids up to {n_vocab - 1} fit neither uint16 nor uint32")
    return np.dtype("<u2" if n_vocab <= MAX_UINT16 else "<u4")


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the 128 bytes that stand before an array of one or two dimensions.

    Example:
        >>> npy_header(np.dtype("<u2"), (5,))[10:67]
        b"{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }"
    """
    magic = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
    fields = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape!r}, }}"
    return magic + fields.encode().ljust(HEADER_BYTES - 11) + b"\n"


class NpyWriter:
    """Writes token ids to a .npy file as they come; a context manager.

    If the block ends with an error, a path is left as it was, and of a redirected standard output
    nothing is kept.

    Args:
        target: a path; `"-"` for standard output; or an open binary stream.
        n_vocab: every id is below; it decides the dtype.

    Attributes:
        dtype: of the file, little-endian uint16 or uint32.
        n_ids: written so far.

    Raises:
        OutputError: a terminal, a folder, or a target that cannot be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "ids.npy")
        >>> with NpyWriter(path, n_vocab=50257) as out:
        ...     out.write(np.array([15496, 995]))
        >>> np.load(path)
        array([15496,   995], dtype=uint16)
    """

    def __init__(self, target: str | os.PathLike[str] | IO[bytes], n_vocab: int) -> None:
        self.dtype = id_dtype(n_vocab)
        self.n_ids = 0
        self._n_vocab = n_vocab
        self._stack = ExitStack()
        self._file: IO[bytes] | None = None
        self._target = target

    def __enter__(self) -> NpyWriter:
        with ExitStack() as stack:
            self._file = stack.enter_context(open_target(self._target))
            stack.enter_context(self._header_around(self._file))
            self._stack = stack.pop_all()
        return self

    @contextmanager
    def _header_around(self, file: IO[bytes]) -> Iterator[None]:
        """Leave room for the header where we begin; fill it in if all went well."""
        start = file.tell()
        file.write(npy_header(self.dtype, (0,)))
        yield
        end = file.tell()
        file.seek(start)
        file.write(npy_header(self.dtype, (self.n_ids,)))
        file.seek(end)

    def write(self, ids: npt.NDArray[Any]) -> None:
        """Append ids.

        Args:
            ids: one dimension, any integer dtype.

        Raises:
            OutputError: an id that is negative or not below `n_vocab`: nothing ever wraps.
        """
        assert self._file is not None, "NpyWriter is used in a with block"
        own = fit_ids(ids, self.dtype, self._n_vocab)
        self._file.write(own.data.cast("B"))  # tofile fails on a pipe
        self.n_ids += own.shape[0]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def read_ids(
    source: str | os.PathLike[str] | IO[bytes], block_ids: int = READ_BLOCK
) -> Iterator[npt.NDArray[Any]]:
    """Read the token ids of a .npy file, block by block; nothing in it is ever unpickled.

    Args:
        source: a path; `"-"` for standard input; or an open binary stream (a pipe is fine).
        block_ids: ids at a time.

    Returns:
        Arrays of one dimension, with the integer dtype of the file in native byte order.

    Raises:
        FormatError: a path that cannot be read; no .npy file; not integers; not one dimension; cut
            short, or with more behind.

    Example:
        >>> from io import BytesIO
        >>> file = BytesIO()
        >>> np.save(file, np.arange(5, dtype=np.uint16))
        >>> _ = file.seek(0)
        >>> [block.tolist() for block in read_ids(file, block_ids=3)]
        [[0, 1, 2], [3, 4]]
    """
    if source == "-":
        yield from _read_stream(sys.stdin.buffer, "standard input", block_ids)
    elif isinstance(source, (str, os.PathLike)):
        try:
            with Path(source).open("rb") as file:
                yield from _read_stream(file, os.fspath(source), block_ids)
        except OSError as error:
            raise FormatError(f"{os.fspath(source)}: cannot be read: {error.strerror or error}") from error
    else:
        yield from _read_stream(source, str(getattr(source, "name", "the stream")), block_ids)


def read_npy_header(stream: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Read and check what stands before an array of integers.

    Args:
        stream: at the start of the file; then at the first integer.
        name: of the file, for errors.

    Returns:
        The dtype, and the shape.

    Raises:
        FormatError: no .npy file, or not of integers in C order.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise FormatError(f"{name}: .npy version {version[0]}.{version[1]} holds no plain integers")
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{name}: not a .npy file: {error}") from None
    if dtype.kind not in "iu":
        raise FormatError(f"{name}: holds {dtype}, not integers, so no token ids")
    if fortran and len(shape) > 1:
        raise FormatError(f"{name}: is in Fortran order; token ids stand row by row")
    return dtype, shape


def _read_stream(stream: IO[bytes], name: str, block_ids: int) -> Iterator[npt.NDArray[Any]]:
    dtype, shape = read_npy_header(stream, name)
    if len(shape) != 1 or shape[0] < 0:
        raise FormatError(f"{name}: has shape {shape}; token ids have one dimension")
    n_left = shape[0]
    while n_left:
        n = min(n_left, block_ids)
        data = _read_exactly(stream, n * dtype.itemsize)
        if len(data) < n * dtype.itemsize:
            raise FormatError(f"{name}: cut short: {n_left - len(data) // dtype.itemsize} ids are missing")
        yield np.frombuffer(data, dtype=dtype).astype(dtype.newbyteorder("="), copy=False)
        n_left -= n
    if stream.read(1):
        raise FormatError(f"{name}: more bytes follow the ids that its header tells of")


def _read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    """Read `n_bytes`, fewer only at the end; an unbuffered pipe gives less at a time."""
    data = stream.read(n_bytes)
    while 0 < len(data) < n_bytes and (more := stream.read(n_bytes - len(data))):
        data += more
    return data
