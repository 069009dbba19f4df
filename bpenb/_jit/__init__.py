"""The one policy for compiled code; Numba is imported when something has to be compiled, and only then.

    kernel            a compiled function: no GIL, no reference counts, numpy's error model, cached
    helper            a small function that is compiled into every kernel that calls it
    parallel_kernel   one body, two compiled forms: with `prange` and its serial twin

    store      where compiled kernels are kept
    arguments  what Python passes to a kernel
    entries    calling machine code that was kept
    entry_code what an entry does, for LLVM; compiled with the kernel
    compiler   Numba

A kernel that was compiled before is called from Python without Numba; called from compiled code, yours or
ours, it is an ordinary Numba function (docs/decisions/0026-entries.md). With NUMBA_BOUNDSCHECK=1, and where
objects do not lie in memory as CPython and numpy have them, Numba makes the calls too.

    BPENB_CACHE_DIR=PATH   where the folders are (default: the user's cache folder)
    BPENB_CACHE=0          keep nothing on disk
    BPENB_VECTORS=0        look bytes up, where comparing many at once is slow (default: by processor)
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from bpenb._jit.arguments import plain, spell_arguments
from bpenb._jit.entries import Entry, entry_path, link, objects_are_as_known, read
from bpenb._jit.store import (
    BOUNDS_CHECKED,
    COMPILING,
    HAS_VECTOR_MASKS,
    JIT_DISABLED,
    cache_folder,
    compiling_alone,
)

__all__ = ["HAS_VECTOR_MASKS", "JIT_DISABLED", "CompiledKernel", "ParallelKernel", "cache_folder",
           "compiling_alone", "first_compile", "helper", "intrinsic_of", "is_compiled", "kernel",
           "numbers_may_wrap", "parallel_entry_is_cheap", "parallel_kernel", "prange",
           "thread_count"]  # fmt: skip

Kernel: TypeAlias = Callable[..., Any]  # kernels carry no annotations: Numba would not read them
prange = range  # the parallel form of a kernel is compiled with Numba's

_NO_CONTEXT = nullcontext()
_NUMBA_CALLS = BOUNDS_CHECKED or not objects_are_as_known()


def _compiler() -> Any:
    return import_module("bpenb._jit.compiler")


def numbers_may_wrap() -> AbstractContextManager[Any]:
    """Return a context for calls of kernels whose hashes and carries wrap: only plain Python says so."""
    return np.errstate(over="ignore") if JIT_DISABLED else _NO_CONTEXT


# --- what Numba sees ------------------------------------------------------------------------------


class _Compilable:
    """A function that Numba takes for its own kind in compiled code, made when it first looks."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        self.py_func = function

    def _make(self) -> Any:
        raise NotImplementedError

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What compiles it."""
        return self._make()

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # found again by name, as functions are


class _Helper(_Compilable):
    def _make(self) -> Any:
        return _compiler().inlined(self.py_func)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{self.py_func.__name__} is compiled into kernels; Python cannot call it")


class _Intrinsic:
    """Stands for a name of a module that needs Numba."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    @property
    def _numba_type_(self) -> Any:
        return _compiler().type_of(getattr(import_module(self._module), self._name))


def _not_yet(*args: Any) -> Any:
    return NotImplemented


class CompiledKernel(_Compilable):
    """A kernel: called from Python by its entry, from compiled code as a Numba function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.place = f"{function.__module__}.{function.__qualname__}"
        self.entries: dict[str | None, Entry] = {}  # by signature
        self._latest: Callable[..., Any] = _not_yet
        self._linking = threading.Lock()

    def _make(self) -> Any:
        return _compiler().dispatcher_with_entry(self.py_func)

    def __call__(self, *args: Any) -> Any:
        """Call it; link it from disk first, or compile it, if need be."""
        result = self._latest(*args)
        return self._call_another(tuple(map(plain, args))) if result is NotImplemented else result

    def _call_another(self, args: tuple[Any, ...]) -> Any:
        signature = spell_arguments(args)
        with self._linking:
            entry = self.entries.get(signature) or self._from_disk(signature, args)
            self.entries[signature] = entry = entry or _compiler().entry_of(self.dispatcher, args)
        self._latest = entry.call
        result = entry.call(*args)
        if result is NotImplemented:
            raise OverflowError(f"{self.place} takes numbers within int64; one of its arguments is beyond")
        return result

    def _from_disk(self, signature: str | None, args: tuple[Any, ...]) -> Entry | None:
        path = None if signature is None else entry_path(self.place, signature)
        kept = None if path is None else read(path)
        return link(kept, args) if kept is not None and kept.code else None

    def is_ready(self) -> bool:
        """Tell whether it is compiled, here or on disk."""
        path = entry_path(self.place, "")
        return bool(self.entries) or (path is not None and any(path.parent.glob(f"{self.place}-*")))


# --- the decorators -------------------------------------------------------------------------------


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile `function` at its first call: arrays and scalars in, a count, a status or nothing out."""
    if JIT_DISABLED:
        return function
    return _compiler().plain_dispatcher(function) if _NUMBA_CALLS else CompiledKernel(function)


