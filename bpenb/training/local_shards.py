"""Shards of the words in this process: what tests, and those who try it out, run a coordinator on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bpenb._arrays import ByteArray
from bpenb.counting import Words
from bpenb.training.rounds import ShardLostError
from bpenb.training.word_shard import WordShard

__all__ = ["LocalShards"]


class LocalShards:
    """Shards in this process, asked one after the other.

    Args:
        words: of each: bytes, offsets and counts, as in `WordCounts`.
        byte_order: uint8[256], the byte of each learning id.
        n_merges: most merges that will be made.
    """

    def __init__(self, words: Sequence[Words], byte_order: ByteArray, n_merges: int) -> None:
        self._words = words
        self._byte_order = byte_order
        self._n_merges = n_merges
        self._shards: list[WordShard | None] = [None] * len(words)
        for shard in range(len(words)):
            self.open(shard)

    def __len__(self) -> int:
        return len(self._words)

    def open(self, shard: int) -> None:
        """Build a shard from its words."""
        self._shards[shard] = WordShard(self._words[shard], self._byte_order, self._n_merges)

    def ask(self, shard: int, method: str, *args: Any) -> Callable[[], Any]:
        """Call a method of a shard."""
        held = self._shards[shard]
        if held is None:
            raise ShardLostError(f"shard {shard}")
        answer = getattr(held, method)(*args)
        return lambda: answer

    def lose(self, shard: int) -> None:
        """Forget a shard, as a machine that goes down does."""
        self._shards[shard] = None
