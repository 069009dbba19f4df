"""The files of one split, one after the other.

    npy, bin, llmc       ├── N tokens ──┼── N tokens ──┼─ rest ─┤  a document goes on in the next file
    megatron, datatrove  ├── N tokens or more ──┼── …               closed after the document that reaches N

No file gets its own name before `publish`, so a run that ends early leaves nothing that looks whole.
"""

from __future__ import annotations

import dataclasses
import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb._atomic import sync_folder
from bpenb.dataset.document_ends import DocumentEnds
from bpenb.dataset.id_checks import NO_ENDS, check_ends, fit_ids
from bpenb.dataset.manifest import FileRecord, SplitRecord
from bpenb.dataset.output_plan import SplitPlan
from bpenb.dataset.shard_writer import ShardWriter
from bpenb.dataset.token_format import TokenLayout
from bpenb.dataset.whole_steps import WholeSteps
from bpenb.errors import OutputError

__all__ = ["SplitWriter"]


class SplitWriter(WholeSteps):
    """Writes the shards of one split, and the index of its documents.

    After an error, `discard` it, or go on from the last `sync` by `reopen`.

    Args:
        plan: the names of the files, from `plan_outputs`.
        layout: format, vocab, size of shards, rows.

    Attributes:
        n_tokens: written so far, padding not counted.
        n_documents: that ended so far.

    Raises:
        OutputError: a file that cannot be written, or shards where the plan has one file.

    Example:
        >>> from bpenb.dataset import plan_outputs
        >>> plan = plan_outputs("data", "bin", sharded=True)
        >>> out = SplitWriter(plan.splits["train"], TokenLayout("bin", n_vocab=300, shard_tokens=3))
        >>> out.write(np.arange(5), np.array([4, 5]))
        >>> out.finish()
        >>> [np.fromfile(f"data/data_train_00000{i}.bin", dtype="<u2").tolist() for i in (1, 2)]
        [[0, 1, 2], [3, 4]]
    """

    def __init__(self, plan: SplitPlan, layout: TokenLayout) -> None:
        if layout.shard_tokens is not None and plan.first_number is None:
            raise OutputError(f"{plan.path_of(0)} is one file, so there is no shard_tokens; plan a folder")
        self._plan, self._layout, self._token = plan, layout, secrets.token_hex(4)
        self.n_tokens = self.n_documents = self._last_end = 0
        self._shards: list[ShardWriter] = []  # all but perhaps the last are complete
        self._is_complete = False
        self._whole_documents = layout.token_format.whole_documents
        try:
            plan.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{plan.folder}: cannot be made: {error.strerror or error}") from error
        self._index: DocumentEnds | None = None
        if layout.document_index and not self._whole_documents:
            self._index = DocumentEnds("npy", plan.documents, self._token)
        self._is_open = False  # whether the last shard takes more

    def write(
        self, ids: npt.NDArray[Any], document_ends: npt.NDArray[Any] = NO_ENDS, *, checked: bool = False
    ) -> None:
        """Append ids; as `ShardWriter.write`.

        Raises:
            OutputError, TypeError: as there.
        """
        own = fit_ids(ids, self._layout.dtype, self._layout.n_vocab, checked)
        ends = check_ends(document_ends, own.shape[0])
        if self._is_complete:
            raise OutputError(f"{self._plan.folder}: this split is complete; nothing can be added")
        with self._whole_step():
            if self._whole_documents:
                self._write_documents(own, ends)
            else:
                self._write_flat(own)
                if self._index is not None:
                    self._index.append(ends + self.n_tokens)
            if ends.size:
                self._last_end = self.n_tokens + int(ends[-1])
            self.n_tokens += own.shape[0]
            self.n_documents += ends.shape[0]

    def _open_shard(self) -> ShardWriter:
        """Return the shard that takes more, a new one if need be."""
        if not self._is_open:
            path = self._plan.path_of(len(self._shards))
            self._shards.append(ShardWriter(path, self._layout, token=self._token))
            self._is_open = True
        return self._shards[-1]

    def _close_shard(self) -> None:
        self._shards[-1].complete()
        self._is_open = False

    def _write_flat(self, ids: npt.NDArray[Any]) -> None:
        """Cut ids into files of exactly `shard_tokens`."""
        start, limit = 0, self._layout.shard_tokens
        while start < ids.shape[0]:
            shard = self._open_shard()
            stop = ids.shape[0] if limit is None else min(ids.shape[0], start + limit - shard.n_tokens)
            shard.write(ids[start:stop], checked=True)
            if shard.n_tokens == limit:
                self._close_shard()
            start = stop

    def _write_documents(self, ids: npt.NDArray[Any], ends: Int64Array) -> None:
        """Cut ids into files behind the documents that reach `shard_tokens`."""
        start, first, limit = 0, 0, self._layout.shard_tokens
        while start < ids.shape[0] or first < ends.shape[0]:
            shard = self._open_shard()
            stop, last, is_full = ids.shape[0], ends.shape[0], False
            if limit is not None:
                reaches = first + int(np.searchsorted(ends[first:], start + limit - shard.n_tokens))
                if reaches < last:
                    stop, last, is_full = int(ends[reaches]), reaches + 1, True
            shard.write(ids[start:stop], ends[first:last] - start, checked=True)
            if is_full:
                self._close_shard()
            start, first = stop, last

    # --- the end ----------------------------------------------------------------------------------

    def complete(self) -> None:
        """Complete the last file and the index; all is on the disk then, under hidden names.

        A split without tokens has one file, too. Ids behind the last end are a document.

        Raises:
            OutputError: a file that cannot be written.
        """
        if self._is_complete:
            return
        with self._whole_step():
            if not self._shards or self._is_open:
                self._open_shard()
                self._close_shard()
            if self._index is not None:
                self._index.complete(self.n_tokens, self._layout.dtype)
            if self._last_end < self.n_tokens:
                self.n_documents, self._last_end = self.n_documents + 1, self.n_tokens
        self._is_complete = True

    def publish(self) -> None:
        """Give all files their own names, the index first; files that have them are replaced.

        Raises:
            OutputError: a file that cannot be renamed.
        """
        assert self._is_complete, "complete, then publish"
        if self._index is not None:
            self._index.publish()
        for shard in self._shards:
            shard.publish()
        sync_folder(self._plan.folder)

    def finish(self) -> None:
        """`complete`, then `publish`."""
        self.complete()
        self.publish()

    def close(self) -> None:
        """Close all files and leave them, for `reopen` with the last state."""
        self._has_failed = True
        for shard in self._shards:
            shard.close()
        if self._index is not None:
            self._index.close()

    def discard(self) -> None:
        """Remove all files that have no names of their own yet, those of a broken-off run among them."""
        for shard in self._shards:
            shard.discard()
        if self._index is not None:
            self._index.discard()
        for stray in self._plan.folder.glob(f".*{self._token}.part"):
            stray.unlink(missing_ok=True)

    @property
    def n_padding(self) -> int:
        """Ids that fill the last row; known once the split is complete."""
        return sum(shard.n_padding for shard in self._shards)

    def record(self) -> SplitRecord:
        """Return what the manifest tells of this split, once it is complete."""
        assert self._is_complete
        files = [record for shard in self._shards for record in shard.records()]
        if self._index is not None:
            files.append(FileRecord.of(self._index.index))
        name = self._plan.documents.name if self._index is not None else None
        return SplitRecord(tuple(files), self.n_tokens, self.n_documents, self.n_padding, name)

    # --- going on ---------------------------------------------------------------------------------

    def sync(self) -> dict[str, Any]:
        """Bring everything to the disk; return what `reopen` needs, as JSON can hold it.

        Keep the state where it is safe before the next `sync`. One taken between `complete` and
        `publish` can be gone on from wherever publishing ended.

        Raises:
            OutputError: a file that cannot be written, or an earlier error of this writer.
        """
        with self._whole_step():
            return {
                "plan": self._plan.to_state(),
                "layout": dataclasses.asdict(self._layout),
                "token": self._token,
                "n_tokens": self.n_tokens,
                "n_documents": self.n_documents,
                "last_end": self._last_end,
                "is_open": self._is_open,
                "is_complete": self._is_complete,
                "shards": [shard.sync() for shard in self._shards],
                "index": self._index.sync() if self._index else None,
            }

    @classmethod
    def reopen(cls, state: dict[str, Any]) -> SplitWriter:
        """Go on as if nothing had been written since a `sync`: the files will be the same, byte for byte.

        Raises:
            OutputError: a file that is missing, or shorter than it was.
        """
        self = cls.__new__(cls)
        self._plan, self._layout = SplitPlan.from_state(state["plan"]), TokenLayout(**state["layout"])
        self._whole_documents = self._layout.token_format.whole_documents
        self._token = state["token"]
        self.n_tokens, self.n_documents = state["n_tokens"], state["n_documents"]
        self._last_end, self._is_open = state["last_end"], state["is_open"]
        self._is_complete = state["is_complete"]
        self._shards, self._index = [], None
        try:
            for shard in state["shards"]:
                self._shards.append(ShardWriter.reopen(shard))
            self._index = DocumentEnds.reopen(state["index"]) if state["index"] else None
        except BaseException:
            self.close()
            raise
        return self
