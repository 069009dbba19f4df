"""Calling compiled kernels without Numba: machine code from disk, linked by LLVM.

An entry is a function that `entry_code` adds to each kernel, in the form in which CPython calls C:

    PyObject *entry(PyObject *expected, PyObject **arguments, Py_ssize_t n)

It looks whether the arguments are what the kernel was compiled for, by the objects in the tuple
`expected` (NotImplemented comes back if not), reads numbers and arrays from their objects in memory
(CPython and numpy keep these fields from release to release; `objects_are_as_known` looks once), and
calls the kernel without the GIL. Importing Numba takes 0.35 s, linking an object 2 ms
(docs/decisions/0026-entries.md).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bpenb._jit.arguments import checked_against
from bpenb._jit.store import cache_folder

__all__ = ["CLASS_WORD", "EXPECTED", "LENGTH_WORD", "TUPLE_ITEMS", "VALUE_WORD", "ArrayWords", "Entry",
           "EntryCode", "entry_path", "link", "objects_are_as_known", "read", "write"]  # fmt: skip

EXPECTED = (NotImplemented, None, SystemError)  # stand before what arguments are compared with
# Where an object has its class, a tuple its length, a number of numpy's or a float its value, in words.
CLASS_WORD, LENGTH_WORD, VALUE_WORD = 1, 2, 2
_DIGEST_BYTES = hashlib.sha256().digest_size


class ArrayWords:
    """Where the fields of a numpy array stand, in words; rank and flags are the lower halves of theirs."""

    DATA, RANK, SHAPE, STRIDES, DTYPE, FLAGS = 2, 3, 4, 5, 7, 8


def _words(address: int, n: int) -> list[int]:
    return list((ctypes.c_int64 * n).from_address(address))


@functools.cache
def _may_look() -> bool:
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.implementation.name != "cpython" or sys.byteorder == "big":
        return False
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)()) and not hasattr(sys, "getobjects")


def _tuple_items() -> int:
    """Return where the items of a tuple begin, in words: 3 or, with the hash before them, 4."""
    probe = (object(), object())
    wanted = list(map(id, probe))
    return next((k for k in (3, 4) if _may_look() and _words(id(probe), k + 2)[k:] == wanted), 0)


TUPLE_ITEMS = _tuple_items()


@functools.cache
def objects_are_as_known() -> bool:
    """Tell whether objects lie in memory as entries read them: not so in free-threaded and debug builds."""
    if not TUPLE_ITEMS:
        return False
    array, number, some = np.zeros((3, 5), dtype=np.int32)[:, 1:], np.uint64(2**62 + 5), (0.5, 1.5, 2.5)
    words = _words(id(array), 9)
    here = ArrayWords
    return (
        (words[CLASS_WORD], words[here.DTYPE], words[here.DATA])
        == (id(np.ndarray), id(array.dtype), array.ctypes.data)
        and (words[here.RANK] & 0xFFFFFFFF, words[here.FLAGS] & 0xFFFFFFFF) == (2, array.flags.num)
        and tuple(_words(words[here.SHAPE], 2)) == array.shape
        and tuple(_words(words[here.STRIDES], 2)) == array.strides
        and _words(id(number), 3)[VALUE_WORD] == number
        and _words(id(some), 3)[LENGTH_WORD] == len(some)
    )


class EntryCode(NamedTuple):
    """What is kept of a kernel for one signature."""

    symbol: str  # its name in the object
    code: bytes  # an object file; b"" if only Numba can call it


class _MethodDefinition(ctypes.Structure):
    _fields_: ClassVar = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


_FAST_CALL = 0x80  # METH_FASTCALL


class Entry:
    """A kernel that Python can call, for arguments such as those it is made with."""

    def __init__(self, address: int, name: str, arguments: tuple[Any, ...], keep: Any) -> None:
        """Make it; `keep` is what must live as long."""
        expected = (*EXPECTED, *(found for argument in arguments for found in checked_against(argument)))
        self._definition = _MethodDefinition(name.encode(), address, _FAST_CALL, None)
        self._keep = keep
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        self.call: Callable[..., Any] = make(ctypes.addressof(self._definition), expected, None)


# --- on disk --------------------------------------------------------------------------------------


@functools.cache
def _processor() -> str:
    """What code is compiled for: a folder may be shared by machines that differ."""
    import llvmlite.binding as llvm

    asked = [os.environ.get(f"NUMBA_CPU_{name}", "") for name in ("NAME", "FEATURES")]
    features = sorted(llvm.get_host_cpu_features().items())
    return repr((llvm.get_default_triple(), llvm.get_host_cpu_name(), features, asked))


def entry_path(name: str, signature: str) -> Path | None:
    """Return where the entry of a kernel is kept; None if nothing is."""
    folder = cache_folder()
    if folder is None:
        return None
    digest = hashlib.sha256(f"{signature}\0{_processor()}".encode()).hexdigest()[:16]
    return folder / "entries" / f"{name}-{digest}"


def write(path: Path, entry: EntryCode) -> None:
    """Keep an entry: whole, or not at all."""
    head = entry.symbol.encode() + b"\n"
    content = head + entry.code
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    part.write_bytes(hashlib.sha256(content).digest() + content)
    part.replace(path)


def read(path: Path) -> EntryCode | None:
    """Return an entry that was kept; None if there is none, or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        return None
    head, _, code = content.partition(b"\n")
    return EntryCode(head.decode(), code)


def link(entry: EntryCode, arguments: tuple[Any, ...]) -> Entry:
    """Make the code of an entry callable, for arguments such as these."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target().create_target_machine(jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(entry.code))
    engine.finalize_object()
    address = engine.get_function_address(entry.symbol)
    engine.detach()  # never unloaded: a thread may still be in it when the process ends
    return Entry(address, entry.symbol, arguments, None)


@functools.cache
def _target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()
