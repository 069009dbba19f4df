"""Machine operations that Numba has no name for; each with a plain-Python twin for NUMBA_DISABLE_JIT=1.

What they compile to is in `_intrinsic_code`, which needs Numba.

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

from typing import Any

import numpy as np

from bpenb._jit import JIT_DISABLED, intrinsic_of

__all__ = ["BYTE_MASKS", "PAIR_PLACES", "byte_masks", "byte_swap", "count_ones", "equal_mask", "load_u64",
           "pair_mask", "prefetch", "store_u64", "trailing_zeros"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def"

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
PAIR_PLACES = 16


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


def _name(plain: Any, name: str) -> Any:
    return plain if JIT_DISABLED else intrinsic_of("bpenb._intrinsic_code", name)


byte_masks: Any = _name(_plain_byte_masks, "byte_masks")
byte_swap: Any = _name(_plain_byte_swap, "byte_swap")
count_ones: Any = _name(_plain_count_ones, "count_ones")
equal_mask: Any = _name(_plain_equal_mask, "equal_mask")
load_u64: Any = _name(_plain_load_u64, "load_u64")
pair_mask: Any = _name(_plain_pair_mask, "pair_mask")
prefetch: Any = _name(_plain_prefetch, "prefetch")
store_u64: Any = _name(_plain_store_u64, "store_u64")
trailing_zeros: Any = _name(_plain_trailing_zeros, "trailing_zeros")
