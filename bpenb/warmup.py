"""Compiling everything once, before it is needed: in an image, or before the clock is read.

Each room with kernels has `kernels_compiled` and `warmup` at its door.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from bpenb.errors import BpenbError

__all__ = ["ROOMS", "compile_seconds", "is_warm", "warmup"]

# Seconds to compile a room's kernels, measured with an empty cache on a 2-core machine: what a
# first run says it will take.
ROOMS: dict[str, float] = {"counting": 2, "training": 5, "encoding": 4}


def _door(room: str) -> Any:
    if room not in ROOMS:
        raise BpenbError(f"no room {room!r} has kernels; there are: {', '.join(ROOMS)}")
    return import_module(f"bpenb.{room}")


def compile_seconds(room: str) -> float:
    """Return about how many seconds the kernels of a room take to compile."""
    _door(room)
    return ROOMS[room]


def is_warm(room: str) -> bool:
    """Tell whether the kernels of a room are on disk, so that nothing is compiled at first use.

    Args:
        room: one of `ROOMS`.

    Example:
        >>> is_warm("training") in (True, False)
        True
    """
    return bool(_door(room).kernels_compiled())


def warmup() -> dict[str, float]:
    """Compile every kernel, or load it from disk.

    Returns:
        Seconds that each room took.

    Example:
        >>> sorted(warmup()) == sorted(ROOMS)
        True
    """
    seconds: dict[str, float] = {}
    for room in ROOMS:
        started = time.perf_counter()
        _door(room).warmup()
        seconds[room] = time.perf_counter() - started
    return seconds
