"""What a vocab, its special tokens and its merges must be; each check names what it refuses."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from bpenb._arrays import IdArray
from bpenb.errors import BpenbError, ModelError

__all__ = ["MAX_IDS", "MergeError", "check_merge", "check_specials", "checked_special_names", "checked_vocab",
           "resolve_merges"]  # fmt: skip

MAX_IDS = 1 << 24  # a table has room for every id up to the highest, so one wild id must not ask for GB


class MergeError(ModelError):
    """A merge that cannot be: which one, and why.

    Attributes:
        rank: its position in the merges.
        reason: the rest of the message.
    """

    def __init__(self, rank: int, reason: str) -> None:
        self.rank = rank
        self.reason = reason
        super().__init__(f"merge of rank {rank}: {reason}")

    def __reduce__(self) -> tuple[type[MergeError], tuple[int, str]]:
        return type(self), (self.rank, self.reason)


def checked_vocab(vocab: Mapping[int, bytes]) -> dict[int, bytes]:
    """Return a copy of a vocab with plain ints as ids, in the order of ids.

    Raises:
        ModelError: an id out of range, or a token without bytes.
        TypeError: not a mapping of int to bytes.
    """
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab must be a mapping of int to bytes, not {type(vocab).__name__}")
    checked: dict[int, bytes] = {}
    for key, token in vocab.items():
        token_id = _checked_id(key, token)
        if not isinstance(token, bytes):
            raise TypeError(f"token {token_id} must be bytes, not {type(token).__name__}: {token!r}")
        if not token:
            raise ModelError(f"token {token_id} is empty: leave its id out")
        checked[token_id] = token
    return dict(sorted(checked.items()))


def _checked_id(value: Any, token: object) -> int:
    # bool is an int, and np.bool_ would pass operator.index in old versions of numpy
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"the id of token {token!r} must be an int, not {type(value).__name__}: {value!r}")
    token_id = operator.index(value)
    if not 0 <= token_id < MAX_IDS:
        raise ModelError(f"token {token!r} has id {token_id}; ids are 0 to {MAX_IDS - 1}")
    return token_id


def checked_special_names(
    special_tokens: Iterable[str], error: type[BpenbError] = ModelError
) -> tuple[str, ...]:
    """Return the special tokens without duplicates, in the order given.

    Raises:
        error: an empty one, or one that UTF-8 cannot spell.
        TypeError: a plain string instead of a sequence of them, or an item that is no string.
    """
    if isinstance(special_tokens, str | bytes) or not isinstance(special_tokens, Iterable):
        raise TypeError(f"special_tokens must be a sequence of str, not {type(special_tokens).__name__}")
    names = tuple(dict.fromkeys(special_tokens))
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"a special token must be a str, not {type(name).__name__}: {name!r}")
        if not name:
            raise error("a special token must not be empty: it would match everywhere")
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise error(f"special token {name!r} holds a lone surrogate, which UTF-8 cannot spell")
    return names


def check_specials(ordinary: Mapping[int, bytes], special_ids: Mapping[str, int]) -> dict[int, bytes]:
    """Return the bytes of every id, those of the special tokens included.

    Raises:
        ModelError: two tokens with one id that are not spelled the same.
        TypeError: an id that is no int.
    """
    tokens = dict(ordinary)
    owner: dict[int, str] = {}
    for name in checked_special_names(special_ids):
        token_id = _checked_id(special_ids[name], name)
        if token_id in owner:
            raise ModelError(f"special tokens {owner[token_id]!r} and {name!r} have the same id {token_id}")
        if tokens.get(token_id, name.encode()) != name.encode():
            raise ModelError(
                f"special token {name!r} has id {token_id}, which is that of token {tokens[token_id]!r}"
            )
        owner[token_id] = name
        tokens[token_id] = name.encode()
    return tokens


def check_merge(
    rank: int, pair: object, vocab: Collection[bytes], made: Collection[bytes]
) -> tuple[bytes, bytes]:
    """Return the two parts of a merge.

    Args:
        rank: for messages.
        pair: what stands in the list of merges.
        vocab: every token.
        made: single bytes and the results of the merges before this one.

    Raises:
        MergeError: a part or the result is missing, or a part is made later.
        TypeError: not a pair of bytes.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(p, bytes) for p in pair):
        raise TypeError(f"merge of rank {rank} must be a pair of bytes, not {pair!r}")
    for part in pair:
        if part not in made:
            why = "is made by no merge before it" if part in vocab else "is not in the vocab"
            raise MergeError(rank, f"{pair[0]!r} + {pair[1]!r}: its part {part!r} {why}")
    if pair[0] + pair[1] not in vocab:
        raise MergeError(
            rank, f"{pair[0]!r} + {pair[1]!r}: its result {pair[0] + pair[1]!r} is not in the vocab"
        )
    return pair[0], pair[1]


def resolve_merges(
    merges: Iterable[tuple[bytes, bytes]], id_of: Mapping[bytes, int]
) -> tuple[IdArray, IdArray]:
    """Return the ids of the parts and of the result of every merge, checked.

    Args:
        merges: pairs of bytes; the position is the rank.
        id_of: of every ordinary token.

    Returns:
        int32[n, 2] and int32[n].

    Raises:
        MergeError, TypeError: as of `check_merge`; or a merge once more.
    """
    pairs = list(merges)
    try:
        rows = [(id_of[left], id_of[right]) for left, right in pairs]
        results = [id_of[left + right] for left, right in pairs]
    except (KeyError, TypeError, ValueError):  # find what is wrong
        return _resolve_one_by_one(pairs, id_of)
    parts, made = np.array(rows, dtype=np.int32).reshape(-1, 2), np.array(results, dtype=np.int32)
    ranks = np.arange(len(pairs))
    made_by = np.full(max(id_of.values(), default=-1) + 1, len(pairs))  # the first merge that makes an id
    made_by[made[::-1]] = ranks[::-1]
    made_by[[token_id for token, token_id in id_of.items() if len(token) == 1]] = -1
    keys = parts[:, 0].astype(np.int64) << 32 | parts[:, 1]
    if (made_by[parts].max(axis=1, initial=-1) >= ranks).any() or len(np.unique(keys)) < len(keys):
        return _resolve_one_by_one(pairs, id_of)
    return parts, made


def _resolve_one_by_one(
    merges: Iterable[tuple[bytes, bytes]], id_of: Mapping[bytes, int]
) -> tuple[IdArray, IdArray]:
    """Return the ids of the parts and of the result of every merge, checked one by one."""
    made = {token for token in id_of if len(token) == 1}
    rank_of: dict[tuple[bytes, bytes], int] = {}
    rows: list[tuple[int, int]] = []
    results: list[int] = []
    for rank, pair in enumerate(merges):
        left, right = check_merge(rank, pair, id_of, made)
        first = rank_of.setdefault((left, right), rank)
        if first != rank:
            raise MergeError(rank, f"{left!r} + {right!r} is the merge of rank {first} once more")
        made.add(left + right)
        rows.append((id_of[left], id_of[right]))
        results.append(id_of[left + right])
    return np.array(rows, dtype=np.int32).reshape(-1, 2), np.array(results, dtype=np.int32)
