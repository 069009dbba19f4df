"""Which two parts BPE leaves of a token's bytes before the token's own merge: found without running BPE.

Two tokens stand side by side, each all that BPE makes of its own bytes. Does BPE on the joined
bytes keep the boundary between them? Only a merge across the boundary can break it, and such a
merge sees one token that ends there and one that begins there:

    left  = (.., x2)  x2 = (.., x3) ...   the tokens that end at the boundary, youngest first
    right = (y2, ..)  y2 = (y3, ..) ...   the tokens that begin there

Each of them exists from the rank that makes it until the rank that makes the next one above it.
So the pairs that ever face each other are met by undoing, from (left, right) on, always the
younger of the two. That is O(depth) lookups, where BPE itself is O(length log length): a token
of 5 MB is no harder than one of five bytes. The idea is that of github/rust-gems' `bpe` crate.

Tokens are numbered by *age* here: a single byte b is b - 256, a merged token has its rank.
"""

from __future__ import annotations

from collections.abc import Mapping

from bpenb.model import BPEModel

__all__ = ["boundary_holds", "byte_age", "self_made_ids"]

_NEVER = 1 << 62


def byte_age(byte: int) -> int:
    """Return the age of a single byte: below that of every merged token."""
    return byte - 256


def boundary_holds(
    left: int, right: int, parts: Mapping[int, tuple[int, int]], made: Mapping[tuple[int, int], int]
) -> bool:
    """Tell whether BPE on the joined bytes of two tokens leaves just these two.

    Args:
        left, right: ages of the tokens; BPE makes each of its own bytes.
        parts: age of a merged token to the ages of its two parts.
        made: ages of the two parts of a merge to its rank.

    Example:
        >>> a, b, ab = byte_age(97), byte_age(98), 0
        >>> parts, made = {ab: (a, b)}, {(a, b): ab}
        >>> boundary_holds(ab, a, parts, made), boundary_holds(a, b, parts, made)
        (True, False)
    """
    left_end = right_end = _NEVER  # the rank at which a merge on its own side ends each token
    while True:
        across = made.get((left, right))
        # Of equal ranks the leftmost place merges first: the left side's own merge comes before
        # the one across the boundary, the right side's own merge after it.
        if across is not None and across < left_end and across <= right_end:
            return False
        if left < 0 and right < 0:
            return True
        if left > right:
            left_end, left = left, parts[left][1]
        else:
            right_end, right = right, parts[right][0]


def self_made_ids(model: BPEModel) -> set[int]:
    """Return the ids of the tokens that BPE makes of their own bytes."""
    age = {token_id: byte_age(byte) for byte, token_id in enumerate(model.byte_ids.tolist()) if token_id >= 0}
    parts: dict[int, tuple[int, int]] = {}
    made: dict[tuple[int, int], int] = {}
    for rank, (left_id, right_id) in enumerate(model.merges.tolist()):
        left, right = age.get(left_id), age.get(right_id)
        if left is None or right is None:
            continue  # a part that nothing makes: neither does this merge make anything
        result_id = int(model.merge_ids[rank])
        if result_id not in age and boundary_holds(left, right, parts, made):
            parts[rank] = (left, right)
            age[result_id] = rank
        made[left, right] = rank
    return set(age)
