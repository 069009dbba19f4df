"""The plan of counting on many machines: shards, partitions, and the tree in which partials are merged.

    shards/00001 … 00100    a partial for each shard, with all partitions
    merges/1-0001-p003      of 32 of them, one partition
    merges/2-0001-p003      of 32 of those, …, until there is one for each partition

Every name follows from the plan, and what has its name is complete: that is all that resuming knows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bpenb.counting import Shard

__all__ = ["CountPlan", "Merge", "name_plan", "plan_counting"]

FAN_IN = 32  # files that a merge reads at once
_MOST_PARTITIONS = 64
_MOST_SHARD = 512_000_000  # bytes: seconds of work, so that little is lost with a worker
_LEAST_SHARD = 4_000_000
_SHARDS_PER_THREAD = 4  # the last one to finish keeps the others waiting
_THREADS = 8  # taken for granted where no worker has come yet


class Merge(NamedTuple):
    """One step of the tree: one partition of several files becomes a file.

    Attributes:
        partition: its number.
        inputs: names of the files.
        output: name of the file.
        shards: (first, last) of those that the output holds.
    """

    partition: int
    inputs: tuple[str, ...]
    output: str
    shards: tuple[int, int]


@dataclass(frozen=True)
class CountPlan:
    """What is to be done, whoever does it.

    Attributes:
        name: of this plan: a hash of corpus, settings, shards and partitions.
        n_shards: parts of the corpus that are counted by themselves.
        n_partitions: parts of the words that are merged by themselves.

    Example:
        >>> plan = CountPlan("f3", 40, 2)
        >>> [[merge.output for merge in level] for level in plan.levels()][-1]
        ['merges/2-0001-p000', 'merges/2-0001-p001']
    """

    name: str
    n_shards: int
    n_partitions: int

    def partial(self, shard: int) -> str:
        """Return the name of the partial of a shard, numbered from 1."""
        return f"shards/{shard:05}"

    def levels(self) -> list[list[Merge]]:
        """Return the merges, level after level; none if there is one shard."""
        levels: list[list[Merge]] = []
        held = [(number, number) for number in range(1, self.n_shards + 1)]
        while len(held) > 1:
            groups = [range(first, min(first + FAN_IN, len(held))) for first in range(0, len(held), FAN_IN)]
            level = len(levels) + 1
            levels.append(
                [
                    Merge(
                        partition,
                        tuple(self._name(level - 1, k + 1, partition) for k in group),
                        self._name(level, number + 1, partition),
                        (held[group[0]][0], held[group[-1]][1]),
                    )
                    for number, group in enumerate(groups)
                    for partition in range(self.n_partitions)
                ]
            )
            held = [(held[group[0]][0], held[group[-1]][1]) for group in groups]
        return levels

    def results(self) -> list[str]:
        """Return the name of the file that holds each partition in the end."""
        levels = self.levels()
        return [self._name(len(levels), 1, partition) for partition in range(self.n_partitions)]

    def _name(self, level: int, number: int, partition: int) -> str:
        return f"merges/{level}-{number:04}-p{partition:03}" if level else self.partial(number)


def plan_counting(
    corpus: Shard, made_by: Mapping[str, object], n_threads: int, shard_bytes: int | None
) -> CountPlan:
    """Return the plan for a corpus.

    Args:
        corpus: marker of all of it.
        made_by: what decides the words.
        n_threads: of all workers together; 0: not known.
        shard_bytes: about as many in a shard; None: what suits so many threads.
    """
    n_threads = n_threads or _THREADS
    if shard_bytes is None:
        wanted = corpus.total_bytes // (_SHARDS_PER_THREAD * n_threads)
        shard_bytes = min(max(wanted, _LEAST_SHARD), _MOST_SHARD)
    n_shards = max(1, -(-corpus.total_bytes // shard_bytes))
    n_partitions = max(1, min(2 * n_threads, n_shards, _MOST_PARTITIONS))
    return name_plan(corpus, made_by, n_shards, n_partitions)


def name_plan(corpus: Shard, made_by: Mapping[str, object], n_shards: int, n_partitions: int) -> CountPlan:
    """Return the plan with so many shards and partitions, named by all that its files depend on."""
    told = [corpus.corpus, corpus.total_bytes, dict(made_by), n_shards, n_partitions]
    name = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]
    return CountPlan(name, n_shards, n_partitions)
