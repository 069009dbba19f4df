"""A worker with buffers for short texts, which go the short way: one stretch, no special token."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._arrays import ByteArray, Int64Array
from bpenb.encoding.encode_words import PLAIN
from bpenb.encoding.splitter import Splitter
from bpenb.encoding.worker import EncodeTables, EncodeWorker
from bpenb.pretokenize import PADDING, ScanBuffer

__all__ = ["SHORT_TEXT", "Desk"]

SHORT_TEXT = 1 << 16  # bytes

_BEHIND = bytes(PADDING)


class Desk:
    """A worker at its desk; one thread at a time may use it.

    Attributes:
        worker: who encodes.
        buffer: for texts of up to SHORT_TEXT bytes.
        out: for their ids.
    """

    def __init__(self, tables: EncodeTables) -> None:
        self.worker = EncodeWorker(tables)
        self.buffer = ScanBuffer(SHORT_TEXT)
        self.out: ByteArray = np.empty(self.worker.out_bytes(SHORT_TEXT), dtype=np.uint8)
        self._text = memoryview(self.buffer.text.data)
        n_whole = self.out.shape[0] & -4
        self._ids: npt.NDArray[Any] = self.out[:n_whole].view(tables.dtype)
        self._piece: Int64Array = np.array([[0, 0, PLAIN, 0]], dtype=np.int64)

    def encode(self, text: bytes, splitter: Splitter) -> npt.NDArray[Any] | None:
        """Encode a text of up to SHORT_TEXT bytes without looking left and right.

        Returns:
            The ids, valid until the next call; None if the text holds a special token, may have to be
            normalised, or has no ids: the long way knows what to do, or say.
        """
        n_bytes = len(text)
        if not n_bytes or splitter.holds_special(text) or (splitter.normalizes and not text.isascii()):
            return None
        self._text[:n_bytes] = text
        self._text[n_bytes : n_bytes + PADDING] = _BEHIND
        self.buffer.n_bytes = n_bytes
        self._piece[0, 1] = n_bytes
        if not splitter.mark(self.buffer, self._piece):
            return None
        n_ids = self.worker.encode_pieces(self.buffer, self._piece, self.out)
        return self._ids[:n_ids] if n_ids >= 0 else None
