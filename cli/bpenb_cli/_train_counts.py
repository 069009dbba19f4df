"""What a training learns from: files, or word counts, from a file or counted on a cluster first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bpenb_cli import _messages
from bpenb_cli._cluster_options import ClusterArgument, takes_cluster
from bpenb_cli._options import DEFAULT_SPECIAL_TOKEN
from bpenb_cli._train_source import OF_READING, training_files

if TYPE_CHECKING:
    from bpenb import Cluster, WordCounts

__all__ = ["ClusterArgument", "prepare_source", "takes_cluster", "training_files"]


def prepare_source(
    files: list[Path | str] | dict[Path | str, int],
    from_counts: Path | None,
    special_tokens: list[str] | None,
    pattern: str | None,
    settings: dict[str, Any],
    cluster: Cluster | None,
    output: Path,
) -> tuple[list[Path | str] | dict[Path | str, int] | WordCounts, dict[str, Any]]:
    """Return what to learn from, and the settings for that: word counts know how they were made."""
    import bpenb
    from bpenb.counting import describe_missing

    chosen: dict[str, Any] = {"special_tokens": special_tokens, "pattern": pattern}
    if cluster is not None:
        cluster = _checked(cluster, settings, output)
    if from_counts is not None:
        counts = bpenb.WordCounts.load(from_counts)
        if missing := describe_missing(counts.shards):
            _messages.warning(f"{from_counts} is not complete: {missing}: missing")
        chosen |= {"cluster": cluster} if cluster else {}  # its workers have merging to do
    elif cluster is not None:
        counts = _count_first(cluster, files, chosen, settings)
    else:
        return files, settings | chosen
    learning = {name: value for name, value in settings.items() if name not in (*OF_READING, "inputs")}
    return counts, learning | {"workers": settings["workers"].workers} | chosen


def _checked(cluster: Cluster, settings: dict[str, Any], output: Path) -> Cluster:
    """Return the cluster with its work folder; refuse what is for one machine."""
    for option, name in (("--base", "base"), ("--checkpoint", "checkpoint")):
        if settings.get(name) is not None:
            raise typer.BadParameter(
                f"{option} and a cluster exclude each other: count there first (bpenb count), then train "
                "with --from-counts"
            )
    if cluster.work_folder is None:
        return replace(cluster, work_folder=output.with_name(f"{output.name}.work"))
    return cluster


def _count_first(
    cluster: Cluster,
    files: list[Path | str] | dict[Path | str, int],
    chosen: dict[str, Any],
    settings: dict[str, Any],
) -> WordCounts:
    """Count on a cluster; the workers that were asked for are those of the training."""
    import bpenb

    names = ("errors", "engine", "max_bytes_per_source", "sample", "seed", "inputs", "progress")
    of_counting = {name: settings[name] for name in names}
    of_counting["workers"] = replace(settings["workers"], workers=None)
    specials = chosen["special_tokens"]
    of_counting["special_tokens"] = [DEFAULT_SPECIAL_TOKEN] if specials is None else specials
    pattern = chosen["pattern"] or "gpt2"
    return bpenb.count_words(files, cluster=cluster, pattern=pattern, **of_counting)
