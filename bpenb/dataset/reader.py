"""A dataset as one long row of ids, and its documents.

A dataset is a row of parts, each with an index of its own documents or none: a split of npy, bin or
llmc files, or one file of megatron or datatrove. Padding, of which a manifest tells, is left out.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb.dataset.document_index import DocumentIndex
from bpenb.dataset.manifest import Manifest
from bpenb.dataset.npy import READ_BLOCK
from bpenb.dataset.output_plan import DOCUMENTS_SUFFIX
from bpenb.dataset.token_file import TokenFile
from bpenb.errors import FormatError

__all__ = ["DatasetPart", "DatasetReader"]


@dataclass(frozen=True)
class DatasetPart:
    """Files that follow each other, and the index of their documents.

    Attributes:
        files: in order.
        n_tokens: padding not counted.
        index: None where there is none.
    """

    files: tuple[TokenFile, ...]
    n_tokens: int
    index: DocumentIndex | None


class DatasetReader:
    """The ids of a dataset, and its documents; made by `open_dataset`.

    Attributes:
        path: that was opened.
        manifest: None where there is none.
        parts: of which it is made.
        n_tokens: in all, padding not counted.
        n_documents: in all; None where an index is missing.
    """

    def __init__(self, path: Path, parts: tuple[DatasetPart, ...], manifest: Manifest | None) -> None:
        self.path, self.parts, self.manifest = path, parts, manifest
        self.n_tokens = sum(part.n_tokens for part in parts)
        indexes = [part.index for part in parts]
        counts = [index.n_documents for index in indexes if index is not None]
        self.n_documents = sum(counts) if len(counts) == len(indexes) else None
        self._part_starts = [0, *itertools.accumulate(part.n_tokens for part in parts)]
        self._starts: list[int] = []  # of each file, in tokens of the dataset
        for part, start in zip(parts, self._part_starts[:-1], strict=True):
            self._starts += itertools.accumulate((file.n_tokens for file in part.files[:-1]), initial=start)

    @property
    def files(self) -> tuple[TokenFile, ...]:
        """The data files, in order."""
        return tuple(file for part in self.parts for file in part.files)

    @property
    def format(self) -> str:
        """A name of `TOKEN_FORMATS`."""
        return self.files[0].format

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the ids that are read: the files', in native byte order."""
        return self.files[0].dtype.newbyteorder("=")

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return the ids of a range.

        Args:
            start, stop: in tokens; 0 <= start <= stop <= n_tokens.

        Raises:
            FormatError: a range that is not there, or a file that became shorter.
        """
        if not 0 <= start <= stop <= self.n_tokens:
            raise FormatError(f"{self.path}: tokens {start}:{stop} are not within 0:{self.n_tokens}")
        files, pieces = self.files, [np.zeros(0, dtype=self.dtype)]
        i = bisect.bisect_right(self._starts, start) - 1
        while start < stop:
            end = self._starts[i + 1] if i + 1 < len(files) else self.n_tokens
            if (n := min(stop, end) - start) > 0:
                at = start - self._starts[i]
                pieces.append(files[i].read(at, at + n))
                start += n
            i += 1
        return np.concatenate(pieces) if len(pieces) > 2 else pieces[-1]

    def blocks(self, block_ids: int = READ_BLOCK) -> Iterator[npt.NDArray[Any]]:
        """Yield all ids, block by block.

        Raises:
            FormatError: as `read`.
        """
        for start in range(0, self.n_tokens, block_ids):
            yield self.read(start, min(start + block_ids, self.n_tokens))

    def documents(self) -> Iterator[npt.NDArray[Any]]:
        """Yield the ids of each document, with the end-of-text that was written.

        Raises:
            FormatError: no index, or one that is damaged; as `read`.
        """
        self._check_documents()
        for part, base in zip(self.parts, self._part_starts[:-1], strict=True):
            assert part.index is not None
            for _, offsets in part.index.blocks():
                yield from self._cut(offsets + base)

    def _cut(self, offsets: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[Any]]:
        """Yield documents, reading as many at a time as fit into a block (a larger one alone)."""
        first, n = 0, offsets.shape[0] - 1
        while first < n:
            fits = int(np.searchsorted(offsets, offsets[first] + READ_BLOCK, side="right")) - 1
            last = max(first + 1, min(fits, n))
            ids = self.read(int(offsets[first]), int(offsets[last]))
            bounds = (offsets[first : last + 1] - offsets[first]).tolist()
            yield from (ids[a:b] for a, b in itertools.pairwise(bounds))
            first = last

    def document(self, i: int) -> npt.NDArray[Any]:
        """Return the ids of document `i`, counted from 0.

        Raises:
            FormatError: no index, no such document; as `read`.
        """
        self._check_documents()
        assert self.n_documents is not None
        if not 0 <= i < self.n_documents:
            raise FormatError(f"{self.path}: has no document {i}; there are {self.n_documents:,}, from 0")
        for part, base in zip(self.parts, self._part_starts[:-1], strict=True):
            assert part.index is not None
            if i < part.index.n_documents:
                start, stop = (part.index.offsets(i, i + 1) + base).tolist()
                return self.read(start, stop)
            i -= part.index.n_documents
        raise AssertionError("the documents of the parts are all documents")

    def _check_documents(self) -> None:
        if self.n_documents is None:
            raise FormatError(
                f"{self.path}: has no index of documents (NAME{DOCUMENTS_SUFFIX}); "
                "write the dataset with one, or read it by tokens"
            )
