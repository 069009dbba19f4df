"""Numba: what compiles kernels. Imported when something is to be compiled, not before.

Each kernel is compiled with an entry that Python calls (`entries`) in place of Numba's own wrapper,
which takes a third of the time to compile, and Numba to be called.
"""

from __future__ import annotations

import types as python_types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numba
from llvmlite import ir
from numba import prange
from numba.core import event, lowering, typed_passes, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import cpu_target
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype

from bpenb._jit.arguments import ALIGNED, C_ORDER, F_ORDER, WRITEABLE, slot_format, spell_array
from bpenb._jit.entries import (
    CLASS_WORD,
    DIFFERENT,
    TUPLE_ITEMS,
    ArrayWords,
    EntryCode,
    entry_path,
    read,
    write,
)
from bpenb._jit.store import COMPILING, cache_folder, locked

__all__ = ["at_most", "dispatcher_with_entry", "entry_of", "inlined", "is_ready", "n_threads",
           "plain_dispatcher", "prange", "threads_start_quickly", "type_of"]  # fmt: skip

# mypy: disable-error-code="no-untyped-call,attr-defined"

_CONFIG: Any = numba.config
# `_nrt=False`: a helper that takes arrays would else count references in the hot loop (10 x slower).
# `no_cfunc_wrapper`: nobody takes a pointer to a kernel, and each wrapper takes time to compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_NO_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True, **_OPTIONS}
_WORD = ir.IntType(64)
_HALF = ir.IntType(32)
_WORDS = _WORD.as_pointer()
_FROM_C = ("memset", "memcpy", "memmove")  # what LLVM finds in any process


# --- the entry of a kernel ------------------------------------------------------------------------


class _Reader:
    """Builds the code that reads arguments, and leaves with DIFFERENT where one is not as expected."""

    def __init__(self, context: Any, builder: Any, slots: Any, expected: Any) -> None:
        self._context, self._builder = context, builder
        self._slots, self._expected = slots, expected
        self._n_slots = self._n_expected = 0

    def _word(self, base: Any, place: int) -> Any:
        return self._builder.load(self._builder.gep(base, [ir.Constant(_WORD, place)]))

    def _half(self, base: Any, place: int) -> Any:
        return self._builder.trunc(self._word(base, place), _HALF)

    def _check(self, found: Any, wanted: Any) -> None:
        with self._builder.if_then(self._builder.icmp_unsigned("!=", found, wanted), likely=False):
            self._builder.ret(ir.Constant(_HALF, DIFFERENT))

    def _check_expected(self, found: Any) -> None:
        self._check(found, self._word(self._expected, self._n_expected))
        self._n_expected += 1

    def read(self, kind: Any) -> Any:
        """Read a value of a Numba type from the slots that are next."""
        if isinstance(kind, types.BaseTuple) and not _is_object(kind):
            members = [self.read(member) for member in kind.types]
            return self._context.make_tuple(self._builder, kind, members)
        slot = self._word(self._slots, self._n_slots)
        self._n_slots += 1
        if _is_object(kind):
            return self._read_object(kind, slot)
        value_type = self._context.get_value_type(kind)
        if isinstance(kind, types.Float):
            return self._builder.bitcast(slot, value_type)
        return slot if value_type == _WORD else self._builder.trunc(slot, value_type)

    def _read_object(self, kind: Any, address: Any) -> Any:
        base = self._builder.inttoptr(address, _WORDS)
        self._check_expected(self._word(base, CLASS_WORD))
        if isinstance(kind, types.Array):
            return self._read_array(kind, base)
        items = [self._word(base, TUPLE_ITEMS + k) for k in range(len(kind.types))]
        members = [self._read_object(*member) for member in zip(kind.types, items, strict=True)]
        return self._context.make_tuple(self._builder, kind, members)

    def _read_array(self, kind: Any, base: Any) -> Any:
        self._check_expected(self._word(base, ArrayWords.DTYPE))
        self._check(self._half(base, ArrayWords.RANK), ir.Constant(_HALF, kind.ndim))
        mask, flags = _flags_of(kind)
        found = self._builder.and_(self._half(base, ArrayWords.FLAGS), ir.Constant(_HALF, mask))
        self._check(found, ir.Constant(_HALF, flags))
        array = self._context.make_array(kind)(self._context, self._builder)
        item_bytes = self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype))
        arrayobj.populate_array(
            array,
            data=self._builder.inttoptr(self._word(base, ArrayWords.DATA), array.data.type),
            shape=self._sizes(base, ArrayWords.SHAPE, kind.ndim),
            strides=self._sizes(base, ArrayWords.STRIDES, kind.ndim),
            itemsize=ir.Constant(_WORD, item_bytes),
            meminfo=None,
            parent=None,
        )
        return array._getvalue()

    def _sizes(self, base: Any, place: int, n: int) -> list[Any]:
        sizes = self._builder.inttoptr(self._word(base, place), _WORDS)
        return [self._word(sizes, k) for k in range(n)]


def _is_object(kind: Any) -> bool:
    """Tell whether Python passes the address of an object, as `arguments.plan_of` does."""
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_object, kind.types))
    return isinstance(kind, types.Array)


def _flags_of(kind: Any) -> tuple[int, int]:
    """Return which flags of an array decide its type, and what they are."""
    order = {"C": C_ORDER, "F": F_ORDER, "A": 0}[kind.layout]
    mask = WRITEABLE | ALIGNED | (C_ORDER if kind.layout == "C" else C_ORDER | F_ORDER)
    return mask, order | WRITEABLE * kind.mutable | ALIGNED * kind.aligned


