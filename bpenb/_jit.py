"""The only import of Numba's decorators, and the one policy for compiled code.

    kernel            a compiled function: no GIL, no reference counts, numpy's error model, cached
    helper            a small function that is compiled into every kernel that calls it
    parallel_kernel   one body, two compiled forms: with `prange` and its serial twin

Why not `cache=True` and be done: Numba's cache does not see an edit in a callee's file, nor a
changed flag, and has no lock (docs/decisions/0001-compile-cache.md). So compiled kernels live in
a folder named by a hash of all kernel sources, the versions and the flags; if any of these
changes, it is another folder.

    BPENB_CACHE_DIR=PATH   where the folders are (default: the user's cache folder)
    BPENB_CACHE=0          keep nothing on disk
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba import prange

__all__ = ["JIT_DISABLED", "ParallelKernel", "cache_folder", "helper", "is_compiled", "kernel",
           "parallel_kernel", "prange"]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])

JIT_DISABLED = bool(numba.config.DISABLE_JIT)  # NUMBA_DISABLE_JIT=1: kernels are plain Python

_PACKAGE = Path(__file__).parent
# `_nrt=False`: a helper that takes arrays would else count references in the hot loop (10 x slower).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_FLAGS = ("BOUNDSCHECK", "OPT", "CPU_NAME", "CPU_FEATURES", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE",
          "SLP_VECTORIZE", "DISABLE_INTEL_SVML")  # fmt: skip


# --- where compiled kernels are kept ------------------------------------------------------------


def _kernel_sources() -> list[Path]:
    """All files that hold kernels or what kernels take from: those that import this one, and two more."""
    files = sorted(_PACKAGE.rglob("*.py"))
    return [f for f in files if f.name in ("_jit.py", "_arrays.py") or b"from bpenb._jit import" in f.read_bytes()]


def _fingerprint() -> str:
    """Hash everything that decides what a kernel compiles to."""
    digest = hashlib.sha256()
    flags = [(name, getattr(numba.config, name, None)) for name in _FLAGS]
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version_info[:3])
    digest.update(repr((versions, flags)).encode())
    for path in _kernel_sources():
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache_root() -> Path:
    """The user's cache folder on this system."""
    if "BPENB_CACHE_DIR" in os.environ:
        return Path(os.environ["BPENB_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "bpenb" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "bpenb"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bpenb"


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels, made if need be; None if nothing is to be kept."""
    if JIT_DISABLED or os.environ.get("BPENB_CACHE") == "0":
        return None
    try:
        folder = _user_cache_root() / f"kernels-{_fingerprint()}"
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError) as error:  # RuntimeError: no home
        warnings.warn(
            f"compiled kernels cannot be kept ({error}): every start compiles them again; "
            "set BPENB_CACHE_DIR to a folder that can be written, or BPENB_CACHE=0 to accept it",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return folder


@contextmanager
def _numba_cache_dir(folder: Path) -> Iterator[None]:
    """Point Numba at `folder` while one of our kernels is decorated: other people's stay where they were."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock between processes (advisory, freed by the system when a process dies)."""
    with path.open("ab") as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _save_under_lock(dispatcher: Any, folder: Path) -> None:
    """Let one process at a time add to the cache: Numba's own index can cross-link two signatures."""
    cache = dispatcher._cache
    save = cache.save_overload

    def save_overload(signature: Any, data: Any) -> None:
        try:
            with _locked(folder / ".lock"):
                save(signature, data)
        except OSError as error:  # a full disk is no reason to fail: the kernel is compiled
            warnings.warn(f"a compiled kernel was not kept: {error}", RuntimeWarning, stacklevel=2)

    cache.save_overload = save_overload


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    folder = cache_folder()
    if folder is None:
        return numba.njit(**_OPTIONS, **options)(function)
    with _numba_cache_dir(folder):
        dispatcher = numba.njit(cache=True, **_OPTIONS, **options)(function)
    _save_under_lock(dispatcher, folder)
    return dispatcher


# --- the decorators -------------------------------------------------------------------------------


def kernel(function: F) -> F:
    """Compile `function` at its first call: arrays and scalars in, a count, a status or nothing out."""
    compiled: F = _compile(function)
    return compiled


def helper(function: F) -> F:
    """Compile a small function into each kernel that calls it."""
    inlined: F = numba.njit(forceinline=True, **_OPTIONS)(function)
    return inlined


_PARALLEL_ENTRY = threading.Lock()
_parallel_is_safe = True


def _forget_threads() -> None:
    global _parallel_is_safe, _PARALLEL_ENTRY
    _parallel_is_safe = False  # GNU OpenMP kills a forked child that enters a parallel region
    _PARALLEL_ENTRY = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


class ParallelKernel:
    """A `prange` body compiled twice: `parallel`, and `serial`, its twin.

    Calling it takes the parallel form only where that is safe: one thread at a time (the
    workqueue layer aborts the process when two enter), never in a forked child, never with
    one thread. Everywhere else the twin runs, with the same result.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.serial = _compile(_renamed(function, "serial"))
        self.parallel = _compile(_renamed(function, "parallel"), parallel=True)

    def __call__(self, *args: Any) -> Any:
        """Run the form that is safe here."""
        if not _parallel_is_safe or numba.get_num_threads() == 1 or not _PARALLEL_ENTRY.acquire(blocking=False):
            return self.serial(*args)
        try:
            return self.parallel(*args)
        finally:
            _PARALLEL_ENTRY.release()


def _renamed(function: Callable[..., Any], suffix: str) -> Callable[..., Any]:
    """Copy a function under another name: Numba's cache knows a function by name and line only."""
    assert isinstance(function, types.FunctionType)
    copy = types.FunctionType(function.__code__, function.__globals__, f"{function.__name__}_{suffix}")
    copy.__qualname__ = f"{function.__qualname__}_{suffix}"
    copy.__doc__, copy.__module__ = function.__doc__, function.__module__
    return copy


def parallel_kernel(function: Callable[..., Any]) -> ParallelKernel:
    """Compile a `prange` body in both forms; it writes into arrays and reduces nothing itself."""
    return ParallelKernel(function)


@contextmanager
def thread_count(workers: int) -> Iterator[None]:
    """Let parallel kernels of this thread use at most `workers` threads."""
    if JIT_DISABLED:
        yield
        return
    before = numba.get_num_threads()
    numba.set_num_threads(max(1, min(workers, numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def parallel_entry_is_cheap() -> bool:
    """Tell whether a parallel kernel may be entered thousands of times (µs, not 0.1 ms, each)."""
    if JIT_DISABLED or not _parallel_is_safe:
        return False
    try:
        return str(numba.threading_layer()) != "workqueue"
    except ValueError:  # no parallel kernel has run yet
        return True


def is_compiled(*kernels: Any) -> bool:
    """Tell whether these kernels are on disk already, so that a first call does not compile."""
    if JIT_DISABLED:
        return True
    flat = [k.parallel if isinstance(k, ParallelKernel) else k for k in kernels]
    return all(
        d.signatures or (cache_folder() is not None and Path(d._cache._cache_file._index_path).exists()) for d in flat
    )
