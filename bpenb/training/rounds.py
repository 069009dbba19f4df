"""A training whose words lie in shards: what goes out to each of them, and what comes back.

A coordinator knows all pairs and no words; a shard knows its words, and which of its rows hold a
pair. Answers of the shards are added up, so what comes out does not depend on how words were dealt
out, nor on how many shards there are. The same word may be in several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from bpenb._arrays import CountArray, IdArray, Int64Array

__all__ = ["NO_KEYS", "Answer", "Round", "ShardLostError", "Shards", "Standing", "ask_all"]

NO_KEYS: Int64Array = np.empty(0, dtype=np.int64)
_TRIES = 4  # to build a shard again, one after the other


class ShardLostError(Exception):
    """Who held a shard is gone; caught here, and the shard is built again."""


class Round(NamedTuple):
    """What a shard is asked to do, in this order. Pairs are keys, left << 32 | right.

    Attributes:
        kept: int64[], ascending: which of the pairs that its last answer brought forth may ever merge.
        merges: int64[], pairs to merge one after the other.
        first_new: id of the first merge; the others follow.
        recounts: int64[], pairs to count again after the merges.
    """

    kept: Int64Array
    merges: Int64Array
    first_new: int
    recounts: Int64Array


class Answer(NamedTuple):
    """What a shard found in a round.

    Attributes:
        born, born_counts: int64[], the pairs that the merges brought forth, and how often.
        counts: int64[], of the pairs that were counted again.
    """

    born: Int64Array
    born_counts: CountArray
    counts: CountArray


class Standing(NamedTuple):
    """What a shard must be brought to when it is built again.

    Attributes:
        merges: int32[n, 2], made before the round that is on.
        keys: int64[], ascending: the pairs whose rows it lists.
    """

    merges: IdArray
    keys: Int64Array


class Shards(Protocol):
    """Where the shards are: in this process, or in those of a cluster."""

    def __len__(self) -> int:
        """How many there are."""

    def open(self, shard: int) -> None:
        """Build a shard from its words, as they were before the first merge.

        Raises:
            ShardLostError: there is nowhere to build it just now.
        """

    def ask(self, shard: int, method: str, *args: Any) -> Callable[[], Any]:
        """Call a method of `WordShard`; returns a function that waits for what it returns.

        Raises (here, or when the answer is waited for):
            ShardLostError: who held the shard is gone.
        """


def ask_all(shards: Shards, standing: Callable[[], Standing], method: str, *args: Any) -> list[Any]:
    """Call a method of every shard at once, and build those again that are lost.

    Args:
        shards: whom to ask.
        standing: tells what a shard must be brought to before it is asked again.
        method, args: of `WordShard`.

    Returns:
        The answers, in the order of the shards.

    Raises:
        ShardLostError: a shard was lost time and again.
    """
    waiting = [_asked(shards, shard, method, args) for shard in range(len(shards))]
    return [_answer_of(shards, shard, wait, standing, method, args) for shard, wait in enumerate(waiting)]


def _asked(shards: Shards, shard: int, method: str, args: tuple[Any, ...]) -> Callable[[], Any] | None:
    try:
        return shards.ask(shard, method, *args)
    except ShardLostError:
        return None


def _answer_of(
    shards: Shards,
    shard: int,
    wait: Callable[[], Any] | None,
    standing: Callable[[], Standing],
    method: str,
    args: tuple[Any, ...],
) -> Any:
    for attempt in range(_TRIES):
        try:
            if attempt:
                shards.open(shard)
                shards.ask(shard, "restore", *standing())()
                # A shard that was built again has rows for all pairs that it needs.
                wait = shards.ask(shard, method, *[_without_kept(arg) for arg in args])
            if wait is not None:
                return wait()
        except ShardLostError:
            wait = None
    raise ShardLostError(f"shard {shard} was lost {_TRIES} times, one after the other")


def _without_kept(arg: Any) -> Any:
    return arg._replace(kept=NO_KEYS) if isinstance(arg, Round) else arg
