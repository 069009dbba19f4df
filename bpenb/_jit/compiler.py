"""Numba: what compiles kernels. Imported when something is to be compiled, not before.

Each kernel is compiled with an entry that Python calls (`entry_code`), and kept twice: as Numba keeps it,
for compiled code that calls it, and as an object that can be linked without Numba (`entries`).
"""

from __future__ import annotations

import functools
import types as python_types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numba
from numba import prange
from numba.core import event
from numba.core.registry import cpu_target

from bpenb._jit.entries import Entry, EntryCode, entry_path, read, write
from bpenb._jit.entry_code import CompilerWithEntry, spell_types, symbol_of
from bpenb._jit.store import COMPILING, FLAGS, cache_folder, locked

__all__ = ["at_most", "dispatcher_with_entry", "entry_of", "inlined", "is_ready", "n_threads",
           "plain_dispatcher", "prange", "threads_start_quickly", "type_of"]  # fmt: skip

# mypy: disable-error-code="no-untyped-call,attr-defined"

_CONFIG: Any = numba.config
# `_nrt=False`: a helper that takes arrays would else count references in the hot loop (10 x slower).
# `no_cfunc_wrapper`: nobody takes a pointer to a kernel, and each wrapper takes time to compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_NO_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True, **_OPTIONS}
_FROM_C = ("memset", "memcpy", "memmove")  # what LLVM finds in any process


# --- dispatchers ----------------------------------------------------------------------------------


class _Listener(event.Listener):
    def on_start(self, event: Any) -> None:
        if COMPILING and event.data["dispatcher"].py_func.__module__.startswith("bpenb."):
            callbacks = COMPILING[:]
            COMPILING.clear()
            for callback in callbacks:
                callback()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Listener())
_DECORATING = Lock()  # two threads may ask for two kernels at once


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


@functools.cache
def _folder() -> Path | None:
    """Return where to keep what is compiled; None if Numba was told something else than its environment says.

    The folder is named by the environment. The first who compiles for it notes what Numba made of that.
    """
    folder = cache_folder()
    if folder is None:
        return None
    now = EntryCode("flags", repr([(name, str(getattr(_CONFIG, name, None))) for name in FLAGS]).encode())
    try:
        with locked(folder / ".lock"):
            noted = read(folder / "flags")
            if noted is None:  # or damaged
                write(folder / "flags", now)
            return folder if noted in (None, now) else None
    except OSError as error:  # it was there when the process began
        warnings.warn(f"a compiled kernel was not kept: {error}", RuntimeWarning, stacklevel=2)
        return None


def _decorated(function: Callable[..., Any], **options: Any) -> Any:
    folder = _folder()
    if folder is None:
        return numba.njit(**_OPTIONS, **options)(function)
    with _numba_cache_dir(folder):
        dispatcher = numba.njit(cache=True, **_OPTIONS, **options)(function)
    _guard_cache(dispatcher, folder, has_entry="pipeline_class" in options)
    return dispatcher


def dispatcher_with_entry(function: Callable[..., Any]) -> Any:
    """Return what compiles a kernel, with an entry: Python does not call it."""
    dispatcher = _decorated(function, no_cpython_wrapper=True, pipeline_class=CompilerWithEntry)
    dispatcher.add_overload = lambda compiled: _keep_overload(dispatcher, compiled)
    return dispatcher


def plain_dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    """Return a kernel as Numba calls it: with its own wrapper and checks."""
    return _decorated(function, **options)


def inlined(function: Callable[..., Any]) -> Any:
    """Return what compiles a helper into its callers."""
    dispatcher: Any = numba.njit(forceinline=True, **_NO_WRAPPER)(function)
    dispatcher.add_overload = lambda compiled: _keep_overload(dispatcher, compiled)
    return dispatcher


def _keep_overload(dispatcher: Any, compiled: Any) -> None:
    """Do what Numba does, but for its own wrapper: there is none that it could call."""
    dispatcher.overloads[tuple(compiled.signature.args)] = compiled


def _guard_cache(dispatcher: Any, folder: Path, has_entry: bool) -> None:
    """Let one process at a time add to the cache, and take damaged files for missing ones.

    Without a lock, two processes that compile two signatures of one kernel can cross-link them.
    """
    cache = dispatcher._cache
    load, save = cache.load_overload, cache.save_overload

    def load_overload(signature: Any, target_context: Any) -> Any:
        path = _path_of(dispatcher, signature) if has_entry else None
        if path is not None and read(path) is None:
            return None  # it is compiled again: from what Numba kept, no entry can be made
        try:
            return load(signature, target_context)
        except Exception:  # cut short by a full disk or a power cut: any error of pickle's
            with suppress(OSError), locked(folder / ".lock"):
                cache.flush()
            return None

    def save_overload(signature: Any, compiled: Any) -> None:
        path = _path_of(dispatcher, signature) if has_entry else None
        try:
            with locked(folder / ".lock"):
                save(signature, compiled)
                if path is not None:
                    write(path, _code_of(compiled))
        except OSError as error:  # a full disk is no reason to fail: the kernel is compiled
            warnings.warn(f"a compiled kernel was not kept: {error}", RuntimeWarning, stacklevel=2)

    cache.load_overload, cache.save_overload = load_overload, save_overload


def _path_of(dispatcher: Any, signature: Any) -> Path | None:
    spelled = spell_types(signature)
    function: python_types.FunctionType = dispatcher.py_func
    return None if spelled is None else entry_path(f"{function.__module__}.{function.__qualname__}", spelled)


def _code_of(compiled: Any) -> EntryCode:
    """Return the entry of what was compiled just now; without code if it needs functions of Numba's."""
    library, symbol = compiled.library, symbol_of(compiled.fndesc)
    names = {function.name for function in library._final_module.functions}
    foreign = {function.name for function in library._final_module.functions if function.is_declaration}
    in_any_process = {name for name in foreign if name.startswith(("llvm.", "Py")) or name in _FROM_C}
    is_kept = symbol in names and foreign == in_any_process
    return EntryCode(symbol, library.serialize_using_object_code()[2][0] if is_kept else b"")


def entry_of(dispatcher: Any, arguments: tuple[Any, ...]) -> Entry:
    """Compile a kernel for what Python passes.

    Raises:
        TypeError: Python cannot call it with these arguments, or cannot take what it returns.
    """
    signature = tuple(map(numba.typeof, arguments))
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    symbol = symbol_of(compiled.fndesc)
    address = compiled.library.get_pointer_to_function(symbol)
    if not address:
        raise TypeError(f"{compiled.fndesc.qualname}{signature} can be called from compiled code only")
    return Entry(address, symbol, arguments, compiled)


def type_of(intrinsic: Any) -> Any:
    """Return the Numba type of an intrinsic, which knows it by its registry alone."""
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(intrinsic)


# --- threads --------------------------------------------------------------------------------------


def n_threads() -> int:
    """Return how many threads a parallel kernel may use in this thread."""
    return int(numba.get_num_threads())


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Let parallel kernels use at most so many threads; 0 changes nothing."""
    before = n_threads()
    if threads:
        numba.set_num_threads(min(threads, before))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def threads_start_quickly() -> bool:
    """Tell whether entering a parallel kernel takes microseconds, as far as is known."""
    try:
        return str(numba.threading_layer()) != "workqueue"
    except ValueError:  # no parallel kernel has run yet
        return True


def is_ready(dispatcher: Any) -> bool:
    """Tell whether what Numba calls is compiled, here or on disk."""
    if dispatcher.signatures:
        return True
    return _folder() is not None and Path(dispatcher._cache._cache_file._index_path).exists()
