"""Peak resident memory of this process, on every system."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

__all__ = ["peak_rss_bytes"]


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
