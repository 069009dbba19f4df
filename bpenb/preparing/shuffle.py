"""Putting documents into an order of chance, in bounded memory.

    1  each document goes to the bucket that the first bits of its key name      (files in a folder)
    2  bucket by bucket: all documents of one, in the order of their keys

The key is a hash of the seed and the document's number, so the order is that of one sort by key: it
depends on neither the buckets nor the memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bpenb._hashing import mixed
from bpenb.errors import OutputError
from bpenb.preparing.document_hash import gather_documents
from bpenb.preparing.documents import TokenBlock

__all__ = ["Shuffler", "n_buckets_for"]

MAX_BUCKETS = 128  # two open files each
_COPIES = 4  # of a bucket's ids in memory: read, put in order, and what goes with them
_DEFAULT_MEMORY = 1 << 30


def n_buckets_for(id_bytes: int, max_memory: int | None) -> int:
    """Return how many buckets hold at most `id_bytes` of ids in a budget of memory: a power of two."""
    wanted = -(-id_bytes * _COPIES // (max_memory or _DEFAULT_MEMORY))
    return min(MAX_BUCKETS, 1 << max(0, wanted - 1).bit_length())


class Shuffler:
    """Takes documents, keeps them in files, and gives them back in an order of chance.

    Args:
        folder: of its own; made if need be.
        n_buckets: a power of two.
        dtype: of the ids.
        seed: of the order.
        state: of `sync`, to go on from; None: begin anew.

    Attributes:
        n_buckets: how many there are.

    Raises:
        OutputError: a file that cannot be written, or is missing or shorter than it was.
    """

    def __init__(
        self,
        folder: Path,
        n_buckets: int,
        dtype: np.dtype[Any],
        seed: int,
        state: dict[str, Any] | None = None,
    ) -> None:
        self._folder, self._dtype = folder, dtype
        self._seed = mixed(np.array([seed], dtype=np.uint64))
        self._shift = np.uint64(64 - (n_buckets.bit_length() - 1))
        self.n_buckets = n_buckets
        self._n_documents = self._n_syncs = 0
        self._held: list[npt.NDArray[Any]] = []  # of the open document
        self._files: tuple[list[IO[bytes]], list[IO[bytes]]] = ([], [])  # of ids, and of documents
        try:
            with self._errors():
                folder.mkdir(parents=True, exist_ok=True)
                for files, name in zip(self._files, ("ids", "docs"), strict=True):
                    files += ((folder / f"{b:03d}.{name}").open("ab") for b in range(n_buckets))
                self._go_back(state)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot be written: {error.strerror or error}") from error

    # --- first: into buckets ------------------------------------------------------------------------

    def write(self, block: TokenBlock) -> None:
        """Take a block; a document that goes on is held in memory until it ends."""
        ids, ends = block
        if not ends.size:
            self._held.append(ids.copy())
            return
        if self._held:
            n_held = sum(len(part) for part in self._held)
            ids, ends = np.concatenate([*self._held, ids]), ends + n_held
        self._held = [ids[int(ends[-1]) :].copy()]
        starts = np.concatenate([[0], ends[:-1]])
        numbers = np.arange(self._n_documents, self._n_documents + len(ends), dtype=np.uint64)
        self._n_documents += len(ends)
        keys = mixed(self._seed ^ numbers)
        buckets = np.zeros(len(keys), np.int64) if self.n_buckets == 1 else (keys >> self._shift).astype(int)
        order = np.argsort(buckets, kind="stable")
        out = np.empty(int(ends[-1]), dtype=ids.dtype)
        gather_documents(ids, starts, ends, order, out)
        rows = np.stack([keys, (ends - starts).astype(np.uint64)], axis=1)[order]
        id_ends = np.concatenate([[0], np.cumsum(rows[:, 1])]).astype(np.int64)
        edges = np.searchsorted(buckets[order], np.arange(self.n_buckets + 1))
        with self._errors():
            for b in np.unique(buckets).tolist():
                first, last = int(edges[b]), int(edges[b + 1])
                self._files[0][b].write(out[id_ends[first] : id_ends[last]].astype(self._dtype).data)
                self._files[1][b].write(np.ascontiguousarray(rows[first:last]).data)

    def sync(self) -> dict[str, Any]:
        """Bring all to the disk; return what a later run needs to go on here, as JSON can hold it."""
        with self._errors():
            # The file of the last state stays until a journal tells of this one.
            self._n_syncs += 1
            held = np.concatenate([np.empty(0, dtype=self._dtype), *self._held]).astype(self._dtype)
            with (self._folder / f"held.{self._n_syncs % 2}").open("wb") as held_file:
                held_file.write(held.data)
                for file in [*self._files[0], *self._files[1], held_file]:
                    file.flush()
                    os.fsync(file.fileno())
        return {
            "lengths": [[file.tell() for file in files] for files in self._files],
            "n_documents": self._n_documents,
            "n_held": len(held),
            "n_syncs": self._n_syncs,
        }

    def _go_back(self, state: dict[str, Any] | None) -> None:
        """Cut the files to the lengths of a state; None: to nothing."""
        lengths = state["lengths"] if state else [[0] * self.n_buckets] * 2
        for files, sizes in zip(self._files, lengths, strict=True):
            for file, size in zip(files, sizes, strict=True):
                if file.seek(0, 2) < size:
                    raise OutputError(
                        f"{file.name}: is shorter than it was; start anew (force=True, --force)"
                    )
                file.truncate(size)
                file.seek(size)
        if state:
            self._n_documents = state["n_documents"]
            self._n_syncs = state["n_syncs"]
            held = np.fromfile(self._folder / f"held.{self._n_syncs % 2}", self._dtype)
            if len(held) != state["n_held"]:
                raise OutputError(f"{self._folder}: lost ids of a document; start anew (force=True, --force)")
            self._held = [held]

    # --- then: out of them --------------------------------------------------------------------------

    def finish(self) -> None:
        """End the last document, if it had no end."""
        held = np.concatenate([np.empty(0, dtype=self._dtype), *self._held])
        self._held = []
        if held.size:
            self.write(TokenBlock(held, np.array([len(held)], dtype=np.int64)))
        with self._errors():
            for files in self._files:
                for file in files:
                    file.flush()

    def blocks(self, first: int = 0) -> Iterator[tuple[int, TokenBlock]]:
        """Yield the documents of each bucket from number `first` on, with the number."""
        for b in range(first, self.n_buckets):
            with self._errors():
                ids = np.fromfile(self._folder / f"{b:03d}.ids", dtype=self._dtype)
                rows = np.fromfile(self._folder / f"{b:03d}.docs", dtype=np.uint64).reshape(-1, 2)
            lengths = rows[:, 1].astype(np.int64)
            ends = np.cumsum(lengths)
            order = np.argsort(rows[:, 0], kind="stable")
            out = np.empty_like(ids)
            gather_documents(ids, ends - lengths, ends, order, out)
            yield b, TokenBlock(out, np.cumsum(lengths[order]))

    def close(self) -> None:
        """Close all files."""
        for files in self._files:
            for file in files:
                _close_quietly(file)


def _close_quietly(file: IO[bytes]) -> None:
    """Close a file whose last bytes may not fit on the disk any more."""
    with suppress(OSError):
        file.close()
