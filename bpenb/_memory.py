"""Resident memory of this process, on every system, and the limit that a user may set."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path

from bpenb.errors import TrainingError

__all__ = [
    "LEAST_MEMORY",
    "format_memory",
    "parse_amount",
    "parse_memory",
    "peak_rss_bytes",
    "release_free_memory",
    "rss_bytes",
]

LEAST_MEMORY = 256_000_000  # Python, NumPy, Numba and the kernels take about 150 MB of it
_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h: larger blocks are pages of their own
_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", 1):
    _UNITS |= {_letter: 1000**_power, f"{_letter}B": 1000**_power, f"{_letter}IB": 1024**_power}


def parse_memory(max_memory: int | str | None) -> int | None:
    """Return a limit of memory in bytes; None stands for none.

    Args:
        max_memory: bytes, or a number with a unit: `512MB`, `1.5 GB` (powers of 1000), `2GiB`
            (powers of 1024).

    Raises:
        TrainingError: no such amount, or one below 256 MB.
        TypeError: neither an int nor a str.

    Example:
        >>> parse_memory("512MB"), parse_memory("2 GiB")
        (512000000, 2147483648)
    """
    if max_memory is None:
        return None
    n_bytes = parse_amount("max_memory", max_memory)
    if n_bytes < LEAST_MEMORY:
        raise TrainingError(
            f"max_memory is {max_memory!r}; it must be at least {format_memory(LEAST_MEMORY)}, "
            "since Python and the compiled kernels take about 150 MB of it; or leave it out"
        )
    return n_bytes


def parse_amount(name: str, amount: int | str) -> int:
    """Return an amount in bytes, written as in `parse_memory`; `name` is for messages.

    Example:
        >>> parse_amount("max_bytes_per_source", "1.5MB")
        1500000
    """
    if isinstance(amount, bool) or not isinstance(amount, int | str):
        raise TypeError(f"{name} must be an int, a str or None, not {type(amount).__name__}")
    if isinstance(amount, int):
        return amount
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", amount)
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise TrainingError(
            f"{name} is {amount!r}; it must be a number of bytes, or such as '512MB', '2GB' or '2GiB'"
        )
    return int(float(match[1]) * unit) if "." in match[1] else int(match[1]) * unit


def format_memory(n_bytes: int) -> str:
    """Return an amount of memory in whole MB.

    Example:
        >>> format_memory(1_234_567_890)
        '1,235 MB'
    """
    return f"{round(n_bytes / 1e6):,} MB"


def rss_bytes() -> int:
    """Return the resident memory of this process now, in bytes (its peak where nobody tells)."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return peak_rss_bytes()


def release_free_memory() -> None:
    """Give back to the system what is freed, now and from now on, where the C library keeps it (glibc).

    By itself glibc keeps up to 64 MB of freed blocks for each thread that frees some.
    """
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(AttributeError, OSError):  # another C library
            library = ctypes.CDLL(None)
            library.mallopt(_M_MMAP_THRESHOLD, 1 << 20)
            library.malloc_trim(0)


def peak_rss_bytes() -> int:
    """Return the highest resident memory of this process so far, in bytes (0 where nobody tells)."""
    with contextlib.suppress(OSError):  # Linux: `ru_maxrss` of a child can be its parent's
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return _windows_peak()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024


def _windows_peak() -> int:
    import ctypes

    class Counters(ctypes.Structure):
        _fields_ = [("cb", ctypes.c_uint32), ("faults", ctypes.c_uint32)] + [
            (name, ctypes.c_size_t)
            for name in ("peak", "size", "pp", "p", "np", "n", "pagefile", "peak_pagefile")
        ]

    windll = getattr(ctypes, "windll", None)
    if windll is None:
        return 0
    counters = Counters(cb=ctypes.sizeof(Counters))
    handle = ctypes.c_void_p(-1)  # the current process
    if not windll.kernel32.K32GetProcessMemoryInfo(handle, ctypes.byref(counters), counters.cb):
        return 0
    return int(counters.peak)
