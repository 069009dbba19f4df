"""Between the public verbs and the cluster: what goes together, and where the work is kept."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from bpenb.cluster import Cluster, ClusterResult, count_with, dask_engine, learn_with
from bpenb.corpus import InputOptions, Mixture, WeightedFiles
from bpenb.counting import CountSettings, WordCounts, Workforce
from bpenb.errors import BpenbError
from bpenb.progress import Reporter
from bpenb.training import LearningOptions, MergeResult, byte_order

__all__ = ["count_on_cluster", "learn_on_cluster"]


def count_on_cluster(
    cluster: Cluster,
    files: WeightedFiles,
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
    mixture: Mixture,
    options: InputOptions | None,
    output: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
) -> ClusterResult:
    """Count the words of files with the workers of a cluster.

    Args:
        cluster: which.
        files, settings, reporter, mixture, options: as of `count_files`.
        workforce: its unit of work is the size of a shard; the rest is for the cluster to say.
        output: the work folder is beside it, unless the cluster names one.
        force: begin anew, whatever is in the work folder.

    Raises:
        BpenbError: an option that is for this machine alone, or no work folder.
        TypeError: no `Cluster`.
    """
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster must be a Cluster, not {type(cluster).__name__}")
    if replace(workforce, task_bytes=None) != Workforce():
        raise BpenbError(
            "workers, pool and max_memory are for counting on this machine; a cluster has the workers that "
            "it has, and each task keeps to the memory that its worker states (dask worker --memory-limit)"
        )
    if cluster.work_folder is None and output is not None:
        cluster = replace(cluster, work_folder=Path(output).with_name(f"{Path(output).name}.work"))
    return count_with(
        lambda: dask_engine(cluster),
        files,
        settings,
        _work_folder(cluster),
        reporter,
        mixture=mixture,
        options=options,
        shard_bytes=workforce.task_bytes,
        resume=cluster.resume,
        force=force,
    )


def learn_on_cluster(
    cluster: Cluster, counts: WordCounts, options: LearningOptions, reporter: Reporter
) -> MergeResult:
    """Learn the merges of word counts with the workers of a cluster; they are those of `learn`.

    Args:
        cluster: which; it must name a work folder.
        counts, options, reporter: as of `learn`.

    Raises:
        BpenbError: no work folder, or as of `learn_with`.
        TypeError: no `Cluster`.
    """
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster must be a Cluster, not {type(cluster).__name__}")
    order = byte_order(options.ties, counts.special_tokens)
    folder = _work_folder(cluster)
    return learn_with(lambda: dask_engine(cluster), counts, options, order, folder, reporter)


def _work_folder(cluster: Cluster) -> Path:
    if cluster.work_folder is None:
        raise BpenbError("work on a cluster needs a work folder: Cluster(…, work_folder=…)")
    return Path(cluster.work_folder)
