"""Weights: the inputs of each weight are counted by themselves, and their counts multiplied and added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    sources: Sequence[Source], count: Callable[[Sequence[Source]], CountResult], max_memory: int | str | None
) -> CountResult:
    """Return the counts of all sources, each as often as its weight says.

    Args:
        sources: inputs with their weights; those of weight 1 alone cost nothing extra.
        count: counts sources once.
        max_memory: a budget for the sums.

    Raises:
        CountsError: a count passes 2**63 - 1, or the sums do not fit into `max_memory`.
    """
    groups: dict[int, list[Source]] = {}
    for source in sources:
        groups.setdefault(source.weight, []).append(source)
    if set(groups) <= {1}:
        return count(sources)
    results = [count(group) for group in groups.values()]
    _check_memory(results, max_memory)
    merged = merge_counts([result.counts for result in results], weights=list(groups))
    weights: list[dict[str, Any]] = [
        {"weight": weight, "n_files": len(group), "text_bytes": result.n_bytes}
        for (weight, group), result in zip(groups.items(), results, strict=True)
    ]
    return CountResult(
        merged,
        sum(result.n_bytes for result in results),
        max(result.workers_peak_rss_bytes for result in results),
        add_seconds(*(result.stage_seconds for result in results)),
        sum(result.n_spills for result in results),
        results[-1].memory_plan,
        {"weights": weights},
    )


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
