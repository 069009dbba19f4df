"""The phases of a training, as its report tells them; the report may be of anybody."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["training_phases"]

_OF_WORKERS = "counting."  # sums over workers, which work side by side: no part of the whole


def training_phases(report: Mapping[str, Any] | None) -> dict[str, float]:
    """Return the seconds of each phase, in order; nothing where a report does not tell them.

    Example:
        >>> training_phases({"seconds": {"count": 2.0, "merge": 0.5, "counting.read": 3.1}})
        {'count': 2.0, 'merge': 0.5}
        >>> training_phases({"seconds": "long"})
        {}
    """
    seconds = (report or {}).get("seconds")
    if not isinstance(seconds, Mapping):
        return {}
    return {
        str(phase): float(value)
        for phase, value in seconds.items()
        if not str(phase).startswith(_OF_WORKERS)
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < math.inf
    }
