"""What a training learns from: files, or word counts, from a file or counted on a cluster first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpenb_cli import _messages
from bpenb_cli._cluster_checks import check_cluster
from bpenb_cli._cluster_options import ClusterArgument, takes_cluster
from bpenb_cli._options import DEFAULT_SPECIAL_TOKEN
from bpenb_cli._train_source import OF_READING, training_files

if TYPE_CHECKING:
    from bpenb import Cluster, WordCounts

__all__ = ["ClusterArgument", "prepare_source", "takes_cluster", "training_files"]


def prepare_source(
    given: Mapping[str, Any],
    files: list[Path | str] | dict[Path | str, int],
    special_tokens: list[str] | None,
    n_sizes: int,
    settings: dict[str, Any],
    characters: Mapping[str, Any] | None,
) -> tuple[list[Path | str] | dict[Path | str, int] | WordCounts, dict[str, Any]]:
    """Return what to learn from, and the settings for that; `given`: parameters by name, `cluster` too."""
    import bpenb
    from bpenb.counting import describe_missing

    cluster, from_counts = given["cluster"], given["from_counts"]
    chosen: dict[str, Any] = {"special_tokens": special_tokens, "pattern": given["pattern"]}
    if cluster is not None:
        check_cluster(given, n_sizes, characters)
        output = given["output"]
        folder = cluster.work_folder or output.with_name(f"{output.name}.work")
        cluster = replace(cluster, work_folder=folder)
    if from_counts is not None:
        counts = bpenb.WordCounts.load(from_counts)
        if missing := describe_missing(counts.shards):
            _messages.warning(f"{from_counts} is not complete: {missing}: missing")
        chosen |= {"cluster": cluster} if cluster else {}  # its workers have merging to do
    elif cluster is not None:
        counts = _count_first(cluster, files, chosen, settings, characters)
        chosen = {}  # they have the special tokens of roles too
    else:
        return files, settings | chosen
    learning = {name: value for name, value in settings.items() if name not in (*OF_READING, "inputs")}
    return counts, {"pattern": None} | learning | {"workers": settings["workers"].workers} | chosen


def _count_first(
    cluster: Cluster,
    files: list[Path | str] | dict[Path | str, int],
    chosen: dict[str, Any],
    settings: dict[str, Any],
    characters: Mapping[str, Any] | None,
) -> WordCounts:
    """Count on a cluster; the workers that were asked for are those of the training."""
    import bpenb

    names = ("errors", "engine", "max_bytes_per_source", "sample", "seed", "inputs", "progress")
    of_counting = {name: settings[name] for name in names}
    of_counting["workers"] = replace(settings["workers"], workers=None)
    named, pattern = chosen["special_tokens"], chosen["pattern"] or "gpt2"
    if characters is not None:
        from bpenb.classic import classic_pattern

        pattern = classic_pattern(chosen["pattern"])
    specials = settings["vocab_options"].special_tokens([DEFAULT_SPECIAL_TOKEN] if named is None else named)
    return bpenb.count_words(files, cluster=cluster, pattern=pattern, special_tokens=specials, **of_counting)
