"""Of several processes that begin at once on one machine, one compiles; the others wait for it."""

from __future__ import annotations

import threading

import pytest
from bpenb import _jit
from bpenb.counting import in_threads, load_kernels


def test_who_finds_kernels_missing_waits_for_who_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    if _jit.cache_folder() is None:
        pytest.skip("nothing is kept on disk")
    loaded = threading.Event()
    monkeypatch.setattr(in_threads, "_LOADED", set())
    monkeypatch.setattr(in_threads, "kernels_compiled", lambda: False)
    monkeypatch.setattr(in_threads, "_load_kernels", lambda engine: loaded.set())
    waiting = threading.Thread(target=load_kernels)
    with _jit.compiling_alone():
        waiting.start()
        assert not loaded.wait(0.3)
    assert loaded.wait(60)
    waiting.join()
    loaded.clear()
    load_kernels()  # once in a process
    assert not loaded.is_set()


def test_what_is_on_disk_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = threading.Event()
    monkeypatch.setattr(in_threads, "_LOADED", set())
    monkeypatch.setattr(in_threads, "kernels_compiled", lambda: True)
    monkeypatch.setattr(in_threads, "_load_kernels", lambda engine: loaded.set())
    with _jit.compiling_alone():
        load_kernels()
    assert loaded.is_set()


def test_without_locks_it_compiles_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = threading.Event()

    def refused() -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(in_threads, "_LOADED", set())
    monkeypatch.setattr(in_threads, "kernels_compiled", lambda: False)
    monkeypatch.setattr(in_threads, "compiling_alone", refused)
    monkeypatch.setattr(in_threads, "_load_kernels", lambda engine: loaded.set())
    load_kernels()
    assert loaded.is_set()
