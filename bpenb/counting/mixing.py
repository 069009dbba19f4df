"""Weights: the inputs of each weight are counted by themselves, and their counts multiplied and added.

So are text and rows, where a separator is for text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bpenb._memory import format_memory, parse_memory, rss_bytes
from bpenb.corpus import Source
from bpenb.counting.merge import merge_counts
from bpenb.counting.settings import CountResult
from bpenb.counting.stages import add_seconds
from bpenb.errors import CountsError

__all__ = ["count_by_weight"]

_PER_WORD = 200  # bytes of a word table while it grows, and of the arrays that are made of it


def count_by_weight(
    sources: Sequence[Source],
    count: Callable[[Sequence[Source]], CountResult],
    max_memory: int | str | None,
    *,
    rows_apart: bool = False,
) -> CountResult:
    """Return the counts of all sources, each as often as its weight says.

    Args:
        sources: inputs with their weights; those of weight 1 alone cost nothing extra.
        count: counts sources once; all of them are rows, or none, if these are counted apart.
        max_memory: a budget for the sums.
        rows_apart: whether rows are counted apart.

    Raises:
        CountsError: a count passes 2**63 - 1, or the sums do not fit into `max_memory`.
    """
    groups: dict[tuple[int, bool], list[Source]] = {}
    for source in sources:
        groups.setdefault((source.weight, rows_apart and source.kind.is_rows), []).append(source)
    if not groups:
        return count(sources)
    results = [count(group) for group in groups.values()]
    weights = [weight for weight, _ in groups]
    if weights == [1]:
        return results[0]
    _check_memory(results, max_memory)
    merged = merge_counts([result.counts for result in results], weights=weights)
    return CountResult(
        merged,
        sum(result.n_bytes for result in results),
        max(result.workers_peak_rss_bytes for result in results),
        add_seconds(*(result.stage_seconds for result in results)),
        sum(result.n_spills for result in results),
        results[-1].memory_plan,
        _mixture(groups.values(), weights, results) if set(weights) != {1} else None,
    )


def _mixture(
    groups: Iterable[Sequence[Source]], weights: Sequence[int], results: Sequence[CountResult]
) -> dict[str, Any]:
    """Return how much text there was of each weight."""
    found: dict[int, dict[str, Any]] = {}
    for weight, group, result in zip(weights, groups, results, strict=True):
        of_weight = found.setdefault(weight, {"weight": weight, "n_files": 0, "text_bytes": 0})
        of_weight["n_files"] += len(group)
        of_weight["text_bytes"] += result.n_bytes
    return {"weights": list(found.values())}


def _check_memory(results: Sequence[CountResult], max_memory: int | str | None) -> None:
    budget = parse_memory(max_memory)
    if budget is None:
        return
    n_words = sum(len(result.counts) for result in results)
    n_bytes = sum(result.counts.word_bytes.shape[0] for result in results)
    needed = rss_bytes() + _PER_WORD * n_words + 2 * n_bytes
    if needed > budget:
        raise CountsError(
            f"max_memory is {format_memory(budget)}; adding up {n_words:,} words of inputs with several "
            f"weights takes about {format_memory(needed)}; raise it, or count the inputs of each weight by "
            "themselves and merge the files (bpenb merge-counts)"
        )
