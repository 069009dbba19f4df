"""One data file of token ids while it is written, and the files beside it.

write … sync … write …   ids and ends of documents, to files under hidden names
complete                 the header filled in, side files made, everything on the disk
publish                  own names: the side files first, the data file last
"""

from __future__ import annotations

import dataclasses
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._atomic import sync_folder
from bpenb.dataset.document_ends import DocumentEnds
from bpenb.dataset.id_checks import NO_ENDS, check_ends, fit_ids
from bpenb.dataset.manifest import FileRecord
from bpenb.dataset.part_file import PartFile
from bpenb.dataset.token_format import TokenFormat, TokenLayout
from bpenb.dataset.whole_steps import WholeSteps
from bpenb.errors import OutputError

__all__ = ["ShardWriter", "side_path"]


def side_path(path: Path, token_format: TokenFormat, side_suffix: str) -> Path:
    """Return the file beside a data file that has another suffix.

    Example:
        >>> from bpenb.dataset import find_format
        >>> side_path(Path("a.ds"), find_format("datatrove"), ".ds.index").name
        'a.ds.index'
    """
    return path.with_name(path.name.removesuffix(token_format.suffix) + side_suffix)


def _spell_count(n: int) -> str:
    """Return a number of tokens for people, as the metadata of datatrove have it.

    Example:
        >>> _spell_count(1_234_567), _spell_count(12)
        ('1.23 MT', '12.0 T')
    """
    value, units = float(n), ["", "k", "M", "G", "T", "P"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {units[0]}T"


class ShardWriter(WholeSteps):
    """Writes one data file of token ids in any of the formats.

    After an error, `discard` it, or go on from the last `sync` by `reopen`.

    Args:
        path: the data file at the end; its folder exists.
        layout: format, vocab and rows (`shard_tokens` is for a `SplitWriter`).
        documents: where the index of documents goes, for npy, bin and llmc; None for none.
        token: what makes the hidden names this run's; random if not given.

    Attributes:
        n_tokens: written so far, padding not counted.
        n_documents: that ended so far.
        n_padding: ids that fill the last row; known once the file is complete.

    Raises:
        OutputError: a file that cannot be written.

    Example:
        >>> layout = TokenLayout("bin", n_vocab=50257)
        >>> out = ShardWriter(Path("ids.bin"), layout, documents=Path("ids.documents.npy"))
        >>> out.write(np.array([15496, 995, 50256, 50256]), np.array([3, 4]))
        >>> out.finish()
        >>> np.fromfile("ids.bin", dtype="<u2"), np.load("ids.documents.npy")
        (array([15496, 995, 50256, 50256], dtype=uint16), array([0, 3, 4]))
    """

    def __init__(
        self, path: Path, layout: TokenLayout, documents: Path | None = None, token: str | None = None
    ) -> None:
        token = token or secrets.token_hex(4)
        self.path, self._layout, self._token = path, layout, token
        self.n_tokens = self.n_documents = self.n_padding = 0
        self._format, self._dtype = layout.token_format, layout.dtype
        self._is_complete = False
        self._metadata: PartFile | None = None
        self._ends: DocumentEnds | None = None
        self._data = PartFile(path, token, self._format.header(self._dtype, 0, layout.seq_len))
        try:
            if self._format.whole_documents:
                index = side_path(path, self._format, self._format.side_suffixes[0])
                self._ends = DocumentEnds(self._format.name, index, token)
            elif documents is not None:
                self._ends = DocumentEnds("npy", documents, token)
        except BaseException:
            self.discard()
            raise

    def write(
        self, ids: npt.NDArray[Any], document_ends: npt.NDArray[Any] = NO_ENDS, *, checked: bool = False
    ) -> None:
        """Append ids.

        Args:
            ids: one dimension, any integer dtype.
            document_ends: int64[n_documents], ascending: how many of these ids stand before the end
                of each document that ends here; the same number twice is an empty document.
            checked: every id is known to be below `n_vocab`: ids in the file's dtype are not looked at.

        Raises:
            OutputError: an id that does not fit (nothing ever wraps), ends that do not ascend, more
                tokens than the format can hold, or a file that cannot be written.
            TypeError: no integers, or not one dimension.
        """
        own = fit_ids(ids, self._dtype, self._layout.n_vocab, checked)
        ends = check_ends(document_ends, own.shape[0])
        self._format.header(self._dtype, self.n_tokens + own.shape[0], self._layout.seq_len)
        if self._is_complete:
            raise OutputError(f"{self.path}: is complete; nothing can be added")
        with self._whole_step():
            if self._ends is not None:
                self._ends.append(ends + self.n_tokens)
            if own.size:
                self._data.append(own.data.cast("B"))
            self.n_tokens += own.shape[0]
            self.n_documents += ends.shape[0]

    def complete(self) -> None:
        """Fill the last row and the header, make the side files, and bring all to the disk.

        Ids behind the last end are a document, too.

        Raises:
            OutputError: a file that cannot be written, or more tokens than the format can hold.
        """
        if self._is_complete:
            return
        with self._whole_step():
            self._complete()
        self._is_complete = True

    def _complete(self) -> None:
        if self._layout.seq_len is not None:
            self.n_padding = -self.n_tokens % self._layout.seq_len
        header = self._format.header(self._dtype, self.n_tokens + self.n_padding, self._layout.seq_len)
        if self.n_padding:
            padding = np.full(self.n_padding, self._layout.pad_id, dtype=self._dtype)
            self._data.append(padding.data.cast("B"))
        self._data.patch_header(header)
        self._data.settle()
        if self._ends is not None:
            self._ends.complete(self.n_tokens, self._dtype)
            self.n_documents = self._ends.n_documents
        if self._format.name == "datatrove":
            self._metadata = PartFile(side_path(self.path, self._format, ".ds.metadata"), self._token)
            name = f"{self._layout.tokenizer_name}|{self._dtype.itemsize}"
            self._metadata.append("\n".join([name, str(self.n_tokens), _spell_count(self.n_tokens)]).encode())
            self._metadata.settle()
        sync_folder(self.path.parent)

    def publish(self) -> None:
        """Give the complete files their own names, the data file last; files that have them are replaced.

        Raises:
            OutputError: a file that cannot be renamed.
        """
        assert self._is_complete, "complete, then publish"
        for part in (self._metadata, self._ends, self._data):
            if part is not None:
                part.publish()
        sync_folder(self.path.parent)

    def finish(self) -> None:
        """`complete`, then `publish`."""
        self.complete()
        self.publish()

    def close(self) -> None:
        """Close all files and leave them, for `reopen` with the last state."""
        self._has_failed = True
        for part in (self._metadata, self._ends, self._data):
            if part is not None:
                part.close()

    def discard(self) -> None:
        """Remove all files that have no names of their own yet."""
        for part in (self._metadata, self._ends, self._data):
            if part is not None:
                part.discard()

    # --- going on ---------------------------------------------------------------------------------

    def sync(self) -> dict[str, Any]:
        """Bring everything to the disk; return what `reopen` needs, as JSON can hold it.

        Raises:
            OutputError: a file that cannot be written, or an earlier error of this writer.
        """
        with self._whole_step():
            if not self._is_complete:
                sync_folder(self.path.parent)
            return {
                "path": str(self.path),
                "layout": dataclasses.asdict(self._layout),
                "token": self._token,
                "n_tokens": self.n_tokens,
                "n_documents": self.n_documents,
                "n_padding": self.n_padding,
                "is_complete": self._is_complete,
                "data": self._data.sync(),
                "ends": self._ends.sync() if self._ends else None,
                "metadata": self._metadata.sync() if self._metadata else None,
            }

    @classmethod
    def reopen(cls, state: dict[str, Any]) -> ShardWriter:
        """Go on as if nothing had been written since a `sync`.

        Raises:
            OutputError: a file that is missing, or shorter than it was.
        """
        self = cls.__new__(cls)
        self.path, self._layout = Path(state["path"]), TokenLayout(**state["layout"])
        self._format, self._dtype = self._layout.token_format, self._layout.dtype
        self._token, self._is_complete = state["token"], state["is_complete"]
        self.n_tokens, self.n_documents = state["n_tokens"], state["n_documents"]
        self.n_padding = state["n_padding"]
        self._data, self._ends, self._metadata = PartFile.reopen(state["data"]), None, None
        try:
            self._ends = DocumentEnds.reopen(state["ends"]) if state["ends"] else None
            self._metadata = PartFile.reopen(state["metadata"]) if state["metadata"] else None
        except BaseException:
            self.close()
            raise
        return self

    # --- what came out ----------------------------------------------------------------------------

    def records(self) -> list[FileRecord]:
        """Return name, size and checksum of the data file, then of each file beside it."""
        assert self._is_complete
        n_documents = self.n_documents if self._format.whole_documents else None
        data = FileRecord.of(self._data, self.n_tokens + self.n_padding, n_documents)
        sides = [self._ends.index] if self._ends else []
        sides += [self._metadata] if self._metadata else []
        return [data, *(FileRecord.of(side) for side in sides)]