def _widened(builder: Any, value: Any, kind: Any) -> Any:
    if isinstance(kind, types.Float):
        return builder.bitcast(value, _WORD)
    if value.type == _WORD:
        return value
    return (builder.sext if getattr(kind, "signed", False) else builder.zext)(value, _WORD)


def _members(kind: Any) -> tuple[Any, ...]:
    return tuple(kind.types) if isinstance(kind, types.BaseTuple) else () if kind == types.none else (kind,)


def _symbol(fndesc: Any) -> str:
    return f"entry.{fndesc.llvm_func_name}"


class _LowerWithEntry(lowering.Lower):
    def lower(self) -> None:
        super().lower()
        context, fndesc = self.context, self.fndesc
        if _spell_all(fndesc.argtypes) is None or _results(fndesc.restype) is None:
            return
        module = context.create_module("entry")
        callee_type = context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes)
        callee = ir.Function(module, callee_type, fndesc.llvm_func_name)
        kind = ir.FunctionType(_HALF, [_WORDS, _WORDS, _WORDS])
        entry = ir.Function(module, kind, _symbol(fndesc))
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        slots, results, expected = entry.args
        reader = _Reader(context, builder, slots, expected)
        arguments = [reader.read(argument) for argument in fndesc.argtypes]
        status, result = context.call_conv.call_function(
            builder, callee, fndesc.restype, fndesc.argtypes, arguments
        )
        is_tuple = isinstance(fndesc.restype, types.BaseTuple)
        for k, member in enumerate(_members(fndesc.restype)):
            value = _widened(builder, builder.extract_value(result, k) if is_tuple else result, member)
            builder.store(value, builder.gep(results, [ir.Constant(_WORD, k)]))
        builder.ret(builder.zext(status.is_error, _HALF))  # RAISED is 1
        self.library.add_ir_module(module)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweringWithEntry(typed_passes.NativeLowering):
    _name = "bpenb_lowering_with_entry"

    @property
    def lowering_class(self) -> Any:
        return _LowerWithEntry


class _CompilerWithEntry(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_LoweringWithEntry if kind is typed_passes.NativeLowering else kind, what)
            for kind, what in passes.passes
        ]
        passes.finalize()
        return [passes]


# --- signatures -----------------------------------------------------------------------------------


def _spell(kind: Any) -> str | None:
    """Spell a Numba type as `arguments` spells what Python passes; None for what it never passes."""
    if isinstance(kind, types.Array):
        return spell_array(as_dtype(kind.dtype), kind.ndim, kind.layout, kind.mutable, kind.aligned)
    if isinstance(kind, types.BaseTuple):
        inner = _spell_all(kind.types)
        named = getattr(kind, "instance_class", tuple)
        return None if inner is None else f"{named.__module__}.{named.__qualname__}({inner})"
    is_number = isinstance(kind, types.Boolean) or kind in types.integer_domain or kind == types.float64
    return str(kind) if is_number else None


def _spell_all(kinds: Any) -> str | None:
    parts = [_spell(kind) for kind in kinds]
    return None if None in parts else ",".join(map(str, parts))


def _results(kind: Any) -> str | None:
    """Return a letter for each number that a kernel returns; None if Python cannot take them."""
    letters = []
    for member in _members(kind):
        if isinstance(member, types.Boolean):
            letters.append("?")
        elif member in types.integer_domain or member == types.float64:
            letters.append(slot_format(str(member)))
        else:
            return None
    return "".join(letters)


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


def _decorated(function: Callable[..., Any], **options: Any) -> Any:
    folder = cache_folder()
    if folder is None:
        return numba.njit(**_OPTIONS, **options)(function)
    with _numba_cache_dir(folder):
        dispatcher = numba.njit(cache=True, **_OPTIONS, **options)(function)
    _guard_cache(dispatcher, folder, has_entry="pipeline_class" in options)
    return dispatcher


def dispatcher_with_entry(function: Callable[..., Any]) -> Any:
    """Return what compiles a kernel, with an entry: Python does not call it."""
    dispatcher = _decorated(function, no_cpython_wrapper=True, pipeline_class=_CompilerWithEntry)
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
    spelled = _spell_all(signature)
    function: python_types.FunctionType = dispatcher.py_func
    return None if spelled is None else entry_path(f"{function.__module__}.{function.__qualname__}", spelled)


def _code_of(compiled: Any) -> EntryCode:
    """Return the entry of what was compiled just now; without code if it needs functions of Numba's."""
    library, fndesc = compiled.library, compiled.fndesc
    results = _results(fndesc.restype)
    foreign = [f.name for f in library._final_module.functions if f.is_declaration]
    calls_numba = any(not name.startswith("llvm.") and name not in _FROM_C for name in foreign)
    is_kept = results is not None and not calls_numba
    code = library.serialize_using_object_code()[2][0] if is_kept else b""
    return EntryCode(_symbol(fndesc), results or "", isinstance(fndesc.restype, types.BaseTuple), code)


def entry_of(dispatcher: Any, arguments: tuple[Any, ...]) -> tuple[int, EntryCode, Any]:
    """Compile a kernel for what Python passes; returns where its entry is, what it returns, what keeps it.

    Raises:
        TypeError: Python cannot call it with these arguments, or cannot take what it returns.
    """
    signature = tuple(map(numba.typeof, arguments))
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    fndesc = compiled.fndesc
    address = compiled.library.get_pointer_to_function(_symbol(fndesc))
    if not address:
        raise TypeError(f"{fndesc.qualname}{signature} can be called from compiled code only")
    is_tuple = isinstance(fndesc.restype, types.BaseTuple)
    return address, EntryCode(_symbol(fndesc), _results(fndesc.restype) or "", is_tuple, b""), compiled


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
    return cache_folder() is not None and Path(dispatcher._cache._cache_file._index_path).exists()
