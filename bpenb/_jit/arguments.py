"""What Python passes to a compiled kernel: the signature it asks for, and a number for each slot.

    arguments of Python                key                        signature        slots
    array int32[:], C, writeable       dtype, 1, flags            <i4:1Cw          its address
    5, np.uint64(5), True              int, np.uint64, bool       int64, uint64…   the number
    a tuple or NamedTuple of these     its class, length, …       name(…)          those of its members

A key is quick to make and to look up; a signature is spelled the same in every process, and from
Numba's types as well (`compiler.spell`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["SLOT_FORMATS", "describe", "slot_formats", "spell_arguments", "spell_array"]

# numpy's flags of an array: C and Fortran order, aligned, writeable.
_C, _F, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400
_DECIDING = _C | _F | _ALIGNED | _WRITEABLE
SLOT_FORMATS = {"uint64": "Q", "float64": "d"}  # by signature; what is not here is a signed number


def describe(arguments: tuple[Any, ...], key: list[Any], slots: list[Any]) -> None:
    """Add the keys and slots of `arguments` to two lists."""
    for argument in arguments:
        kind = type(argument)
        if kind is np.ndarray or isinstance(argument, np.ndarray):
            key += (argument.dtype, argument.ndim, argument.flags.num & _DECIDING)
            slots.append(id(argument))
        elif isinstance(argument, tuple):
            key += (kind, len(argument))
            describe(argument, key, slots)
        else:
            key.append(kind)
            slots.append(argument)


def spell_array(dtype: np.dtype[Any], ndim: int, order: str, writeable: bool, aligned: bool) -> str:
    """Spell the signature of an array."""
    return f"{dtype.str}:{ndim}{order}{'w' if writeable else 'r'}{'' if aligned else 'u'}"


def _spell(argument: Any) -> str | None:
    if isinstance(argument, np.ndarray):
        flags = argument.flags.num
        order = "C" if flags & _C else "F" if flags & _F else "A"
        return spell_array(
            argument.dtype, argument.ndim, order, bool(flags & _WRITEABLE), bool(flags & _ALIGNED)
        )
    if isinstance(argument, tuple):
        inner = spell_arguments(argument)
        kind = type(argument)
        return None if inner is None else f"{kind.__module__}.{kind.__qualname__}({inner})"
    if isinstance(argument, bool | np.bool_):
        return "bool"
    if isinstance(argument, np.integer | np.float64):
        return argument.dtype.name
    return {int: "int64", float: "float64"}.get(type(argument))


def spell_arguments(arguments: tuple[Any, ...]) -> str | None:
    """Spell the signature that a call asks for; None if it has arguments that no kernel takes."""
    parts = [_spell(argument) for argument in arguments]
    return None if None in parts else ",".join(map(str, parts))


def slot_formats(arguments: tuple[Any, ...]) -> str:
    """Return the letters with which `struct` packs the slots of a call."""
    letters = []
    for argument in arguments:
        if isinstance(argument, tuple):
            letters.append(slot_formats(argument))
        elif isinstance(argument, np.ndarray):
            letters.append("Q")
        else:
            letters.append(SLOT_FORMATS.get(str(_spell(argument)), "q"))
    return "".join(letters)
