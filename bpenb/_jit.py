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
    BPENB_VECTORS=0        look bytes up, where comparing many at once is slow (default: by processor)
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

import llvmlite
import numba
import numpy as np
from numba import prange
from numba.core import event

__all__ = ["HAS_VECTOR_MASKS", "JIT_DISABLED", "ParallelKernel", "cache_folder", "compiling_alone",
           "first_compile", "helper", "is_compiled", "kernel", "numbers_may_wrap",
           "parallel_entry_is_cheap", "parallel_kernel", "prange", "thread_count"]  # fmt: skip

Kernel: TypeAlias = Callable[..., Any]  # kernels carry no annotations: Numba would not read them

_CONFIG: Any = numba.config
JIT_DISABLED = bool(_CONFIG.DISABLE_JIT)  # NUMBA_DISABLE_JIT=1: kernels are plain Python

# Where LLVM turns a vector of answers into a bit mask in a few instructions; BPENB_VECTORS=0 or 1 decides.
_VECTOR_MACHINES = ("x86_64", "amd64", "i386", "i686", "aarch64", "arm64")
_by_machine = "1" if platform.machine().lower() in _VECTOR_MACHINES else "0"
HAS_VECTOR_MASKS = os.environ.get("BPENB_VECTORS", _by_machine) != "0"

_PACKAGE = Path(__file__).parent
_DECORATED = re.compile(rb"^@(?:kernel|helper|parallel_kernel|intrinsic)\b", re.MULTILINE)
_IMPORTED = re.compile(rb"^\s*from bpenb\.([\w.]+) import", re.MULTILINE)
# `_nrt=False`: a helper that takes arrays would else count references in the hot loop (10 x slower).
# `no_cfunc_wrapper`: nobody takes a pointer to a kernel, and each wrapper takes time to compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_FLAGS = ("BOUNDSCHECK", "OPT", "CPU_NAME", "CPU_FEATURES", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE",
          "SLP_VECTORIZE", "DISABLE_INTEL_SVML")  # fmt: skip


# --- where compiled kernels are kept ------------------------------------------------------------


def _kernel_sources() -> dict[str, bytes]:
    """Return every file that decides what a kernel compiles to, by its place in the package.

    Those are the files that hold kernels and, in turn, what they import from us: constants and
    NamedTuples are compiled in. (tests/test_architecture.py holds kernel files to such imports
    and decorators as are found here.)
    """
    files = {path.relative_to(_PACKAGE).as_posix(): path.read_bytes() for path in _PACKAGE.rglob("*.py")}
    todo = [name for name, source in files.items() if _DECORATED.search(source)]
    found: dict[str, bytes] = {}
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = files[name]
            modules = [module.decode().replace(".", "/") for module in _IMPORTED.findall(files[name])]
            todo += [f for module in modules for f in (f"{module}.py", f"{module}/__init__.py") if f in files]
    return dict(sorted(found.items()))


def _fingerprint() -> str:
    """Hash everything that decides what a kernel compiles to."""
    digest = hashlib.sha256()
    flags = [(name, getattr(_CONFIG, name)) for name in _FLAGS] + [("VECTORS", HAS_VECTOR_MASKS)]
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version_info[:3])
    digest.update(repr((versions, flags)).encode())
    for name, source in _kernel_sources().items():
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
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


_DECORATING = threading.Lock()  # two threads may import two rooms at once


@contextmanager
def _numba_cache_dir(folder: Path) -> Iterator[None]:
    """Point Numba at `folder` while one of our kernels is decorated: other people's stay where they were."""
    ours = {"CACHE_DIR": str(folder), "CACHE_LOCATOR_CLASSES": ""}
    with _DECORATING:
        before = {name: getattr(_CONFIG, name) for name in ours if hasattr(_CONFIG, name)}
        for name in before:
            setattr(_CONFIG, name, ours[name])
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(_CONFIG, name, value)


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


def compiling_alone() -> AbstractContextManager[Any]:
    """Return a lock for who compiles: one process of a machine at a time, the others find it on disk."""
    folder = cache_folder()
    return _NO_CONTEXT if folder is None else _locked(folder / ".compiling")


