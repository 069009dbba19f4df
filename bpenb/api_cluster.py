"""Between the public verbs of counting and the cluster: what goes together, and where the work is kept."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from bpenb.cluster import Cluster, ClusterResult, count_with, dask_engine
from bpenb.corpus import InputOptions, Mixture, WeightedFiles
from bpenb.counting import CountSettings, Workforce
from bpenb.errors import BpenbError
from bpenb.progress import Reporter

__all__ = ["count_on_cluster"]


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
    folder = cluster.work_folder
    if folder is None:
        if output is None:
            raise BpenbError("counting on a cluster needs a work folder: Cluster(…, work_folder=…)")
        folder = Path(output).with_name(f"{Path(output).name}.work")
    return count_with(
        lambda: dask_engine(cluster),
        files,
        settings,
        Path(folder),
        reporter,
        mixture=mixture,
        options=options,
        shard_bytes=workforce.task_bytes,
        resume=cluster.resume,
        force=force,
    )
