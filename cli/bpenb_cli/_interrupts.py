"""Ctrl-C and SIGTERM: both raise KeyboardInterrupt, and both are remembered.

Remembered, because it may be raised where it is lost: in a destructor, in a callback from C, under
another package's bare `except`. Whoever reports progress asks again.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

__all__ = ["catch_interrupts", "raise_if_interrupted", "was_interrupted"]

_interrupted = False


def _interrupt(signum: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def _show_unraisable(unraisable: Any) -> None:
    """Say nothing of destructors that we broke off ourselves."""
    if not _interrupted:
        sys.__unraisablehook__(unraisable)


def catch_interrupts() -> None:
    """Take both signals from now on; batch systems send SIGTERM. One that is ignored stays so (nohup)."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _show_unraisable


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt again if one was lost."""
    if _interrupted:
        raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Tell whether a signal has come."""
    return _interrupted
