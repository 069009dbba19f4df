"""Encode every token of a vocab again from its bytes, all at once: the proof of merges that were recovered.

    tokens   t h e | i n g | ...     as ids, one after the other, and the rank of each pair within a token
    a round  th e  | in g  | ...     in each token the pair of lowest rank merges, the first of equal ones
    the end  the   | ing   | ...     one id for each token, and it is its own; or it is not what BPE makes

`boundary_holds` decides the same by an argument, a token at a time; this is BPE itself. A round merges once
in each token, so it stops at tokens of LONGEST bytes: those above it have the argument alone.
"""

from __future__ import annotations

import numpy as np

from bpenb._arrays import NO_TOKEN, IdArray, Int64Array
from bpenb.model import BPEModel

__all__ = ["find_not_reencoded"]

_NO_MERGE = np.iinfo(np.int32).max
_ALL_BYTES = 256
LONGEST = 256  # bytes; of published tokens the longest has 128


_Ids = IdArray | Int64Array


class _Pairs:
    """The rank of a pair of token ids, for whole arrays of pairs."""

    def __init__(self, model: BPEModel) -> None:
        keys = model.merges[:, 0].astype(np.int64) << 32 | model.merges[:, 1]
        order = np.argsort(keys)
        self._keys = np.append(keys[order], np.iinfo(np.int64).max)
        self._ranks = np.append(order, _NO_MERGE).astype(np.int32)
        byte_ids = model.byte_ids.astype(np.int64)
        every = np.arange(_ALL_BYTES)
        self._of_bytes = self.ranks(
            byte_ids[np.repeat(every, _ALL_BYTES)], byte_ids[np.tile(every, _ALL_BYTES)]
        )

    def ranks(self, left: _Ids, right: _Ids) -> IdArray:
        """Return the rank of each pair, _NO_MERGE where there is none."""
        keys = left.astype(np.int64) << 32 | right
        at = np.searchsorted(self._keys, keys)
        return np.where(self._keys[at] == keys, self._ranks[at], np.int32(_NO_MERGE))

    def ranks_of_bytes(self, left: Int64Array, right: Int64Array) -> IdArray:
        """Return the rank of each pair of bytes."""
        found: IdArray = self._of_bytes[left * _ALL_BYTES + right]
        return found


def find_not_reencoded(model: BPEModel) -> int | None:
    """Return the first id of a merge of whose bytes BPE makes something else; None if there is none.

    Tokens above LONGEST bytes are left out.

    Args:
        model: with any vocab.

    Example:
        >>> vocab = {97: b"a", 98: b"b", 256: b"ab", 257: b"aba", 258: b"ba"}
        >>> merges = [(b"a", b"b"), (b"b", b"a"), (b"a", b"ba")]
        >>> find_not_reencoded(BPEModel.from_ids(vocab, merges, {}, "gpt2"))
        257
    """
    token_ids = np.unique(model.merge_ids).astype(np.int64)
    lengths = np.diff(model.token_offsets)[token_ids]
    token_ids, lengths = token_ids[lengths <= LONGEST], lengths[lengths <= LONGEST]
    rows = np.repeat(np.arange(len(token_ids), dtype=np.int32), lengths)
    firsts = np.cumsum(lengths) - lengths
    places = np.arange(len(rows)) - firsts[rows] + model.token_offsets[token_ids][rows]
    text = model.token_bytes[places].astype(np.int64)
    pairs = _Pairs(model)
    ids = model.byte_ids[text]
    ranks = np.full(len(ids), _NO_MERGE, dtype=np.int32)  # of the pair that begins there
    inner = np.flatnonzero(rows[1:] == rows[:-1])
    ranks[inner] = pairs.ranks_of_bytes(text[inner], text[inner + 1])
    if (ids == NO_TOKEN).any():
        return int(token_ids[rows[np.flatnonzero(ids == NO_TOKEN)[0]]])
    wrong: list[int] = []
    while len(ids):
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        lowest = np.minimum.reduceat(ranks, starts)
        done = lowest == _NO_MERGE
        if done.any():
            sizes = np.diff(starts, append=len(ids))
            at, row = starts[done], rows[starts[done]]
            bad = (sizes[done] > 1) | (ids[at] != token_ids[row])
            wrong += token_ids[row[bad]].tolist()
            keep = ~np.repeat(done, sizes)
            ids, ranks, rows = ids[keep], ranks[keep], rows[keep]
            continue
        ids, ranks, rows = _merge_once(model, pairs, ids, ranks, rows, starts, lowest)
    return min(wrong, default=None)


def _merge_once(
    model: BPEModel,
    pairs: _Pairs,
    ids: IdArray,
    ranks: IdArray,
    rows: IdArray,
    starts: Int64Array,
    lowest: IdArray,
) -> tuple[IdArray, IdArray, IdArray]:
    """Merge the pair of lowest rank in every token, the first of equal ones; every token has one."""
    found = np.flatnonzero(ranks == np.repeat(lowest, np.diff(starts, append=len(ids))))
    at = found[np.diff(rows[found], prepend=-1) != 0]
    ids[at] = model.merge_ids[ranks[at]]
    keep = np.ones(len(ids), dtype=np.bool_)
    keep[at + 1] = False
    at -= np.arange(len(at))  # as many are gone before each
    ids, ranks, rows = ids[keep], ranks[keep], rows[keep]
    has_next = np.append(rows[1:] == rows[:-1], False)
    for changed in (at[has_next[at]], (at - 1)[(at > 0) & has_next[at - 1]]):
        ranks[changed] = pairs.ranks(ids[changed], ids[changed + 1])
    ranks[at[~has_next[at]]] = _NO_MERGE
    return ids, ranks, rows
