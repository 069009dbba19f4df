"""The ends of documents while a dataset is written, and the index that they become.

    npy        NAME.documents.npy: header, 0, ends. Only its header is filled in at the end.
    datatrove  NAME.ds.index: the ends as they are.
    megatron   NAME.idx has lengths first, and is made from the ends when all are there.

The ends go to a file as they come, so memory does not grow with the number of documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.dataset.npy import HEADER_BYTES, npy_header
from bpenb.dataset.part_file import PartFile
from bpenb.errors import OutputError

__all__ = ["MEGATRON_CODES", "MEGATRON_HEADER_BYTES", "MEGATRON_MAGIC", "DocumentEnds"]

INT64 = np.dtype("<i8")
MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
MEGATRON_HEADER_BYTES = 34
MEGATRON_CODES: dict[int, np.dtype[Any]] = {8: np.dtype("<u2"), 4: np.dtype("<i4")}
MAX_INT32 = (1 << 31) - 1
NUMBERS_BLOCK = 1 << 17


class DocumentEnds:
    """Collects the ends of documents, in tokens from the start of their file or split.

    Args:
        kind: `npy`, `datatrove` or `megatron`.
        path: the index at the end.
        token: for the hidden names of this run.
    """

    def __init__(self, kind: str, path: Path, token: str) -> None:
        self._kind, self._path, self._token = kind, path, token
        self.n_documents = self.last_end = 0
        self._index: PartFile | None = None
        if kind == "npy":
            self._ends = PartFile(path, token, bytes(HEADER_BYTES))
            try:
                self._ends.append(np.zeros(1, dtype=INT64).data.cast("B"))
            except BaseException:
                self._ends.discard()
                raise
        else:
            self._ends = PartFile(path, f"ends-{token}" if kind == "megatron" else token)

    def append(self, ends: Int64Array) -> None:
        """Add ends of documents; they ascend from the last one.

        Raises:
            OutputError: a document that the index cannot hold, or a file that cannot be written.
        """
        if not ends.size:
            return
        if self._kind == "megatron":
            longest = int(np.diff(ends, prepend=self.last_end).max())
            if longest > MAX_INT32:
                raise OutputError(
                    f"{self._path}: a document has {longest:,} tokens, more than an int32 tells"
                )
        self._ends.append(np.ascontiguousarray(ends, dtype=INT64).data.cast("B"))
        self.n_documents += ends.shape[0]
        self.last_end = int(ends[-1])

    def complete(self, n_tokens: int, dtype: np.dtype[Any]) -> None:
        """Make the index: what stands behind the last end is a document too.

        Args:
            n_tokens: where the ids end.
            dtype: of the ids.
        """
        if self.last_end < n_tokens:
            self.append(np.array([n_tokens], dtype=np.int64))
        if self._kind == "npy":
            self._ends.patch_header(npy_header(INT64, (self.n_documents + 1,)))
        self._ends.settle()
        if self._kind == "megatron":
            self._index = PartFile(self._path, self._token)
            for block in self._megatron_blocks(dtype):
                self._index.append(block)
            self._index.settle()

    @property
    def index(self) -> PartFile:
        """The file that becomes the index; whole once it is complete."""
        return self._index or self._ends

    def _megatron_blocks(self, dtype: np.dtype[Any]) -> Iterator[bytes]:
        """Give a .idx, block by block: header, lengths, places in bytes, and that each is a document."""
        code = next(code for code, known in MEGATRON_CODES.items() if known == dtype)
        numbers = (self.n_documents, self.n_documents + 1)
        yield (
            MEGATRON_MAGIC
            + (1).to_bytes(8, "little")
            + bytes([code])
            + b"".join(n.to_bytes(8, "little") for n in numbers)
        )
        for ends, starts in self._ends_and_starts():
            yield (ends - starts).astype("<i4").tobytes()
        for _, starts in self._ends_and_starts():
            yield (starts * dtype.itemsize).astype("<i8").tobytes()
        for first in range(0, self.n_documents + 1, NUMBERS_BLOCK):
            yield np.arange(first, min(first + NUMBERS_BLOCK, self.n_documents + 1), dtype="<i8").tobytes()

    def _ends_and_starts(self) -> Iterator[tuple[Int64Array, Int64Array]]:
        last = 0
        for block in self._ends.read_blocks(NUMBERS_BLOCK * INT64.itemsize):
            ends = np.frombuffer(block, dtype=INT64)
            yield ends, np.concatenate([np.array([last], dtype=np.int64), ends[:-1]])
            last = int(ends[-1])

    # --- going on, and the end --------------------------------------------------------------------

    def sync(self) -> dict[str, Any]:
        """Bring everything to the disk; return what `reopen` needs."""
        return {
            "kind": self._kind,
            "path": str(self._path),
            "token": self._token,
            "n_documents": self.n_documents,
            "last_end": self.last_end,
            "ends": self._ends.sync(),
            "index": self._index.sync() if self._index else None,
        }

    @classmethod
    def reopen(cls, state: dict[str, Any]) -> DocumentEnds:
        """Go on from a `sync`.

        Raises:
            OutputError: a file that is missing or shorter than it was.
        """
        self = cls.__new__(cls)
        self._kind, self._path, self._token = state["kind"], Path(state["path"]), state["token"]
        self.n_documents, self.last_end = state["n_documents"], state["last_end"]
        self._index = PartFile.reopen(state["index"]) if state["index"] else None
        if self._index and self._index.published:  # so the ends are no longer needed
            self._index.path.with_name(state["ends"]["part"]).unlink(missing_ok=True)
            self._ends = self._index
        else:  # no index, or one that is settled, and so not open
            self._ends = PartFile.reopen(state["ends"])
        return self

    def publish(self) -> None:
        """Give the index its own name."""
        self.index.publish()
        if self._index and self._ends is not self._index:
            self._ends.discard()

    def close(self) -> None:
        """Close the files; they stay where they are."""
        self.index.close()
        self._ends.close()

    def discard(self) -> None:
        """Remove what has no name of its own yet."""
        self.index.discard()
        self._ends.discard()
