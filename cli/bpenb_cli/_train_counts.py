"""What a training learns from: files, or word counts, from a file or counted on a cluster first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpenb_cli import _messages
from bpenb_cli._cluster_checks import check_cluster
from bpenb_cli._cluster_options import ClusterArgument, takes_cluster
from bpenb_cli._options import DEFAULT_SPECIAL_TOKEN
from bpenb_cli._train_one import check_training
from bpenb_cli._train_source import OF_READING, training_files

if TYPE_CHECKING:
    from bpenb import WordCounts

__all__ = ["ClusterArgument", "prepare_source", "takes_cluster", "training_files"]


def prepare_source(
    given: Mapping[str, Any],
    files: list[Path | str] | dict[Path | str, int],
    special_tokens: list[str] | None,
    vocab_sizes: Sequence[int],
    settings: dict[str, Any],
    characters: Mapping[str, Any] | None,
) -> tuple[list[Path | str] | dict[Path | str, int] | WordCounts, dict[str, Any]]:
    """Return what to learn from, and the settings for that; `given`: parameters by name, `cluster` too."""
    import bpenb
    from bpenb.counting import describe_missing

    cluster, from_counts = given["cluster"], given["from_counts"]
    chosen: dict[str, Any] = {"special_tokens": special_tokens, "pattern": given["pattern"]}
    if cluster is not None:
        check_cluster(given, len(vocab_sizes), characters)
        output = given["output"]
        folder = cluster.work_folder or output.with_name(f"{output.name}.work")
        cluster = replace(cluster, work_folder=folder)
    learning = {name: value for name, value in settings.items() if name not in (*OF_READING, "inputs")}
    learning["workers"] = settings["workers"].workers
    if from_counts is not None:
        counts = bpenb.WordCounts.load(from_counts)
        if missing := describe_missing(counts.shards):
            _messages.warning(f"{from_counts} is not complete: {missing}: missing")
        chosen |= {"cluster": cluster} if cluster else {}  # its workers have merging to do
    elif cluster is not None:
        how = _how_to_count(chosen, settings, characters)
        chosen = {"pattern": None}  # counts know it, and the special tokens, those of roles too
        nothing = bpenb.WordCounts.from_dict({}, pattern=how["pattern"], special_tokens=how["special_tokens"])
        check_training(nothing, vocab_sizes, learning | chosen, characters)
        counts = bpenb.count_words(files, cluster=cluster, **how)
    else:
        return files, settings | chosen
    return counts, learning | chosen


def _how_to_count(
    chosen: Mapping[str, Any], settings: Mapping[str, Any], characters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the settings of counting first; the workers that were asked for are those of the training."""
    names = ("errors", "engine", "max_bytes_per_source", "sample", "seed", "inputs", "progress")
    how = {name: settings[name] for name in names}
    how["workers"] = replace(settings["workers"], workers=None)
    named, how["pattern"] = chosen["special_tokens"], chosen["pattern"] or "gpt2"
    if characters is not None:
        from bpenb.classic import classic_pattern

        how["pattern"] = classic_pattern(chosen["pattern"])
    named = [DEFAULT_SPECIAL_TOKEN] if named is None else named
    how["special_tokens"] = settings["vocab_options"].special_tokens(named)
    return how
