"""What Python passes to a compiled kernel: the signature it asks for, and a number for each slot.

    arguments of Python                 signature          slots
    array int32[:], C, writeable        <i4:1Cw            its address
    a tuple of arrays, and of such      name(…)            its address
    a tuple with numbers in it          name(…)            those of its members
    5, np.uint64(5), True               int64, uint64…     the number

An address is that of the object: machine code looks there for what it needs, and whether it is what it was
compiled for (`checked_against`). A signature is spelled the same in every process, and from Numba's
types as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["ALIGNED", "C_ORDER", "F_ORDER", "WRITEABLE", "checked_against", "formats_of", "plain_arrays",
           "plan_of", "slot_format", "slots_of", "spell_arguments", "spell_array"]  # fmt: skip

# numpy's flags of an array.
C_ORDER, F_ORDER, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
Plan = bool | tuple[Any, ...]  # of an argument: passed as an object, as a number, or by its members


def plan_of(argument: Any) -> Plan:
    """Tell how an argument is passed."""
    if not isinstance(argument, tuple):
        return isinstance(argument, np.ndarray)
    members = tuple(map(plan_of, argument))
    return True if all(member is True for member in members) else members


def slots_of(arguments: Iterable[Any], plans: Iterable[Plan]) -> list[Any]:
    """Return what goes into the slots."""
    slots: list[Any] = []
    for argument, plan in zip(arguments, plans, strict=True):
        if plan is True:
            slots.append(id(argument))
        elif plan is False:
            slots.append(argument)
        else:
            slots += slots_of(argument, plan)
    return slots


def plain_arrays(argument: Any) -> Any:
    """Return an argument with every array as numpy's own class and its own object for the dtype: views."""
    if isinstance(argument, tuple):
        members = list(map(plain_arrays, argument))
        return argument._make(members) if hasattr(argument, "_make") else tuple(members)
    if isinstance(argument, np.ndarray):
        dtype = np.dtype(argument.dtype.str)
        argument = argument if type(argument) is np.ndarray else argument.view(np.ndarray)
        return argument if argument.dtype is dtype else argument.view(dtype)
    return argument


def checked_against(arguments: tuple[Any, ...]) -> list[int]:
    """Return the classes and dtypes that objects have, by address, in the order of the checks."""
    found = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            found += [id(np.ndarray), id(argument.dtype)]
        elif isinstance(argument, tuple):
            found += [id(type(argument))] * (plan_of(argument) is True) + checked_against(argument)
    return found


# --- signatures -----------------------------------------------------------------------------------


def spell_array(dtype: np.dtype[Any], ndim: int, order: str, writeable: bool, aligned: bool) -> str:
    """Spell the signature of an array."""
    return f"{dtype.str}:{ndim}{order}{'w' if writeable else 'r'}{'' if aligned else 'u'}"


def _spell(argument: Any) -> str | None:
    if isinstance(argument, np.ndarray):
        flags = argument.flags.num
        order = "C" if flags & C_ORDER else "F" if flags & F_ORDER else "A"
        return spell_array(
            argument.dtype, argument.ndim, order, bool(flags & WRITEABLE), bool(flags & ALIGNED)
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


def slot_format(spelled: str) -> str:
    """Return the letter with which `struct` packs a number of that signature."""
    return {"uint64": "Q", "float64": "d"}.get(spelled, "q")


def formats_of(arguments: tuple[Any, ...]) -> str:
    """Return the letters with which `struct` packs the slots of a call."""
    letters = []
    for argument in arguments:
        plan = plan_of(argument)
        if isinstance(plan, tuple):
            letters.append(formats_of(argument))
        else:
            letters.append("Q" if plan else slot_format(str(_spell(argument))))
    return "".join(letters)
