"""The entry of a kernel, in LLVM's terms, and the compiler that adds it (see `entries`).

It takes the place of Numba's own wrapper, and compiles in the same time.
"""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import ir
from numba.core import cgutils, lowering, typed_passes, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype

from bpenb._jit.arguments import C_ORDER, F_ORDER, WRITEABLE, spell_array
from bpenb._jit.entries import CLASS_WORD, EXPECTED, LENGTH_WORD, TUPLE_ITEMS, VALUE_WORD, ArrayWords

__all__ = ["CompilerWithEntry", "spell_types", "symbol_of"]

# mypy: disable-error-code="no-untyped-call,attr-defined"

_WORD = ir.IntType(64)
_WORDS = _WORD.as_pointer()
_HALF = ir.IntType(32)
_LONG = ir.IntType(8 * ctypes.sizeof(ctypes.c_long))
_RAISED = "a kernel raised an error; NUMBA_BOUNDSCHECK=1 shows where"


# --- signatures -----------------------------------------------------------------------------------


def _spell(kind: Any) -> str | None:
    if isinstance(kind, types.Array):
        return spell_array(as_dtype(kind.dtype), kind.ndim, kind.layout, kind.mutable)
    if isinstance(kind, types.BaseTuple):
        inner = spell_types(kind.types)
        named = getattr(kind, "instance_class", tuple)
        return None if inner is None else f"{named.__module__}.{named.__qualname__}({inner})"
    is_number = isinstance(kind, types.Boolean) or kind in types.integer_domain or kind == types.float64
    return str(kind) if is_number else None


def spell_types(kinds: Any) -> str | None:
    """Spell a signature as `arguments` spells what Python passes; None if it never passes that."""
    parts = [_spell(kind) for kind in kinds]
    return None if None in parts else ",".join(map(str, parts))


def _is_returned(kind: Any) -> bool:
    """Tell whether Python can take what a kernel returns: nothing, a number, or a tuple of numbers."""
    members = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
    return kind == types.none or not any(isinstance(m, types.Array) or _spell(m) is None for m in members)


class _EntryBuilder:
    """Builds the code of an entry. Objects are numbers here: their addresses."""

    def __init__(self, context: Any, fndesc: Any) -> None:
        self._context, self._fndesc = context, fndesc
        self.module = context.create_module("entry")
        entry = ir.Function(self.module, ir.FunctionType(_WORD, [_WORD, _WORDS, _WORD]), symbol_of(fndesc))
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
            self._check(self._word(item, LENGTH_WORD), ir.Constant(_WORD, len(kind.types)))
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


def _flags_of(kind: Any) -> tuple[int, int]:
    """Return which flags of an array decide its type, and what they are."""
    order = {"C": C_ORDER, "F": F_ORDER, "A": 0}[kind.layout]
    mask = WRITEABLE | (C_ORDER if kind.layout == "C" else C_ORDER | F_ORDER)
    return mask, order | WRITEABLE * kind.mutable


def symbol_of(fndesc: Any) -> str:
    """Return the name of the entry of a function that Numba describes so."""
    return f"entry.{fndesc.llvm_func_name}"


class _LowerWithEntry(lowering.Lower):
    def lower(self) -> None:
        super().lower()
        if spell_types(self.fndesc.argtypes) is not None and _is_returned(self.fndesc.restype):
            entry = _EntryBuilder(self.context, self.fndesc)
            entry.build()
            self.library.add_ir_module(entry.module)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweringWithEntry(typed_passes.NativeLowering):
    _name = "bpenb_lowering_with_entry"

    @property
    def lowering_class(self) -> Any:
        return _LowerWithEntry


class CompilerWithEntry(CompilerBase):
    """Numba's compiler, which adds an entry to what Python may call."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_LoweringWithEntry if kind is typed_passes.NativeLowering else kind, what)
            for kind, what in passes.passes
        ]
        passes.finalize()
        return [passes]
