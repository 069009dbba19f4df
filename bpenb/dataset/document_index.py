"""Where the documents of a dataset begin and end: one way to ask, whatever the index.

An index may be larger than memory, so it is read where it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.dataset.document_ends import MEGATRON_HEADER_BYTES
from bpenb.dataset.npy import read_npy_header
from bpenb.dataset.token_file import TokenFile
from bpenb.errors import FormatError

__all__ = ["DocumentIndex", "EndsIndex", "MegatronIndex", "OffsetsIndex"]

BLOCK = 1 << 15  # documents


class DocumentIndex:
    """Where documents begin and end, in tokens from the start of the file or split.

    Args:
        path: of the index.
        n_tokens: that it is about.

    Attributes:
        path: as given.
        n_documents: that it tells of.

    Raises:
        FormatError: no such index, or a damaged one.
    """

    n_documents: int

    def __init__(self, path: Path, n_tokens: int) -> None:
        self.path, self._n_tokens = path, n_tokens
        try:
            self._look()
        except OSError as error:
            raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error

    def offsets(self, first: int, last: int) -> Int64Array:
        """Return int64[last - first + 1]: where documents `first` to `last - 1` begin, and the last ends.

        Raises:
            FormatError: offsets that do not ascend or lead out of the ids; an index cut short.
        """
        try:
            found = self._read(first, last)
        except OSError as error:
            raise FormatError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        wrong = np.flatnonzero((found[1:] < found[:-1]) | (found[:-1] < 0) | (found[1:] > self._n_tokens))
        if wrong.size:
            i = int(wrong[0])
            raise FormatError(
                f"{self.path}: document {first + i} goes from token {found[i]} to {found[i + 1]}, "
                f"which is not within the {self._n_tokens:,} tokens, in order"
            )
        return found

    def blocks(self) -> Iterator[tuple[int, Int64Array]]:
        """Yield the number of a document, and the offsets of some from there on."""
        for first in range(0, self.n_documents, BLOCK):
            yield first, self.offsets(first, min(first + BLOCK, self.n_documents))

    def check(self) -> None:
        """Check that the documents are all the tokens, one after the other.

        Raises:
            FormatError: they are not.
        """
        first = last = 0
        for number, offsets in self.blocks():
            if number == 0:
                first = int(offsets[0])
            last = int(offsets[-1])
        if first != 0 or last != self._n_tokens:
            raise FormatError(
                f"{self.path}: its documents go from token {first} to {last}, not 0 to {self._n_tokens:,}"
            )

    def _look(self) -> None:
        """Find out how many documents there are, and check the size of the file."""
        raise NotImplementedError

    def _read(self, first: int, last: int) -> Int64Array:
        raise NotImplementedError

    def _numbers(self, dtype: str, offset: int, count: int) -> Int64Array:
        numbers = np.fromfile(self.path, dtype, count=count, offset=offset)
        if numbers.shape[0] < count:
            raise FormatError(f"{self.path}: cut short")
        return numbers.astype(np.int64)

    def _check_size(self, n_bytes: int) -> None:
        if (found := self.path.stat().st_size) != n_bytes:
            raise FormatError(
                f"{self.path}: has {found:,} bytes, where {self.n_documents:,} documents make {n_bytes:,}"
            )


class OffsetsIndex(DocumentIndex):
    """`NAME.documents.npy`: int64[n_documents + 1] offsets."""

    def _look(self) -> None:
        with self.path.open("rb") as file:
            dtype, shape = read_npy_header(file, str(self.path))
            self._n_header = file.tell()
        if dtype != np.dtype("<i8") or len(shape) != 1 or shape[0] < 1:
            raise FormatError(f"{self.path}: holds {dtype} of shape {shape}, no offsets (int64) of documents")
        self.n_documents = shape[0] - 1
        self._check_size(self._n_header + shape[0] * 8)

    def _read(self, first: int, last: int) -> Int64Array:
        return self._numbers("<i8", self._n_header + first * 8, last - first + 1)


class EndsIndex(DocumentIndex):
    """`NAME.ds.index`: the end of each document, uint64."""

    def _look(self) -> None:
        self.n_documents, rest = divmod(self.path.stat().st_size, 8)
        if rest:
            raise FormatError(f"{self.path}: {rest} bytes are left over: cut short?")

    def _read(self, first: int, last: int) -> Int64Array:
        if first == 0:
            return np.concatenate([np.zeros(1, dtype=np.int64), self._numbers("<u8", 0, last)])
        return self._numbers("<u8", (first - 1) * 8, last - first + 1)


class MegatronIndex(DocumentIndex):
    """`NAME.idx`: length and place of each sequence, and the sequences that are a document's first.

    Args:
        path: of the index.
        file: the data file, whose dtype is known from the index already.

    Raises:
        FormatError: no such index, or a damaged one.
    """

    def __init__(self, path: Path, file: TokenFile) -> None:
        self._itemsize = file.dtype.itemsize
        super().__init__(path, file.n_tokens)

    def _look(self) -> None:
        self._n_sequences, n_indices = self._numbers("<i8", MEGATRON_HEADER_BYTES - 16, 2).tolist()
        if self._n_sequences < 0 or n_indices < 1:
            raise FormatError(
                f"{self.path}: tells of {self._n_sequences} sequences, {n_indices - 1} documents"
            )
        self.n_documents = n_indices - 1
        self._places = MEGATRON_HEADER_BYTES + self._n_sequences * 4
        self._documents = self._places + self._n_sequences * 8
        self._check_size(self._documents + n_indices * 8)

    def _starts(self, first: int, last: int) -> Int64Array:
        """Return where sequences `first` to `last - 1` begin, and where the last one ends."""
        inside = min(last + 1, self._n_sequences)
        starts = self._numbers("<i8", self._places + first * 8, inside - first) // self._itemsize
        if last < self._n_sequences:
            return starts
        return np.append(starts, self._n_tokens)

    def _read(self, first: int, last: int) -> Int64Array:
        sequences = self._numbers("<i8", self._documents + first * 8, last - first + 1)
        low, high = int(sequences[0]), int(sequences[-1])
        if low < 0 or high > self._n_sequences or bool((sequences[1:] < sequences[:-1]).any()):
            raise FormatError(
                f"{self.path}: documents do not begin at sequences 0..{self._n_sequences}, in order"
            )
        return self._starts(low, high)[sequences - low]

    def check(self) -> None:
        """Check also that the sequences stand one after the other, with the lengths that are told."""
        super().check()
        for first in range(0, self._n_sequences, BLOCK):
            last = min(first + BLOCK, self._n_sequences)
            lengths = self._numbers("<i4", MEGATRON_HEADER_BYTES + first * 4, last - first)
            wrong = np.flatnonzero(np.diff(self._starts(first, last)) != lengths)
            if wrong.size:
                raise FormatError(
                    f"{self.path}: sequence {first + int(wrong[0])} does not end where the next begins"
                )
