"""Whatever goes wrong: a clear error, nothing under a final name, no thread left."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb import Tokenizer
from bpenb.dataset import open_dataset
from bpenb.dataset.part_file import PartFile
from bpenb.encoding.worker import EncodeWorker
from bpenb.errors import BpenbError, CorpusError, OutputError
from bpenb.preparing import (
    EncodeSettings,
    OutputSettings,
    count_tokens,
    encode_to_arrays,
    encode_to_files,
    encode_to_stream,
)
from bpenb.preparing.run import DatasetRun
from tests.cli.running import command, environment
from tests.corpus.writing import write_rows
from tests.preparing.making import busy_journal, contents, sample_text, small_buffers, tokenizer, write_inputs
from tests.soon import wait_until


@pytest.fixture(scope="module")
def made() -> Tokenizer:
    return tokenizer()


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert wait_until(lambda: not any(t.name == "bpenb-encode" for t in threading.enumerate()))


# --- a full disk ------------------------------------------------------------------------------------

FULL_CASES = {
    "data": (EncodeSettings(), OutputSettings("npy", document_index=False), 0.0),
    "index": (EncodeSettings(append_eot=True), OutputSettings("bin", 70_000), 0.0),
    "side files": (EncodeSettings(append_eot=True), OutputSettings("megatron"), 0.0),
    "buckets": (EncodeSettings(shuffle=True), OutputSettings("npy"), 0.0),
    "before a journal": (EncodeSettings(shuffle=True, val_fraction=0.5), OutputSettings("npy"), 10.0),
}
of_full_cases = pytest.mark.parametrize("name", FULL_CASES)


def mount_small(folder: Path, n_bytes: int) -> None:
    """Mount a small disk; skip, and say why, where nobody may."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("a disk is mounted by root on Linux; test_any_write_that_fails stands for it")
    options = f"size={n_bytes},mode=700"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "small", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip(f"this root may not mount: {done.stderr.decode().strip()}")


def not_published(folder: Path) -> bool:
    return not [path for path in folder.rglob("*") if path.is_file() and "/." not in str(path)]


@of_full_cases
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, name: str) -> None:
    """A real one, of 200 kB. Where none can be mounted, the next test stands for it."""
    chosen, output, seconds = FULL_CASES[name]
    monkeypatch.setattr("bpenb.preparing.run.JOURNAL_SECONDS", seconds)
    (path,) = write_inputs(tmp_path / "in", [sample_text(200_000, 1)])
    disk = tmp_path / "disk"
    disk.mkdir()
    mount_small(disk, 200 << 10)
    try:
        with pytest.raises(OutputError, match="No space left"):
            encode_to_files(made, path, disk / "out", chosen, output, workers=2)
        assert not_published(disk)
        if seconds:
            assert not contents(disk)
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        encode_to_files(made, path, disk / "out", chosen, output, resume=True)
        encode_to_files(made, path, tmp_path / "out", chosen, output)
        if (disk / "out").is_dir():
            assert contents(disk / "out") == contents(tmp_path / "out")
        else:
            written = [path for path in tmp_path.iterdir() if path.name.startswith("out.")]
            assert contents(disk) == {path.name: path.read_bytes() for path in written}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("at", range(0, 60, 7))
@pytest.mark.parametrize("shuffle", [False, True])
def test_any_write_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, shuffle: bool, at: int
) -> None:
    """Of data, ends, headers; and of journals and buckets when they are brought to the disk."""
    (path,) = write_inputs(tmp_path / "in", [sample_text(300, 1)])
    chosen, output = EncodeSettings(append_eot=True, shuffle=shuffle), OutputSettings("datatrove", 300)
    left = iter(range(at))

    def failing(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: Any) -> Any:
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return original(*args)

        return write

    with small_buffers(500), busy_journal():
        encode_to_files(made, path, tmp_path / "peace/out", chosen, output)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing(os.fsync))
            patch.setattr(PartFile, "_write_all", failing(PartFile._write_all))
            with pytest.raises(OutputError, match="No space left"):
                encode_to_files(made, path, tmp_path / "data/out", chosen, output)
        assert not_published(tmp_path / "data")
        encode_to_files(made, path, tmp_path / "data/out", chosen, output, resume=True)
    assert contents(tmp_path / "data") == contents(tmp_path / "peace")


# --- who reads our output goes away --------------------------------------------------------------------


def test_a_reader_that_closes_the_pipe(tmp_path: Path, made: Tokenizer) -> None:
    """`bpenb encode x | head -c 100`."""
    (path,) = write_inputs(tmp_path / "in", [sample_text(100_000, 1)])
    Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<s>"]).save(tmp_path / "tokenizer")
    run = command("encode", path, "-t", tmp_path / "tokenizer", "--progress", "none")
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.read(100).startswith(b"\x93NUMPY")
        child.stdout.close()
        said = child.stderr.read().decode()
        assert child.wait(60) == 1
    assert "Traceback" not in said
    assert said.startswith("bpenb: standard output: cannot be written")
    assert len(said.splitlines()) == 1


