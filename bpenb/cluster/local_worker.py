"""Workers on this machine: how they are started, and what each does then (Dask loads this module there)."""

from __future__ import annotations

import logging
import signal
from typing import Any

from bpenb._workers import resolve_workers

__all__ = ["dask_setup", "local_cluster"]


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C, which a terminal sends to all: who started the worker ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def local_cluster(distributed: Any, n_workers: int) -> Any:
    """Return a scheduler here with so many workers, each a process that loads this file."""
    return distributed.LocalCluster(
        n_workers=resolve_workers(n_workers),
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",  # the usual port may be taken
        silence_logs=logging.CRITICAL,
        preload=[__name__],
    )
