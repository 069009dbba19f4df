"""Calling compiled kernels without Numba: machine code from disk, linked by LLVM, called with slots.

An entry is a function that `compiler` adds to each kernel:

    int32 entry(slots*, results*)     not 0: the kernel raised

It reads an argument from each slot of 8 bytes, an array from its object in memory (numpy keeps the fields
of its C structure from release to release; `arrays_are_as_known` looks once), and calls the kernel.
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

from bpenb._jit.store import cache_folder

__all__ = ["ARRAY_FIELDS", "Entry", "EntryCode", "arrays_are_as_known", "entry_path", "link", "read", "write"]

# Where the fields of numpy's PyArrayObject stand that entries read, in words of 8 bytes from its beginning.
ARRAY_FIELDS = {"data": 2, "shape": 4, "strides": 5}
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64))
_DIGEST_BYTES = 32


class EntryCode(NamedTuple):
    """What is kept of a kernel for one signature."""

    symbol: str  # its name in the object
    results: str  # a letter for each number it returns, as `struct` has them; "" for none
    is_tuple: bool  # whether it returns a tuple of them
    code: bytes  # an object file; b"" if only Numba can call it


@functools.cache
def arrays_are_as_known() -> bool:
    """Tell whether arrays lie in memory as entries read them: not so in free-threaded and debug builds."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.implementation.name != "cpython":
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or hasattr(sys, "getobjects"):
        return False
    probe = np.zeros((3, 5), dtype=np.int32)[:, 1:]
    words = (ctypes.c_int64 * 6).from_address(id(probe))
    shape = (ctypes.c_int64 * 2).from_address(words[ARRAY_FIELDS["shape"]])
    strides = (ctypes.c_int64 * 2).from_address(words[ARRAY_FIELDS["strides"]])
    at = words[ARRAY_FIELDS["data"]]
    return (at, tuple(shape), tuple(strides)) == (probe.ctypes.data, probe.shape, probe.strides)


class Entry:
    """A kernel that can be called, for one signature."""

    def __init__(self, address: int, code: EntryCode, slots: str, keep: Any) -> None:
        self._function = _PROTOTYPE(address)
        self._pack = struct.Struct(f"={slots}").pack
        self._results = ctypes.c_int64 * max(1, len(code.results))
        self._unpack = struct.Struct("=" + code.results.replace("?", "?7x")).unpack
        self._is_number = code.results in ("q", "")
        self._is_nothing, self._is_tuple = not code.results, code.is_tuple
        self._keep = keep  # the code in memory

    def call(self, slots: list[Any]) -> Any:
        """Call the kernel; raises SystemError if it raised: kernels return what is wrong."""
        results = self._results()
        if self._function(self._pack(*slots), results):
            raise SystemError("a kernel raised an error; NUMBA_BOUNDSCHECK=1 shows where")
        if self._is_number:
            return None if self._is_nothing else results[0]
        numbers = self._unpack(results)
        return numbers if self._is_tuple else numbers[0]


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


def link(entry: EntryCode, slots: str) -> Entry:
    """Make the code of an entry callable."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target().create_target_machine(jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(entry.code))
    engine.finalize_object()
    return Entry(engine.get_function_address(entry.symbol), entry, slots, engine)


@functools.cache
def _target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()
