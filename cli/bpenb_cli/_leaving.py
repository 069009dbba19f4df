"""How a command ends: its output is out, and the process is gone at once."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn

__all__ = ["leave"]


def leave(code: int) -> NoReturn:
    """End the process: what asked to be called at exit is, but nothing is taken apart.

    For Numba and LLVM that takes a fifth of a second, and the system takes all memory back anyway.
    """
    try:
        sys.stdout.flush()
    except OSError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 1
    atexit._run_exitfuncs()
    sys.stderr.flush()
    os._exit(code)
