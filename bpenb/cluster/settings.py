"""Which cluster counts, and where it keeps its work."""

from __future__ import annotations

import os
from dataclasses import dataclass

from bpenb._remote import is_remote, shown_name
from bpenb._workers import resolve_workers
from bpenb.errors import BpenbError

__all__ = ["Cluster"]


@dataclass(frozen=True)
class Cluster:
    """Who counts, if not this process: the workers of a Dask scheduler. Exactly one of the first three.

    Attributes:
        scheduler: address, such as `tcp://10.0.0.1:8786`.
        scheduler_file: that `dask scheduler --scheduler-file FILE` wrote.
        local_workers: how many processes to start here, and to end when all is counted.
        work_folder: where the plan and partial counts are, on storage that all workers see; None: beside
            the output. It is removed when the counts are complete.
        resume: go on from the partial counts of an earlier run, if there are any.

    Raises:
        BpenbError: none of the three, or several; fewer than one worker; a work folder that is a URL.
        TypeError: a number of workers that is no int.

    Example:
        >>> Cluster(local_workers=4).where
        '4 local workers'
    """

    scheduler: str | None = None
    scheduler_file: str | os.PathLike[str] | None = None
    local_workers: int | None = None
    work_folder: str | os.PathLike[str] | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        given = [name for name in ("scheduler", "scheduler_file", "local_workers") if getattr(self, name)
                 is not None]  # fmt: skip
        if len(given) != 1:
            raise BpenbError(
                f"a cluster is {' and '.join(given) or 'nothing'}; name exactly one: a scheduler's address "
                "(--scheduler), its file (--scheduler-file), or a number of local workers (--local-cluster)"
            )
        if self.local_workers is not None:
            resolve_workers(self.local_workers)
        folder = os.fspath(self.work_folder or "")
        if is_remote(folder) or is_remote(folder.replace(":/", "://", 1)):  # a Path keeps one slash
            raise BpenbError(
                f"{shown_name(folder)}: a work folder is a path, on storage that all workers see under it, "
                "and no URL (Cluster(work_folder=…), --work-folder)"
            )

    @property
    def where(self) -> str:
        """For messages."""
        if self.local_workers is not None:
            return "1 local worker" if self.local_workers == 1 else f"{self.local_workers} local workers"
        return self.scheduler or f"the scheduler of {os.fspath(self.scheduler_file or '')}"
