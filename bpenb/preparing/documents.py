"""Where documents end in a stream of ids, and the end-of-text tokens that are added to them.

ids        a  b  <eot>  c  d │ e  f …     a block ends, its last document goes on in the next
ends             3           │
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb.encoding import DROPPED, EncodedText

__all__ = ["DocumentFinder", "TokenBlock"]


class TokenBlock(NamedTuple):
    """Ids in order, and where documents end in them.

    Attributes:
        ids: uint16[n] or uint32[n], valid until the next block is asked for.
        document_ends: int64[k], ascending, ids up to each end; an empty document repeats one.
    """

    ids: npt.NDArray[Any]
    document_ends: Int64Array


class DocumentFinder:
    """Turns encoded buffers into blocks with the ends of their documents; what goes on is remembered.

    Args:
        eot: the end-of-text token's id; None: there is none.
        append: give each document that lacks it an end-of-text token at its end.
        prepend: and at its beginning; those of the text are DROPPED then.
    """

    def __init__(self, eot: int | None, *, append: bool, prepend: bool) -> None:
        self._eot, self._append, self._prepend = eot, append, prepend
        self._is_open = False  # a document has begun, and not ended
        self._last = -1  # its last id

    @property
    def state(self) -> dict[str, Any]:
        """What a later run needs to go on here, as JSON can hold it."""
        return {"is_open": self._is_open, "last": self._last}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._is_open, self._last = state["is_open"], state["last"]

    def find(self, text: EncodedText) -> TokenBlock:
        """Return the next block."""
        ids, ends = text.encoded.ids, self._ends(text)
        block = self._with_eot(ids, ends) if self._append or self._prepend else TokenBlock(ids, ends)
        n_ids = block.ids.shape[0]
        last_end = int(block.document_ends[-1]) if ends.size else 0
        self._is_open = n_ids > last_end or (self._is_open and not ends.size)
        if n_ids:
            self._last = int(block.ids[-1])
        return block

    def _ends(self, text: EncodedText) -> Int64Array:
        """Return where documents end."""
        filled, encoded = text.filled, text.encoded
        of_ranges = encoded.range_ends[filled.ends_document]
        if filled.holds_documents:  # whole, whatever is in them
            return of_ranges
        separates = encoded.special_ids == DROPPED
        if self._eot is not None:
            separates |= encoded.special_ids == self._eot
        ends = np.unique(np.concatenate([of_ranges, encoded.special_ends[separates]]))
        # Nothing between two separators is no document.
        return ends[1:] if ends.size and ends[0] == 0 and not self._is_open else ends

    def _with_eot(self, ids: npt.NDArray[Any], ends: Int64Array) -> TokenBlock:
        """Insert end-of-text tokens where documents lack them."""
        assert self._eot is not None
        starts = np.concatenate([[0], ends])  # of each document, the last of which may not have begun
        is_eot = np.zeros(ids.shape[0] + 2, dtype=np.bool_)  # of each id, with a place before and behind
        np.equal(ids, self._eot, out=is_eot[1:-1])
        appended = np.zeros(ends.shape[0], dtype=np.bool_)
        if self._append:
            appended = ~is_eot[ends] | (starts[:-1] == ends)  # an empty document has no last id
            if ends.size and ends[0] == 0 and self._is_open:
                appended[0] = self._last != self._eot
        prepended = np.zeros(starts.shape[0], dtype=np.bool_)
        if self._prepend:
            prepended = ~is_eot[starts + 1]
            prepended[:-1] |= starts[:-1] == ends
            prepended[-1] &= ids.shape[0] > starts[-1]
            prepended[0] &= not self._is_open
            appended &= ~(prepended[:-1] & (starts[:-1] == ends))  # one is enough for an empty document
        places = np.sort(np.concatenate([starts[prepended], ends[appended]]))
        longer = np.insert(ids, places, self._eot) if places.size else ids
        return TokenBlock(longer, ends + np.cumsum(appended) + np.cumsum(prepended)[:-1])
