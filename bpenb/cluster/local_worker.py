"""What a local worker does at its start: Dask loads this module there."""

from __future__ import annotations

import signal
from typing import Any

__all__ = ["dask_setup"]


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C, which a terminal sends to all: who started the worker ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
