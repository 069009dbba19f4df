"""A row for each token that can be pointed at, and for each that it was merged from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bpenb._arrays import NO_TOKEN, Int64Array
from bpenb._spelling import spell_bytes
from bpenb.model import BPEModel

__all__ = ["TokenRow", "token_rows"]


class TokenRow(NamedTuple):
    """What there is to know of a token.

    Attributes:
        token_id: its id.
        spelled: its bytes for people, as of `spell_bytes`.
        token: its bytes.
        rank: of the first merge that makes it, or what it is without one: `byte`, `special`, `no merge`.
        frequency: how often it occurs in the texts.
        parts: ids of the two tokens that this merge joins; none without a merge.
    """

    token_id: int
    spelled: str
    token: bytes
    rank: int | str
    frequency: int
    parts: tuple[int, ...]


def token_rows(model: BPEModel, ids: Iterable[int], token_counts: Int64Array) -> list[TokenRow]:
    """Return the rows of tokens, and of all that they are merged from, by id.

    Args:
        model: their model.
        ids: of tokens.
        token_counts: int64[n_vocab], how often each occurs.

    Example:
        >>> import numpy as np
        >>> model = BPEModel.from_vocab({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], None, "gpt2")
        >>> [(r.spelled, r.rank, r.frequency, r.parts) for r in token_rows(model, [2], np.array([0, 1, 5]))]
        [('a', 'byte', 0, ()), ('b', 'byte', 1, ()), ('ab', 0, 5, (0, 1))]
    """
    first_rank: dict[int, int] = {}
    for rank, token_id in enumerate(model.merge_ids.tolist()):
        first_rank.setdefault(token_id, rank)
    kinds = dict.fromkeys(model.special_tokens.values(), "special")
    kinds |= {token_id: "byte" for token_id in model.byte_ids.tolist() if token_id != NO_TOKEN}
    wanted = set(ids)
    todo = list(wanted)
    parts: dict[int, tuple[int, ...]] = {}
    while todo:
        token_id = todo.pop()
        is_merged = token_id in first_rank and token_id not in kinds
        parts[token_id] = tuple(model.merges[first_rank[token_id]].tolist()) if is_merged else ()
        new = set(parts[token_id]) - wanted
        wanted |= new
        todo += new
    rows = []
    for token_id in sorted(wanted):
        start, end = model.token_offsets[token_id : token_id + 2].tolist()
        token = model.token_bytes[start:end].tobytes()
        is_merged = bool(parts[token_id])
        kind = first_rank[token_id] if is_merged else kinds.get(token_id, "no merge")
        n = int(token_counts[token_id])
        rows.append(TokenRow(token_id, spell_bytes(token), token, kind, n, parts[token_id]))
    return rows