def helper(function: Callable[..., Any]) -> Kernel:
    """Compile a small function into each kernel that calls it; Python cannot call it.

    (Without JIT it is plain Python. What Python would call takes a third of the time to compile.)
    """
    return function if JIT_DISABLED else _Helper(function)


def intrinsic_of(module: str, name: str) -> Any:
    """Return what stands for one of Numba's intrinsics until something is compiled."""
    return _Intrinsic(module, name)


_PARALLEL_ENTRY = threading.Lock()
_parallel_is_safe = True
_threads = threading.local()


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
        functools.update_wrapper(self, function)
        self._function = function
        self.serial = kernel(_renamed(function, "serial"))

    @functools.cached_property
    def parallel(self) -> Any:
        """The form with threads; it needs Numba to run."""
        if JIT_DISABLED:
            return self._function
        copy = _renamed(self._function, "parallel", {"prange": _compiler().prange})
        return _compiler().plain_dispatcher(copy, parallel=True)

    def __call__(self, *args: Any) -> Any:
        """Run the form that is safe here."""
        asked = getattr(_threads, "count", 0)  # 0: as many as Numba has
        if JIT_DISABLED or not _parallel_is_safe or asked == 1 or _compiler().n_threads() == 1:
            return self.serial(*args)
        if not _PARALLEL_ENTRY.acquire(blocking=False):
            return self.serial(*args)
        try:
            with _compiler().at_most(asked):
                return self.parallel(*args)
        finally:
            _PARALLEL_ENTRY.release()


def _renamed(
    function: Callable[..., Any], suffix: str, names: dict[str, Any] | None = None
) -> Callable[..., Any]:
    """Copy a function under another name, by which the cache knows it; `names` replace globals."""
    assert isinstance(function, types.FunctionType)
    seen = function.__globals__ | names if names else function.__globals__
    copy = types.FunctionType(function.__code__, seen, f"{function.__name__}_{suffix}")
    copy.__qualname__ = f"{function.__qualname__}_{suffix}"
    copy.__doc__, copy.__module__ = function.__doc__, function.__module__
    return copy


def parallel_kernel(function: Callable[..., Any]) -> ParallelKernel:
    """Compile a `prange` body in both forms; it writes into arrays and reduces nothing itself."""
    return ParallelKernel(function)


@contextmanager
def thread_count(workers: int) -> Iterator[None]:
    """Let parallel kernels of this thread use at most `workers` threads."""
    before = getattr(_threads, "count", 0)
    _threads.count = max(1, workers)
    try:
        yield
    finally:
        _threads.count = before


def parallel_entry_is_cheap() -> bool:
    """Tell whether a parallel kernel may be entered thousands of times (µs, not 0.1 ms, each)."""
    if JIT_DISABLED or not _parallel_is_safe:
        return False
    return "bpenb._jit.compiler" not in sys.modules or bool(_compiler().threads_start_quickly())


def is_compiled(*kernels: Any) -> bool:
    """Tell whether these kernels are on disk already, so that a first call does not compile."""
    if JIT_DISABLED:
        return True
    forms: list[Any] = [k.serial if isinstance(k, ParallelKernel) else k for k in kernels]
    return all(f.is_ready() if isinstance(f, CompiledKernel) else _compiler().is_ready(f) for f in forms)


@contextmanager
def first_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` if and when a kernel is compiled in the block, not merely loaded from disk."""
    COMPILING.append(callback)
    try:
        yield
    finally:
        if callback in COMPILING:
            COMPILING.remove(callback)
