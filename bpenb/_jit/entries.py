"""Calling compiled kernels without Numba: machine code from disk, linked by LLVM, called with slots.

An entry is a function that `compiler` adds to each kernel:

    int32 entry(slots*, results*, expected*)     DONE, RAISED or DIFFERENT

It reads an argument from each slot of 8 bytes, arrays and tuples of arrays from their objects in memory
(CPython and numpy keep these fields from release to release; `objects_are_as_known` looks once), and
calls the kernel. An object of another class, dtype, rank or layout than the code is for is noticed.
Importing Numba takes 0.35 s, linking an object 2 ms (docs/decisions/0026-entries.md).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import struct
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bpenb._jit.arguments import checked_against, formats_of, plan_of, slots_of
from bpenb._jit.store import cache_folder

__all__ = ["CLASS_WORD", "DIFFERENT", "DONE", "RAISED", "TUPLE_ITEMS", "ArrayWords", "Entry", "EntryCode",
           "entry_path", "link", "objects_are_as_known", "read", "write"]  # fmt: skip

DONE, RAISED, DIFFERENT = range(3)
CLASS_WORD = 1  # where an object has its class, in words of 8 bytes from its beginning


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
    array = np.zeros((3, 5), dtype=np.int32)[:, 1:]
    words = _words(id(array), 9)
    here = ArrayWords
    return (
        (words[CLASS_WORD], words[here.DTYPE], words[here.DATA])
        == (id(np.ndarray), id(array.dtype), array.ctypes.data)
        and (words[here.RANK] & 0xFFFFFFFF, words[here.FLAGS] & 0xFFFFFFFF) == (2, array.flags.num)
        and tuple(_words(words[here.SHAPE], 2)) == array.shape
        and tuple(_words(words[here.STRIDES], 2)) == array.strides
    )


class EntryCode(NamedTuple):
    """What is kept of a kernel for one signature."""

    symbol: str  # its name in the object
    results: str  # a letter for each number it returns, as `struct` has them; "" for none
    is_tuple: bool  # whether it returns a tuple of them
    code: bytes  # an object file; b"" if only Numba can call it


_DIGEST_BYTES = hashlib.sha256().digest_size
_NUMBERS = ctypes.POINTER(ctypes.c_int64)
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, _NUMBERS, _NUMBERS)


class Entry:
    """A kernel that can be called, for arguments such as those it is made with."""

    def __init__(self, address: int, code: EntryCode, arguments: tuple[Any, ...], keep: Any) -> None:
        expected = checked_against(arguments)
        self._function = _PROTOTYPE(address)
        self._plan = [plan_of(argument) for argument in arguments]
        self._expected = (ctypes.c_int64 * max(1, len(expected)))(*expected)
        self._pack = struct.Struct("=" + formats_of(arguments)).pack
        self._results = ctypes.c_int64 * max(1, len(code.results))
        self._unpack = struct.Struct("=" + code.results.replace("?", "?7x")).unpack
        self._is_number = code.results in ("q", "")
        self._is_nothing, self._is_tuple = not code.results, code.is_tuple
        self._keep = keep  # the code in memory

    def call(self, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Call the kernel; returns whether that could be done, and what came out.

        Raises:
            SystemError: the kernel raised an error: they return what is wrong.
        """
        results = self._results()
        status = self._function(self._pack(*slots_of(arguments, self._plan)), results, self._expected)
        if status:
            if status == DIFFERENT:
                return False, None
            raise SystemError("a kernel raised an error; NUMBA_BOUNDSCHECK=1 shows where")
        if self._is_number:
            return True, None if self._is_nothing else results[0]
        numbers = self._unpack(results)
        return True, numbers if self._is_tuple else numbers[0]


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
    head = json.dumps([entry.symbol, entry.results, entry.is_tuple]).encode() + b"\n"
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
    symbol, results, is_tuple = json.loads(head)
    return EntryCode(symbol, results, is_tuple, code)


def link(entry: EntryCode, arguments: tuple[Any, ...]) -> Entry:
    """Make the code of an entry callable, for arguments such as these."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target().create_target_machine(jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(entry.code))
    engine.finalize_object()
    return Entry(engine.get_function_address(entry.symbol), entry, arguments, engine)


@functools.cache
def _target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()