def _guard_cache(dispatcher: Any, folder: Path) -> None:
    """Let one process at a time add to the cache, and take damaged files for missing ones.

    Without a lock, two processes that compile two signatures of one kernel can cross-link them.
    """
    cache = dispatcher._cache
    load, save = cache.load_overload, cache.save_overload

    def load_overload(signature: Any, target_context: Any) -> Any:
        try:
            return load(signature, target_context)
        except Exception:  # cut short by a full disk or a power cut: any error of pickle's
            with suppress(OSError), _locked(folder / ".lock"):
                cache.flush()
            return None

    def save_overload(signature: Any, data: Any) -> None:
        try:
            with _locked(folder / ".lock"):
                save(signature, data)
        except OSError as error:  # a full disk is no reason to fail: the kernel is compiled
            warnings.warn(f"a compiled kernel was not kept: {error}", RuntimeWarning, stacklevel=2)

    cache.load_overload, cache.save_overload = load_overload, save_overload


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    folder = cache_folder()
    if folder is None:
        return numba.njit(**_OPTIONS, **options)(function)
    with _numba_cache_dir(folder):
        dispatcher = numba.njit(cache=True, **_OPTIONS, **options)(function)
    _guard_cache(dispatcher, folder)
    return dispatcher


_NO_CONTEXT = nullcontext()


def numbers_may_wrap() -> AbstractContextManager[Any]:
    """Return a context for calls of kernels whose hashes and carries wrap: only plain Python says so."""
    return np.errstate(over="ignore") if JIT_DISABLED else _NO_CONTEXT


# --- the decorators -------------------------------------------------------------------------------


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile `function` at its first call: arrays and scalars in, a count, a status or nothing out."""
    compiled: Kernel = _compile(function)
    return compiled


def helper(function: Callable[..., Any]) -> Kernel:
    """Compile a small function into each kernel that calls it; Python cannot call it.

    (Without JIT it is plain Python. What Python would call takes a third of the time to compile.)
    """
    options: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True, **_OPTIONS}
    inlined: Any = numba.njit(**options)(function)
    if not JIT_DISABLED:

        def refuse(*args: Any, **kwargs: Any) -> None:
            raise TypeError(f"{function.__name__} is compiled into kernels; Python cannot call it")

        def keep(compiled: Any) -> None:  # as Numba does, but there is nothing for its dispatcher to call
            inlined.overloads[tuple(compiled.signature.args)] = compiled

        inlined._compile_for_args, inlined.add_overload = refuse, keep
    return inlined  # type: ignore[no-any-return]


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
        if JIT_DISABLED or not _parallel_is_safe or numba.get_num_threads() == 1:
            return self.serial(*args)
        if not _PARALLEL_ENTRY.acquire(blocking=False):
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
    numba.set_num_threads(max(1, min(workers, _CONFIG.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def parallel_entry_is_cheap() -> bool:
    """Tell whether a parallel kernel may be entered thousands of times (µs, not 0.1 ms, each)."""
    if JIT_DISABLED or not _parallel_is_safe:
        return False
    try:
        return str(numba.threading_layer()) != "workqueue"  # type: ignore[attr-defined]
    except ValueError:  # no parallel kernel has run yet
        return True


def is_compiled(*kernels: Any) -> bool:
    """Tell whether these kernels are on disk already, so that a first call does not compile."""
    if JIT_DISABLED:
        return True
    forms: list[Any] = [k.parallel if isinstance(k, ParallelKernel) else k for k in kernels]
    return all(form.signatures or _is_on_disk(form) for form in forms)


def _is_on_disk(dispatcher: Any) -> bool:
    return cache_folder() is not None and Path(dispatcher._cache._cache_file._index_path).exists()


class _FirstCompile(event.Listener):
    """Calls `callback` once, when Numba begins to compile a function of this package."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def on_start(self, event: Any) -> None:
        callback = self._callback
        if callback is not None and event.data["dispatcher"].py_func.__module__.startswith("bpenb."):
            self._callback = None
            callback()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def first_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` if and when a kernel is compiled in the block, not merely loaded from disk."""
    with event.install_listener("numba:compile", _FirstCompile(callback)):
        yield
