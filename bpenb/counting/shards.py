"""Which shards of which corpus word counts hold, so that no text is counted twice or left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bpenb.errors import CountsError

__all__ = ["Shard", "describe_missing", "join_shards", "parse_shards", "read_share"]

_MOST_NAMED = 10


class Shard(NamedTuple):
    """One of the shares that a corpus was cut into.

    Attributes:
        corpus: what identifies the corpus (sizes, weights, first and last bytes of its files) and
            the part of it that was asked for.
        total_bytes: of the whole corpus.
        n_shards: shares in all.
        number: which of them, from 1.
        weight: how often it was counted.
    """

    corpus: str
    total_bytes: int
    n_shards: int
    number: int
    weight: int = 1

    def __str__(self) -> str:
        return f"shard {self.number}/{self.n_shards} of {self.total_bytes:,} bytes (corpus {self.corpus[:8]})"


def read_share(text: str) -> tuple[int, int]:
    """Return (i, n) of a share written as `i/n`.

    Raises:
        CountsError: anything else, or an i that is not from 1 to n.

    Example:
        >>> read_share("2/8")
        (2, 8)
    """
    first, slash, second = text.partition("/")
    digits = (first + second).isascii() and first.isdigit() and second.isdigit()
    if not slash or not digits or not 1 <= int(first) <= int(second):
        raise CountsError(f"the shard is {text!r}; it must be i/n with 1 ≤ i ≤ n, such as 1/4")
    return int(first), int(second)


def join_shards(parts: Iterable[tuple[str, int, Iterable[Shard]]]) -> tuple[Shard, ...]:
    """Return the shards of several parts together, ordered.

    Args:
        parts: of each its name (for messages), the weight it gets, and the shards that it holds.

    Raises:
        CountsError: a shard that two parts hold, shares of one corpus that was cut in two ways, or
            that get different weights.

    Example:
        >>> a, b = Shard("f3", 100, 2, 1), Shard("f3", 100, 2, 2)
        >>> join_shards([("b.npz", 1, [b]), ("a.npz", 1, [a])]) == (a, b)
        True
    """
    found: dict[tuple[str, int], tuple[str, Shard]] = {}
    cut: dict[str, tuple[str, Shard]] = {}
    for name, weight, shards in parts:
        for shard in shards:
            weighted = shard._replace(weight=shard.weight * weight)
            other_name, other = cut.setdefault(shard.corpus, (name, weighted))
            if other.n_shards != shard.n_shards:
                raise CountsError(
                    f"{name} holds {shard}, {other_name} holds {other}: one corpus, cut in two ways; "
                    "merge only the shards of one cut"
                )
            if other.weight != weighted.weight:
                raise CountsError(
                    f"{name} holds {shard} with weight {weighted.weight}, {other_name} {other} with weight "
                    f"{other.weight}; give all shards of a corpus one weight"
                )
            key = shard.corpus, shard.number
            if key in found:
                raise CountsError(
                    f"{found[key][0]} and {name} both hold {shard}, which would be counted twice; "
                    "give it once"
                )
            found[key] = name, weighted
    return tuple(sorted(shard for _, shard in found.values()))


def describe_missing(shards: Iterable[Shard]) -> str:
    """Return which shards are missing for whole corpora, or an empty string.

    Example:
        >>> describe_missing([Shard("f3c0ffee", 100, 4, 2), Shard("f3c0ffee", 100, 4, 3)])
        'shards 1, 4 of 4 (corpus f3c0ffee, 100 bytes)'
    """
    held: dict[str, list[Shard]] = {}
    for shard in shards:
        held.setdefault(shard.corpus, []).append(shard)
    gaps = []
    for corpus, some in held.items():
        n_shards, numbers = some[0].n_shards, {shard.number for shard in some}
        n_missing = n_shards - len(numbers)
        named: list[str] = []
        for number in range(1, n_shards + 1):
            if len(named) == _MOST_NAMED:
                break
            if number not in numbers:
                named.append(f"{number:,}")
        if n_missing:
            more = f" and {n_missing - len(named):,} more" if n_missing > len(named) else ""
            what = f"{', '.join(named)}{more} of {n_shards:,}"
            gaps.append(f"shards {what} (corpus {corpus[:8]}, {some[0].total_bytes:,} bytes)")
    return "; ".join(gaps)


def parse_shards(stored: object) -> tuple[Shard, ...]:
    """Return the shards that a file of word counts lists.

    Raises:
        CountsError: they are not written as `WordCounts.save` does.
    """
    if not isinstance(stored, list):
        raise CountsError(f"shards must be a list, not {stored!r}")
    shards = []
    for item in stored:
        try:
            shard = Shard(*item)
            integers = shard.total_bytes, shard.n_shards, shard.number, shard.weight
            right = isinstance(shard.corpus, str) and all(type(number) is int for number in integers)
            right = right and 1 <= shard.number <= shard.n_shards and shard.total_bytes >= 0
        except TypeError:
            right = False
        if not right or shard.weight < 1:
            raise CountsError(f"{item!r} is no shard")
        shards.append(shard)
    return join_shards([("the file", 1, shards)])
