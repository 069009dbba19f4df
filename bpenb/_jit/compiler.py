"""Numba: what compiles kernels. Imported when something is to be compiled, not before.

Each kernel is compiled with an entry that Python calls (`entries`) in place of Numba's own wrapper,
which takes a third of the time to compile, and Numba to be called.
"""

from __future__ import annotations

import ctypes
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
from numba.core import cgutils, event, lowering, typed_passes, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import cpu_target
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype

from bpenb._jit.arguments import ALIGNED, C_ORDER, F_ORDER, WRITEABLE, spell_array
from bpenb._jit.entries import (
    CLASS_WORD,
    EXPECTED,
    TUPLE_ITEMS,
    VALUE_WORD,
    ArrayWords,
    Entry,
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


class _EntryBuilder:
    """Builds the code of an entry. Objects are numbers here: their addresses."""

    def __init__(self, context: Any, fndesc: Any) -> None:
        self._context, self._fndesc = context, fndesc
        self.module = context.create_module("entry")
        entry = ir.Function(self.module, ir.FunctionType(_WORD, [_WORD, _WORDS, _WORD]), _symbol(fndesc))
        self._expected, self._arguments, self._n = entry.args
        self._builder = ir.IRBuilder(entry.append_basic_block("entry"))
        self._n_expected = len(EXPECTED)

    def build(self) -> None:
        """Read the arguments, call the kernel, hand its result over."""
        context, builder, fndesc = self._context, self._builder, self._fndesc
        self._check(self._n, ir.Constant(_WORD, len(fndesc.argtypes)))
        places = enumerate(fndesc.argtypes)
        arguments = [self._read(kind, self._word(self._arguments, k)) for k, kind in places]
        callee_type = context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes)
        callee = ir.Function(self.module, callee_type, fndesc.llvm_func_name)
        state = self._call(_WORD, "PyEval_SaveThread")
        status, result = context.call_conv.call_function(
            builder, callee, fndesc.restype, fndesc.argtypes, arguments
        )
        self._call(ir.VoidType(), "PyEval_RestoreThread", state)
        with builder.if_then(status.is_error, likely=False):
            text = context.insert_const_string(self.module, _RAISED)
            self._call(ir.VoidType(), "PyErr_SetString", self._fixed(SystemError), text)
            builder.ret(ir.Constant(_WORD, 0))
        builder.ret(self._object_of(fndesc.restype, result))

    def _call(self, kind: Any, name: str, *arguments: Any) -> Any:
        """Call a function of CPython's."""
        function = cgutils.get_or_insert_function(
            self.module, ir.FunctionType(kind, [argument.type for argument in arguments]), name
        )
        return self._builder.call(function, arguments)

    def _word(self, base: Any, place: int) -> Any:
        address = base if base.type == _WORDS else self._builder.inttoptr(base, _WORDS)
        return self._builder.load(self._builder.gep(address, [ir.Constant(_WORD, place)]))

    def _half(self, base: Any, place: int) -> Any:
        return self._builder.trunc(self._word(base, place), _HALF)

    def _fixed(self, what: Any) -> Any:
        return self._word(self._expected, TUPLE_ITEMS + EXPECTED.index(what))

    def _new(self, what: Any) -> Any:
        address = self._fixed(what)
        self._call(ir.VoidType(), "Py_IncRef", address)
        return address

    def _next_expected(self) -> Any:
        self._n_expected += 1
        return self._word(self._expected, TUPLE_ITEMS + self._n_expected - 1)

    def _check(self, found: Any, wanted: Any) -> None:
        """Return NotImplemented if an argument is not what the kernel is compiled for."""
        with self._builder.if_then(self._builder.icmp_unsigned("!=", found, wanted), likely=False):
            self._builder.ret(self._new(NotImplemented))

    # --- arguments ---

    def _read(self, kind: Any, item: Any) -> Any:
        """Read a value of a Numba type from an object."""
        if kind == types.int64:
            return self._read_int(item)
        self._check(self._word(item, CLASS_WORD), self._next_expected())
        if isinstance(kind, types.Array):
            return self._read_array(kind, item)
        if isinstance(kind, types.BaseTuple):
            places = enumerate(kind.types, TUPLE_ITEMS)
            members = [self._read(member, self._word(item, place)) for place, member in places]
            return self._context.make_tuple(self._builder, kind, members)
        value_type = self._context.get_value_type(kind)
        if isinstance(kind, types.Boolean):
            return self._builder.icmp_unsigned("==", item, self._next_expected())
        value = self._word(item, VALUE_WORD)
        if isinstance(kind, types.Float):
            return self._builder.bitcast(value, value_type)
        return value if value_type == _WORD else self._builder.trunc(value, value_type)

    def _read_int(self, item: Any) -> Any:
        """Read an int that fits, or a number of numpy's."""
        builder, found = self._builder, self._word(item, CLASS_WORD)
        value = cgutils.alloca_once(builder, _WORD)
        is_int = builder.icmp_unsigned("==", found, self._next_expected())
        of_numpy = self._next_expected()
        with builder.if_else(is_int) as (then, otherwise):
            with then:
                overflow = cgutils.alloca_once(builder, _HALF)
                builder.store(self._call(_WORD, "PyLong_AsLongLongAndOverflow", item, overflow), value)
                self._check(builder.load(overflow), ir.Constant(_HALF, 0))
            with otherwise:
                self._check(found, of_numpy)
                builder.store(self._word(item, VALUE_WORD), value)
        return builder.load(value)

    def _read_array(self, kind: Any, item: Any) -> Any:
        self._check(self._word(item, ArrayWords.DTYPE), self._next_expected())
        self._check(self._half(item, ArrayWords.RANK), ir.Constant(_HALF, kind.ndim))
        mask, flags = _flags_of(kind)
        found = self._builder.and_(self._half(item, ArrayWords.FLAGS), ir.Constant(_HALF, mask))
        self._check(found, ir.Constant(_HALF, flags))
        array = self._context.make_array(kind)(self._context, self._builder)
        item_bytes = self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype))
        arrayobj.populate_array(
            array,
            data=self._builder.inttoptr(self._word(item, ArrayWords.DATA), array.data.type),
            shape=self._sizes(item, ArrayWords.SHAPE, kind.ndim),
            strides=self._sizes(item, ArrayWords.STRIDES, kind.ndim),
            itemsize=ir.Constant(_WORD, item_bytes),
            meminfo=None,
            parent=None,
        )
        return array._getvalue()

    def _sizes(self, item: Any, place: int, n: int) -> list[Any]:
        sizes = self._word(item, place)
        return [self._word(sizes, k) for k in range(n)]

    # --- what comes out ---

    def _object_of(self, kind: Any, value: Any) -> Any:
        if kind == types.none:
            return self._new(None)
        if isinstance(kind, types.BaseTuple):
            made = self._call(_WORD, "PyTuple_New", ir.Constant(_WORD, len(kind.types)))
            for k, member in enumerate(kind.types):
                item = self._object_of(member, self._builder.extract_value(value, k))
                self._call(_HALF, "PyTuple_SetItem", made, ir.Constant(_WORD, k), item)
            return made
        if isinstance(kind, types.Float):
            return self._call(_WORD, "PyFloat_FromDouble", value)
        if isinstance(kind, types.Boolean):
            return self._call(_WORD, "PyBool_FromLong", self._builder.zext(value, _LONG))
        if value.type != _WORD:
            value = (self._builder.sext if kind.signed else self._builder.zext)(value, _WORD)
        return self._call(_WORD, f"PyLong_From{'' if kind.signed else 'Unsigned'}LongLong", value)


