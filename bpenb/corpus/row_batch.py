"""A batch of rows: their texts one after the other, and which rows they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, Int64Array, offsets_from_lengths

__all__ = ["RowBatch", "batch_of_texts"]


class RowBatch(NamedTuple):
    """Rows that are documents, in the order of the file.

    Attributes:
        data: uint8[], UTF-8.
        offsets: int64[n+1], where each begins in `data`; the first need not be 0.
        numbers: int64[n], ascending: of each row among those that are documents or bad, from 0.
        n_disk_bytes: bytes of the file on disk that were read for them.
    """

    data: ByteArray
    offsets: Int64Array
    numbers: Int64Array
    n_disk_bytes: int

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.numbers.shape[0])

    def texts(self) -> list[bytes]:
        """Return the text of each row."""
        return [self.text(k) for k in range(self.n_rows)]

    def text(self, k: int) -> bytes:
        """Return the text of the k-th row."""
        return self.data[self.offsets[k] : self.offsets[k + 1]].tobytes()

    def kept(self, is_kept: npt.NDArray[np.bool_]) -> RowBatch:
        """Return the batch without some of its rows."""
        if is_kept.all():
            return self
        texts = [self.text(k) for k in np.flatnonzero(is_kept).tolist()]
        return batch_of_texts(texts, self.numbers[is_kept], self.n_disk_bytes)


def batch_of_texts(texts: list[bytes], numbers: Int64Array, n_disk_bytes: int) -> RowBatch:
    """Return the batch with these texts.

    Example:
        >>> import numpy as np
        >>> batch_of_texts([b"ab", b"", b"c"], np.array([0, 1, 4]), 20).offsets.tolist()
        [0, 2, 2, 3]
    """
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    data = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return RowBatch(data, offsets_from_lengths(lengths), numbers, n_disk_bytes)
