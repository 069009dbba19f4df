"""Machine operations that Numba has no name for; each with a plain-Python twin for NUMBA_DISABLE_JIT=1.

    load_u64(array, i)      8 bytes as one little-endian number; the array is padded behind
    store_u64(array, i, x)  the other way
    byte_swap(x)            the eight bytes of a number in the opposite order
    trailing_zeros(x)       number of zero bits below the lowest set bit; 64 for 0
    prefetch(array, i)      ask for the cache line of row i
    count_ones(x)           number of set bits
    equal_mask(text, i, b)  which of 64 bytes are b, as a 64-bit mask
    pair_mask(ids, i, a, b) at which of 16 places of an int32 array a stands, and b behind it
    byte_masks(text, i)     which of 64 bytes are letters, digits, …: one 64-bit mask for each question

All arrays are uint8[] or uint64[, ]; nothing is checked here.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bpenb._jit import JIT_DISABLED

__all__ = ["BYTE_MASKS", "PAIR_PLACES", "byte_masks", "byte_swap", "count_ones", "equal_mask", "load_u64",
           "pair_mask", "prefetch", "store_u64", "trailing_zeros"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def _data_pointer(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


@intrinsic
def _load_u64(typingctx, array, index):
    """Return the 8 bytes of a uint8 array from `index` on as one little-endian uint64."""

    def codegen(context, builder, signature, args):
        data = _data_pointer(context, builder, signature.args[0], args[0])
        place = builder.gep(builder.bitcast(data, _I8.as_pointer()), [args[1]])
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
def _store_u64(typingctx, array, index, value):
    """Write a uint64 as 8 little-endian bytes into a uint8 array."""

    def codegen(context, builder, signature, args):
        data = _data_pointer(context, builder, signature.args[0], args[0])
        place = builder.gep(builder.bitcast(data, _I8.as_pointer()), [args[1]])
        store = builder.store(_little_endian(builder, args[2]), builder.bitcast(place, _I64.as_pointer()))
        store.align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), codegen


@intrinsic
def _byte_swap(typingctx, value):
    """Return a uint64 with its eight bytes in the opposite order."""

    def codegen(context, builder, signature, args):
        return _swapped(builder, args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _trailing_zeros(typingctx, value):
    """Return how many zero bits stand below the lowest set bit of a uint64; 64 for 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def _prefetch(typingctx, array, index):
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


# The questions of `byte_masks`, as ranges of bytes (first, last); bit i answers for byte i.
BYTE_MASKS: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("upper", ((65, 90),)),
    ("lower", ((97, 122),)),
    ("digit", ((48, 57),)),
    ("whitespace", ((9, 13), (32, 32))),
    ("newline", ((10, 10), (13, 13))),
    ("blank", ((32, 32),)),
    ("apostrophe", ((39, 39),)),
    ("slash", ((47, 47),)),
    ("continuation", ((0x80, 0xBF),)),
    ("lead", ((0xC0, 0xFF),)),
)
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
def _byte_masks(typingctx, text, index):
    """Return a uint64 for each question of BYTE_MASKS; bit i answers it for text[index + i]."""

    def codegen(context, builder, signature, args):
        data = _data_pointer(context, builder, signature.args[0], args[0])
        place = builder.gep(builder.bitcast(data, _I8.as_pointer()), [args[1]])
        lanes = builder.load(builder.bitcast(place, _LANES.as_pointer()))
        lanes.align = 1
        masks = [_range_mask(builder, lanes, ranges) for _, ranges in BYTE_MASKS]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, len(BYTE_MASKS))(text, types.int64), codegen


