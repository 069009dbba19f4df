"""What the operations of `_intrinsics` compile to. Imported when something is compiled, not before."""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bpenb._intrinsics import BYTE_MASKS, PAIR_PLACES

__all__ = ["byte_masks", "byte_swap", "count_ones", "equal_mask", "load_u64", "pair_mask", "prefetch",
           "store_u64", "trailing_zeros"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def _data_pointer(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def _byte_place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of byte args[1] of array args[0]."""
    data = _data_pointer(context, builder, signature.args[0], args[0])
    return builder.gep(builder.bitcast(data, _I8.as_pointer()), [args[1]])


@intrinsic
def load_u64(typingctx, array, index):
    """Return the 8 bytes of a uint8 array from `index` on as one little-endian uint64."""

    def codegen(context, builder, signature, args):
        place = _byte_place(context, builder, signature, args)
        value = builder.load(builder.bitcast(place, _I64.as_pointer()))
        value.align = 1
        return _little_endian(builder, value)

    return types.uint64(array, types.int64), codegen


def _swapped(builder: Any, value: Any) -> Any:
    kind = ir.FunctionType(_I64, [_I64])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.bswap.i64"), [value])


def _little_endian(builder: Any, value: Any) -> Any:
    return _swapped(builder, value) if sys.byteorder == "big" else value


@intrinsic
def store_u64(typingctx, array, index, value):
    """Write a uint64 as 8 little-endian bytes into a uint8 array."""

    def codegen(context, builder, signature, args):
        place = _byte_place(context, builder, signature, args)
        store = builder.store(_little_endian(builder, args[2]), builder.bitcast(place, _I64.as_pointer()))
        store.align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), codegen


@intrinsic
def byte_swap(typingctx, value):
    """Return a uint64 with its eight bytes in the opposite order."""

    def codegen(context, builder, signature, args):
        return _swapped(builder, args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def trailing_zeros(typingctx, value):
    """Return how many zero bits stand below the lowest set bit of a uint64; 64 for 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line in which row `index` of an array begins."""

    def codegen(context, builder, signature, args):
        array_type = signature.args[0]
        data = _data_pointer(context, builder, array_type, args[0])
        row = args[1]
        if array_type.ndim == 2:
            columns = cgutils.unpack_tuple(
                builder, context.make_array(array_type)(context, builder, args[0]).shape, 2
            )[1]
            row = builder.mul(row, columns)
        place = builder.bitcast(builder.gep(data, [row]), _I8.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer()] + [ir.IntType(32)] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        flags = [ir.Constant(ir.IntType(32), n) for n in (0, 3, 1)]  # read, keep, data
        builder.call(function, [place, *flags])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


_LANES = ir.VectorType(_I8, 64)


def _splat(value: int) -> Any:
    return ir.Constant(_LANES, [value] * 64)


def _range_mask(builder: Any, lanes: Any, ranges: tuple[tuple[int, int], ...]) -> Any:
    """Compare 64 bytes at once; LLVM lowers it to what the processor has."""
    answer = None
    for first, last in ranges:
        shifted = builder.sub(lanes, _splat(first)) if first != last else lanes
        inside = (
            builder.icmp_unsigned("<=", shifted, _splat(last - first))
            if first != last
            else builder.icmp_unsigned("==", lanes, _splat(first))
        )
        answer = inside if answer is None else builder.or_(answer, inside)
    return builder.bitcast(answer, _I64)


@intrinsic
def byte_masks(typingctx, text, index):
    """Return a uint64 for each question of BYTE_MASKS; bit i answers it for text[index + i]."""

    def codegen(context, builder, signature, args):
        place = _byte_place(context, builder, signature, args)
        lanes = builder.load(builder.bitcast(place, _LANES.as_pointer()))
        lanes.align = 1
        masks = [_range_mask(builder, lanes, ranges) for _, ranges in BYTE_MASKS]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, len(BYTE_MASKS))(text, types.int64), codegen


@intrinsic
def equal_mask(typingctx, text, index, byte):
    """Return a uint64 whose bit i tells whether text[index + i] is `byte`."""

    def codegen(context, builder, signature, args):
        place = _byte_place(context, builder, signature, args)
        lanes = builder.load(builder.bitcast(place, _LANES.as_pointer()))
        lanes.align = 1
        return builder.bitcast(builder.icmp_unsigned("==", lanes, _in_all(builder, args[2], _LANES)), _I64)

    return types.uint64(text, types.int64, types.uint8), codegen


def _in_all(builder: Any, value: Any, lanes: Any) -> Any:
    """Return a vector with one number in all lanes."""
    one = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, lanes.count), [0] * lanes.count)
    return builder.shuffle_vector(one, ir.Constant(lanes, ir.Undefined), zeros)


_ID_LANES = ir.VectorType(_I32, PAIR_PLACES)


@intrinsic
def pair_mask(typingctx, ids, index, left, right):
    """Return a uint64 whose bit k < 16 tells whether ids[index + k] is left, and the next one right."""

    def codegen(context, builder, signature, args):
        data = _data_pointer(context, builder, signature.args[0], args[0])
        answers = []
        for place, wanted in ((args[1], args[2]), (builder.add(args[1], ir.Constant(_I64, 1)), args[3])):
            pointer = builder.bitcast(builder.gep(data, [place]), _ID_LANES.as_pointer())
            lanes = builder.load(pointer)
            lanes.align = 4
            answers.append(builder.icmp_signed("==", lanes, _in_all(builder, wanted, _ID_LANES)))
        mask = builder.bitcast(builder.and_(*answers), ir.IntType(PAIR_PLACES))
        return builder.zext(mask, _I64)

    return types.uint64(ids, types.int64, types.int32, types.int32), codegen


@intrinsic
def count_ones(typingctx, value):
    """Return the number of set bits of a uint64 as an int64."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(_I64, [_I64])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.ctpop.i64"), [args[0]])

    return types.int64(types.uint64), codegen