def test_a_stream_that_fails(tmp_path: Path, made: Tokenizer) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left")

    (path,) = write_inputs(tmp_path, [sample_text(100, 1)])
    with pytest.raises(OutputError, match="No space left"):
        encode_to_stream(made, path, Full())
    stream = io.BytesIO()
    assert encode_to_stream(made, path, stream).tokens == len(encode_to_arrays(made, path).ids)
    stream.seek(0)
    assert np.load(stream).tolist() == encode_to_arrays(made, path).ids.tolist()


# --- inputs that do not stay --------------------------------------------------------------------------


def shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b" low")


def swap(path: Path) -> None:
    """Another file of that name and size."""
    other = path.with_name("other")
    other.write_bytes(b"x" * path.stat().st_size)
    os.utime(other, (1, 1))
    other.replace(path)


@pytest.mark.parametrize("change", [shrink, grow, swap, Path.unlink], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", ["txt", "gz", "jsonl", "parquet"])
def test_an_input_that_changes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Tokenizer,
    change: Callable[[Path], None],
    kind: str,
) -> None:
    """In the middle of reading, for every door."""
    folder = tmp_path / "in"
    doors: list[Callable[[Path], object]] = [
        lambda path: encode_to_files(made, path, tmp_path / "out", EncodeSettings(shuffle=True)),
        lambda path: encode_to_files(made, path, tmp_path / "ids"),
        lambda path: encode_to_arrays(made, path),
        lambda path: count_tokens(made, path),
    ]
    for door in doors:
        if kind in ("txt", "gz"):
            ending = 0 if kind == "txt" else 1
            (path,) = write_inputs(folder, [sample_text(3000, 1)], [ending])
        else:
            folder.mkdir(exist_ok=True)
            path = write_rows(folder, ["low the"] * 300, f".{kind}")
        original, calls = EncodeWorker.encode, []

        def encode(self: EncodeWorker, *args: Any, original: Any = original, calls: list[int] = calls,
                   path: Path = path) -> Any:  # fmt: skip
            calls.append(1)
            if len(calls) == 2:
                change(path)
            return original(self, *args)

        with monkeypatch.context() as patch, small_buffers(300):
            patch.setattr(EncodeWorker, "encode", encode)
            with pytest.raises(CorpusError, match=r"in0|rows"):
                door(path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["in"]


def test_an_input_that_is_gone_before(tmp_path: Path, made: Tokenizer) -> None:
    with pytest.raises(CorpusError, match=r"none\.txt"):
        encode_to_files(made, tmp_path / "none.txt", tmp_path / "out")
    assert not contents(tmp_path)


def test_standard_input_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer) -> None:
    class Broken(io.RawIOBase):
        def __init__(self) -> None:
            self.n = 0

        def readable(self) -> bool:
            return True

        def readinto(self, view: Any) -> int:
            self.n += 1
            if self.n > 3:
                raise OSError(errno.EIO, "Input/output error")
            view[:4] = b" low"
            return 4

    class Stdin:
        def __init__(self) -> None:
            self.buffer = Broken()

    for door in (encode_to_arrays, count_tokens):
        monkeypatch.setattr(sys, "stdin", Stdin())
        with pytest.raises(CorpusError, match="standard input: cannot be read: Input/output error"):
            door(made, "-", workers=3)
    monkeypatch.setattr(sys, "stdin", Stdin())
    with pytest.raises(CorpusError, match="standard input"):
        encode_to_files(made, "-", tmp_path / "ids")
    assert not contents(tmp_path)


# --- threads and consumers ----------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_an_error_in_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, workers: int
) -> None:
    paths = write_inputs(tmp_path / "in", [sample_text(500, 1), sample_text(500, 2)], [0, 0])
    original, calls = EncodeWorker.encode, []

    def encode(self: EncodeWorker, *args: Any) -> Any:
        calls.append(1)
        if len(calls) >= 8:
            raise RuntimeError("a bug of ours")
        return original(self, *args)

    with small_buffers(200):
        monkeypatch.setattr(EncodeWorker, "encode", encode)
        with pytest.raises(RuntimeError, match="a bug of ours"):
            encode_to_files(made, paths, tmp_path / "out", EncodeSettings(shuffle=True),
                            workers=workers)  # fmt: skip
    assert [entry.name for entry in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_ctrl_c_in_the_consumer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, error: type[BaseException]
) -> None:
    """All threads end, though the caller holds the error; the run is kept, and goes on."""
    paths = write_inputs(tmp_path / "in", [sample_text(900, 1)], [0])
    original, calls = DatasetRun._take, []

    def take(self: DatasetRun, text: Any) -> None:
        calls.append(1)
        if len(calls) == 5:
            raise error
        original(self, text)

    with small_buffers(200), busy_journal():
        with monkeypatch.context() as patch:
            patch.setattr(DatasetRun, "_take", take)
            with pytest.raises(error) as info:
                encode_to_files(made, paths, tmp_path / "ids", workers=3)
        assert not [thread for thread in threading.enumerate() if thread.name == "bpenb-encode"]
        assert info.value.__traceback__ is not None
        with pytest.raises(BpenbError, match="--resume"):
            encode_to_files(made, paths, tmp_path / "ids")
        encode_to_files(made, paths, tmp_path / "ids", resume=True)
    dataset = open_dataset(tmp_path / "ids.npy")
    assert dataset.read(0, dataset.n_tokens).tolist() == encode_to_arrays(made, paths).ids.tolist()