_LONG = ir.IntType(8 * ctypes.sizeof(ctypes.c_long))
_RAISED = "a kernel raised an error; NUMBA_BOUNDSCHECK=1 shows where"


def _flags_of(kind: Any) -> tuple[int, int]:
    """Return which flags of an array decide its type, and what they are."""
    order = {"C": C_ORDER, "F": F_ORDER, "A": 0}[kind.layout]
    mask = WRITEABLE | ALIGNED | (C_ORDER if kind.layout == "C" else C_ORDER | F_ORDER)
    return mask, order | WRITEABLE * kind.mutable | ALIGNED * kind.aligned


def _symbol(fndesc: Any) -> str:
    return f"entry.{fndesc.llvm_func_name}"


class _LowerWithEntry(lowering.Lower):
    def lower(self) -> None:
        super().lower()
        if _spell_all(self.fndesc.argtypes) is not None and _is_returned(self.fndesc.restype):
            entry = _EntryBuilder(self.context, self.fndesc)
            entry.build()
            self.library.add_ir_module(entry.module)


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


def _is_returned(kind: Any) -> bool:
    """Tell whether Python can take what a kernel returns: nothing, a number, or a tuple of numbers."""
    members = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
    return kind == types.none or None not in [isinstance(m, types.Array) or _spell(m) for m in members]


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
    library, symbol = compiled.library, _symbol(compiled.fndesc)
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
    symbol = _symbol(compiled.fndesc)
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
    return cache_folder() is not None and Path(dispatcher._cache._cache_file._index_path).exists()
