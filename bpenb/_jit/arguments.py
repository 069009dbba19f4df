"""What Python passes to a compiled kernel: the signature that it asks for, and the objects that it must be.

    arguments of Python                 signature    checked against
    array int32[:], C, writeable        <i4:1Cw      numpy's class, the dtype
    a tuple or NamedTuple of these      name(…)      its class, then its members
    5 or np.int64(5)                    int64        both classes
    np.uint64(5), np.int32(5), …        uint64, …    its class
    True                                bool         its class, True
    0.5                                 float64      its class

A signature is spelled the same in every process, and from Numba's types as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["C_ORDER", "F_ORDER", "WRITEABLE", "checked_against", "plain", "spell_arguments", "spell_array"]

# numpy's flags of an array. (Numba takes arrays for aligned, and so do entries.)
C_ORDER, F_ORDER, WRITEABLE = 0x1, 0x2, 0x400


def plain(argument: Any) -> Any:
    """Return an argument as entries take it: numpy's own class of arrays, one object for each dtype."""
    if isinstance(argument, tuple):
        members = list(map(plain, argument))
        return argument._make(members) if hasattr(argument, "_make") else tuple(members)
    if isinstance(argument, np.ndarray):
        dtype = np.dtype(argument.dtype.str)
        argument = argument if type(argument) is np.ndarray else argument.view(np.ndarray)
        return argument if argument.dtype is dtype else argument.view(dtype)
    return argument.item() if isinstance(argument, np.bool_ | np.float64) else argument


def checked_against(argument: Any) -> list[Any]:
    """Return the objects that an argument is compared with, in the order of the comparisons."""
    if isinstance(argument, np.ndarray):
        return [np.ndarray, argument.dtype]
    if isinstance(argument, tuple):
        return [type(argument), *(found for member in argument for found in checked_against(member))]
    if isinstance(argument, bool):
        return [bool, True]
    return [int, np.int64] if isinstance(argument, int | np.int64) else [type(argument)]


def spell_array(dtype: np.dtype[Any], ndim: int, order: str, writeable: bool) -> str:
    """Spell the signature of an array."""
    return f"{dtype.str}:{ndim}{order}{'w' if writeable else 'r'}"


def _spell(argument: Any) -> str | None:
    if isinstance(argument, np.ndarray):
        flags = argument.flags.num
        order = "C" if flags & C_ORDER else "F" if flags & F_ORDER else "A"
        return spell_array(argument.dtype, argument.ndim, order, bool(flags & WRITEABLE))
    if isinstance(argument, tuple):
        inner = spell_arguments(argument)
        kind = type(argument)
        return None if inner is None else f"{kind.__module__}.{kind.__qualname__}({inner})"
    if isinstance(argument, np.integer):
        return argument.dtype.name
    return {bool: "bool", int: "int64", float: "float64"}.get(type(argument))


def spell_arguments(arguments: tuple[Any, ...]) -> str | None:
    """Spell the signature that a call asks for; None if it has arguments that no kernel takes."""
    parts = [_spell(argument) for argument in arguments]
    return None if None in parts else ",".join(map(str, parts))
