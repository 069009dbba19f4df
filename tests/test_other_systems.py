"""What is missing on other systems, taken away here; and files that appear as a whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from bpenb import _atomic, _memory
from bpenb._atomic import atomic_write
from bpenb._jit import store
from bpenb.errors import OutputError


def without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Path, **options: object) -> str:
        raise FileNotFoundError(2, "No such file", str(self))

    monkeypatch.setattr(_memory.Path, "read_text", missing)


def test_peak_memory_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proc(monkeypatch)
    usage = types.SimpleNamespace(ru_maxrss=123_456)
    fake = types.SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda who: usage)
    monkeypatch.setitem(sys.modules, "resource", fake)  # type: ignore[arg-type]
    monkeypatch.setattr(_memory.sys, "platform", "freebsd")
    assert _memory.peak_rss_bytes() == 123_456 * 1024
    monkeypatch.setattr(_memory.sys, "platform", "darwin")
    assert _memory.peak_rss_bytes() == 123_456  # bytes there
    assert _memory.rss_bytes() == 123_456  # nobody tells: the peak


def test_peak_memory_without_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proc(monkeypatch)
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows: importing it fails
    monkeypatch.setattr("ctypes.windll", None, raising=False)
    assert _memory.peak_rss_bytes() == 0

    def info(handle: object, counters: object, size: int) -> int:
        counters._obj.peak = 77  # type: ignore[attr-defined]
        return 1

    kernel32 = types.SimpleNamespace(K32GetProcessMemoryInfo=info)
    monkeypatch.setattr("ctypes.windll", types.SimpleNamespace(kernel32=kernel32), raising=False)
    assert _memory.peak_rss_bytes() == 77


def test_the_lock_of_the_cache_without_fcntl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[tuple[int, int]] = []
    fake = types.SimpleNamespace(LK_LOCK=1, locking=lambda file, mode, n: locked.append((mode, n)))
    monkeypatch.setitem(sys.modules, "msvcrt", fake)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(store.sys, "platform", "win32")
    with store.locked(tmp_path / "lock"):
        assert locked == [(1, 1)]


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/bpenb/Cache")),
        ("darwin", {}, Path("/home/someone/Library/Caches/bpenb")),
        ("linux", {}, Path("/home/someone/.cache/bpenb")),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/bpenb")),
        ("linux", {"BPENB_CACHE_DIR": "/mine"}, Path("/mine")),
    ],
)
def test_where_kernels_are_kept(
    platform: str, variables: dict[str, str], expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BPENB_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(store.Path, "home", lambda: Path("/home/someone"))
    monkeypatch.setattr(store.sys, "platform", platform)
    assert store._user_cache_root() == expected


def test_a_file_that_is_open_elsewhere_cannot_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to rename over it: an error, and the old file stays."""

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied", str(self))

    path = tmp_path / "counts.npz"
    path.write_bytes(b"old")
    monkeypatch.setattr(_atomic.Path, "replace", refuse)
    with (
        pytest.raises(OutputError, match=r"counts\.npz: cannot be written: Permission denied"),
        atomic_write(path) as file,
    ):
        file.write(b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_an_error_in_the_block_leaves_nothing_and_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for error in (ValueError("mine"), FileNotFoundError(2, "No such file", "an input")):
        with pytest.raises(type(error)) as caught, atomic_write(path) as file:
            file.write(b"half")
            raise error
        assert caught.value is error
    with pytest.raises(OutputError, match="out: cannot be written: No space left"), atomic_write(path):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="cannot be written"), atomic_write(tmp_path / "no" / "folder"):
        pass


def test_counting_without_vector_compares(tmp_path: Path) -> None:
    """Where they are slow, bytes are looked up: other kernels, in a folder of their own, the same words."""
    text = tmp_path / "text.txt"
    text.write_text(
        "It's 12 o'clock, \u00e9t\u00e9\u3000\u4e2d\u6587\r\n\tno_way() /* 99 */ \U0001f600!\n" * 40,
        encoding="utf-8",
    )
    code = (
        "import sys, bpenb, bpenb._jit as jit; sys.stdout.reconfigure(encoding='utf-8')\n"
        "counts = [bpenb.count_words(sys.argv[1], pattern=p, workers=1) for p in ('gpt2', 'o200k')]\n"
        "print(jit.cache_folder().name, [c.to_dict() for c in counts], sep='\\n')"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code, str(text)],
            env=os.environ | {"BPENB_VECTORS": vectors},
            capture_output=True, text=True, check=True, encoding="utf-8",
        ).stdout.splitlines()
        for vectors in ("0", "1")
    ]  # fmt: skip
    assert found[0][0] != found[1][0]
    assert found[0][1] == found[1][1] and "o'clock" not in found[0][1]
