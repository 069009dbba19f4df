"""Time limits that a busy machine does not break: a claim of speed is tried again before it fails."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["ends_soon", "wait_until"]


def ends_soon(attempt: Callable[[], float], limit: float, attempts: int = 3) -> None:
    """Fail unless one of some attempts takes less than a limit; each returns its seconds.

    What is late because other processes run is in time when it is tried again; what waits for its work
    to end is late each time.
    """
    took: list[float] = []
    while len(took) < attempts:
        took.append(attempt())
        if took[-1] < limit:
            return
    raise AssertionError(f"took {', '.join(f'{seconds:.1f}' for seconds in took)} s; at most {limit} s")


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    """Wait for a condition; tell whether it came. The limit is far off: it is only reached by an error."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