@intrinsic
def _equal_mask(typingctx, text, index, byte):
    """Return a uint64 whose bit i tells whether text[index + i] is `byte`."""

    def codegen(context, builder, signature, args):
        data = _data_pointer(context, builder, signature.args[0], args[0])
        place = builder.gep(builder.bitcast(data, _I8.as_pointer()), [args[1]])
        lanes = builder.load(builder.bitcast(place, _LANES.as_pointer()))
        lanes.align = 1
        return builder.bitcast(builder.icmp_unsigned("==", lanes, _in_all(builder, args[2], _LANES)), _I64)

    return types.uint64(text, types.int64, types.uint8), codegen


def _in_all(builder: Any, value: Any, lanes: Any) -> Any:
    """Return a vector with one number in all lanes."""
    one = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, lanes.count), [0] * lanes.count)
    return builder.shuffle_vector(one, ir.Constant(lanes, ir.Undefined), zeros)


PAIR_PLACES = 16
_ID_LANES = ir.VectorType(_I32, PAIR_PLACES)


@intrinsic
def _pair_mask(typingctx, ids, index, left, right):
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
def _count_ones(typingctx, value):
    """Return the number of set bits of a uint64 as an int64."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(_I64, [_I64])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.ctpop.i64"), [args[0]])

    return types.int64(types.uint64), codegen


def _plain_load_u64(array, index):
    """Return the 8 bytes of a uint8 array from `index` on as one little-endian uint64."""
    return np.uint64(int.from_bytes(array[index : index + 8].tobytes(), "little"))


def _plain_store_u64(array, index, value):
    """Write a uint64 as 8 little-endian bytes into a uint8 array."""
    array[index : index + 8] = np.frombuffer(int(value).to_bytes(8, "little"), dtype=np.uint8)


def _plain_byte_swap(value):
    """Return a uint64 with its eight bytes in the opposite order."""
    return np.uint64(int.from_bytes(int(value).to_bytes(8, "little"), "big"))


def _plain_trailing_zeros(value):
    """Return how many zero bits stand below the lowest set bit of a uint64; 64 for 0."""
    number = int(value)
    return (number & -number).bit_length() - 1 if number else 64


def _plain_prefetch(array, index):
    """Ask for the cache line in which row `index` of an array begins."""
    return None


def _plain_byte_masks(text, index):
    """Return a uint64 for each question of BYTE_MASKS; bit i answers it for text[index + i]."""
    block = text[index : index + 64].astype(np.int64)
    answers = [sum(((block >= a) & (block <= b)) for a, b in ranges) for _, ranges in BYTE_MASKS]
    return tuple(np.packbits(answer.astype(np.uint8), bitorder="little").view("<u8")[0] for answer in answers)


def _plain_equal_mask(text, index, byte):
    """Return a uint64 whose bit i tells whether text[index + i] is `byte`."""
    return np.packbits(text[index : index + 64] == byte, bitorder="little").view("<u8")[0]


def _plain_pair_mask(ids, index, left, right):
    """Return a uint64 whose bit k < 16 tells whether ids[index + k] is left, and the next one right."""
    places = range(index, index + PAIR_PLACES)
    return np.uint64(sum((ids[i] == left and ids[i + 1] == right) << (i - index) for i in places))


def _plain_count_ones(value):
    """Return the number of set bits of a uint64."""
    return int(value).bit_count()


pair_mask: Any = _plain_pair_mask if JIT_DISABLED else _pair_mask
count_ones: Any = _plain_count_ones if JIT_DISABLED else _count_ones
equal_mask: Any = _plain_equal_mask if JIT_DISABLED else _equal_mask
byte_masks: Any = _plain_byte_masks if JIT_DISABLED else _byte_masks
byte_swap: Any = _plain_byte_swap if JIT_DISABLED else _byte_swap
store_u64: Any = _plain_store_u64 if JIT_DISABLED else _store_u64
load_u64: Any = _plain_load_u64 if JIT_DISABLED else _load_u64
trailing_zeros: Any = _plain_trailing_zeros if JIT_DISABLED else _trailing_zeros
prefetch: Any = _plain_prefetch if JIT_DISABLED else _prefetch
