"""Where compiled kernels are kept: a folder for each state of the sources, the versions and the flags.

Numba's own cache does not see an edit in a callee's file, nor a changed flag, and has no lock
(docs/decisions/0001-compile-cache.md). So the folder is named by a hash of all kernel sources, the
versions and the flags; if any of these changes, it is another folder. Nothing here imports Numba.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np

__all__ = ["BOUNDS_CHECKED", "COMPILING", "FLAGS", "HAS_VECTOR_MASKS", "JIT_DISABLED", "cache_folder",
           "compiling_alone", "locked"]  # fmt: skip

COMPILING: list[Callable[[], None]] = []  # called, each once, when a kernel is compiled in this process

_PACKAGE = Path(__file__).parents[1]
_DECORATED = re.compile(rb"^@(?:kernel|helper|parallel_kernel|intrinsic)\b", re.MULTILINE)
_IMPORTED = re.compile(rb"^\s*from bpenb\.([\w.]+) import", re.MULTILINE)
# Settings of Numba's that change what is compiled: as its environment says (`compiler` looks whether so).
FLAGS = ("BOUNDSCHECK", "OPT", "CPU_NAME", "CPU_FEATURES", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE",
         "SLP_VECTORIZE", "DISABLE_INTEL_SVML", "ENABLE_AVX")  # fmt: skip
_SETTINGS_FILE = Path(".numba_config.yaml")  # Numba reads it where a process starts


def _numba_setting(name: str) -> str:
    """Return a setting of Numba's: from Numba if it may have been set otherwise than by environment."""
    if "numba" in sys.modules or _SETTINGS_FILE.exists():
        import numba

        return str(getattr(numba.config, name, ""))
    return os.environ.get(f"NUMBA_{name}", "")


def _is_on(setting: str) -> bool:
    return setting not in ("", "0", "None", "False")


JIT_DISABLED = _is_on(_numba_setting("DISABLE_JIT"))  # NUMBA_DISABLE_JIT=1: kernels are plain Python
BOUNDS_CHECKED = _is_on(_numba_setting("BOUNDSCHECK"))

# Where LLVM turns a vector of answers into a bit mask in a few instructions; BPENB_VECTORS=0 or 1 decides.
_VECTOR_MACHINES = ("x86_64", "amd64", "i386", "i686", "aarch64", "arm64")
_by_machine = "1" if platform.machine().lower() in _VECTOR_MACHINES else "0"
HAS_VECTOR_MASKS = os.environ.get("BPENB_VECTORS", _by_machine) != "0"


def _kernel_sources() -> dict[str, bytes]:
    """Return every file that decides what a kernel compiles to, by its place in the package.

    Those are this room, the files that hold kernels and, in turn, what they import from us: constants
    and NamedTuples are compiled in. (tests/test_architecture.py holds kernel files to such imports
    and decorators as are found here.)
    """
    files = {path.relative_to(_PACKAGE).as_posix(): path.read_bytes() for path in _PACKAGE.rglob("*.py")}
    todo = [name for name, source in files.items() if _DECORATED.search(source) or name.startswith("_jit/")]
    found: dict[str, bytes] = {}
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = files[name]
            modules = [module.decode().replace(".", "/") for module in _IMPORTED.findall(files[name])]
            todo += [f for module in modules for f in (f"{module}.py", f"{module}/__init__.py") if f in files]
    return dict(sorted(found.items()))


def _version_source(package: str) -> bytes:
    """Return the file in which a package keeps its version: reading it is quicker than importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"{package} is not installed")
    return Path(spec.origin).with_name("_version.py").read_bytes()


def _fingerprint() -> str:
    """Hash everything that decides what a kernel compiles to."""
    digest = hashlib.sha256()
    flags = [os.environ.get(f"NUMBA_{name}", "") for name in FLAGS]
    decided = (BOUNDS_CHECKED, HAS_VECTOR_MASKS)
    digest.update(repr((np.__version__, sys.version_info[:3], flags, decided)).encode())
    digest.update(_SETTINGS_FILE.read_bytes() if _SETTINGS_FILE.exists() else b"")
    for package in ("numba", "llvmlite"):
        digest.update(_version_source(package))
    for name, source in _kernel_sources().items():
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()[:16]


def _user_cache_root() -> Path:
    """The user's cache folder on this system."""
    if "BPENB_CACHE_DIR" in os.environ:
        return Path(os.environ["BPENB_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "bpenb" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "bpenb"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bpenb"


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels, made if need be; None if nothing is to be kept."""
    if JIT_DISABLED or os.environ.get("BPENB_CACHE") == "0":
        return None
    try:
        folder = _user_cache_root() / f"kernels-{_fingerprint()}"
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError) as error:  # RuntimeError: no home
        warnings.warn(
            f"compiled kernels cannot be kept ({error}): every start compiles them again; "
            "set BPENB_CACHE_DIR to a folder that can be written, or BPENB_CACHE=0 to accept it",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock between processes (advisory, freed by the system when a process dies)."""
    with path.open("ab") as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compiling_alone() -> AbstractContextManager[None]:
    """Return a lock for who compiles: one process of a machine at a time, the others find it on disk."""
    folder = cache_folder()
    return nullcontext() if folder is None else locked(folder / ".compiling")
