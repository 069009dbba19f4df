"""Compiling everything once, before it is needed: in an image, or before the clock is read.

Each room with kernels has `kernels_compiled` and `warmup` at its door.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from bpenb.errors import BpenbError

__all__ = ["ROOMS", "is_warm", "noticed_compiling", "warmup"]

# Seconds to compile what a run with one split pattern needs of each room (empty cache, 2 cores):
# what a first run says it may take.
ROOMS: dict[str, float] = {"counting": 7, "training": 7, "encoding": 5, "preparing": 1}


def _door(room: str) -> Any:
    if room not in ROOMS:
        raise BpenbError(f"no room {room!r} has kernels; there are: {', '.join(ROOMS)}")
    return import_module(f"bpenb.{room}")


@contextmanager
def noticed_compiling(notice: Callable[[float], None], *rooms: str) -> Iterator[None]:
    """Call `notice` once if the block compiles a kernel, at the moment when that begins.

    Args:
        notice: takes the seconds that compiling may take at most, on a machine of 2 processors.
        *rooms: of `ROOMS`, those that the block uses.

    Example:
        >>> with noticed_compiling(print, "counting", "training"):
        ...     pass
    """
    from bpenb._jit import first_compile

    seconds = sum(ROOMS[room] for room in rooms)
    with first_compile(lambda: notice(seconds)):
        yield


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
