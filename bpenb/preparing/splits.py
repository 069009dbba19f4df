"""Which split a document goes to: a hash of its ids decides, so order and workers do not matter.

A document is known by its first HASHED_IDS ids, so a long one need not be held: its first ids are,
until they are enough, and everything behind them goes where they went. Documents that begin alike for
so long, copies first of all, land in the same split.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb._hashing import mixed
from bpenb._jit import numbers_may_wrap
from bpenb.preparing.document_hash import hash_documents
from bpenb.preparing.documents import TokenBlock

__all__ = ["OneSplit", "Sink", "TwoSplits"]

HASHED_IDS = 4096


class Sink(Protocol):
    """What takes blocks of ids."""

    def write(self, ids: npt.NDArray[Any], document_ends: Int64Array, *, checked: bool) -> None:
        """Take ids, and where documents end in them."""
        ...


class OneSplit:
    """Everything goes to one place."""

    state: dict[str, Any] | None = None  # nothing is held

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, block: TokenBlock) -> None:
        """Take a block."""
        self._sink.write(block.ids, block.document_ends, checked=True)

    def finish(self) -> None:
        """Nothing is held back."""


class TwoSplits:
    """Sends each document to one of two splits.

    Args:
        train, val: the splits.
        val_fraction: share of the documents that go to `val`.
        seed: of the hash.
    """

    def __init__(self, train: Sink, val: Sink, val_fraction: float, seed: int) -> None:
        self._sinks = (train, val)
        self._seed = mixed(np.array([seed], dtype=np.uint64))[0]
        self._limit = np.uint64(min(int(val_fraction * 2**64), 2**64 - 1))
        self._held: npt.NDArray[Any] = np.empty(0, dtype=np.uint16)  # the first ids of the open document
        self._goes: bool | None = None  # where the open document goes, once that is known

    @property
    def state(self) -> dict[str, Any] | None:
        """What a later run needs to go on here, as JSON can hold it."""
        return {"held": self._held.tolist(), "dtype": self._held.dtype.str, "goes": self._goes}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._held = np.array(state["held"], dtype=state["dtype"])
        self._goes = state["goes"]

    def write(self, block: TokenBlock) -> None:
        """Take a block."""
        ids, ends = block
        if self._held.size:
            ids = np.concatenate([self._held.astype(ids.dtype), ids])
            ends = ends + self._held.shape[0]
            self._held = self._held[:0]
        bounds = np.concatenate([[0], ends, [ids.shape[0]]])
        goes = self._decide(ids, bounds[:-1], bounds[1:])
        n_open = ids.shape[0] - int(bounds[-2])  # ids of the document that goes on
        if ends.size:
            self._goes = None
        if self._goes is None and n_open >= HASHED_IDS:
            self._goes = bool(goes[-1])
        if self._goes is None and n_open:
            self._held = ids[bounds[-2] :].copy()
            ids, bounds = ids[: bounds[-2]], bounds[:-1]
            goes = goes[:-1]
        self._send(ids, bounds, goes, ends.shape[0])

    def _decide(self, ids: npt.NDArray[Any], starts: Int64Array, ends: Int64Array) -> npt.NDArray[np.bool_]:
        """Return whether each document goes to `val`; the first one may have been decided on before."""
        hashes = np.empty(starts.shape[0], dtype=np.uint64)
        with numbers_may_wrap():
            hash_documents(ids, starts, np.minimum(ends, starts + HASHED_IDS), self._seed, hashes)
        goes = hashes < self._limit
        if self._goes is not None:
            goes[0] = self._goes
        return goes

    def _send(
        self, ids: npt.NDArray[Any], bounds: Int64Array, goes: npt.NDArray[np.bool_], n_ended: int
    ) -> None:
        """Hand out stretches between bounds, of which the first `n_ended` end a document."""
        lengths = np.diff(bounds)
        of_id = np.repeat(goes, lengths)
        for sink, wanted in zip(self._sinks, (False, True), strict=True):
            chosen = goes[:n_ended] == wanted
            ends = np.cumsum(np.where(goes == wanted, lengths, 0))[:n_ended][chosen]
            some = ids[of_id == wanted]
            if some.size or ends.size:
                sink.write(some, ends, checked=True)

    def finish(self) -> None:
        """Send what is held: the last document had no end."""
        if self._held.size:
            ids = self._held
            bounds = np.array([0, ids.shape[0]])
            goes = self._decide(ids, bounds[:-1], bounds[1:])
            self._held = ids[:0]
            self._send(ids, bounds, goes, 0)
