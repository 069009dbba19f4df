"""Token files: .npy as NumPy writes it, to every kind of target, and nothing that ever wraps."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.dataset import NpyWriter, id_dtype, read_ids
from bpenb.errors import BpenbError, FormatError, OutputError
from hypothesis import given
from hypothesis import strategies as st

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="descriptors as POSIX has them")


def numpy_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def read(source: Any, **options: Any) -> list[int]:
    return [i for block in read_ids(source, **options) for i in block.tolist()]


# --- writing to a path ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 9, 10, 99, 100, 12345, 100_000])
@pytest.mark.parametrize(("n_vocab", "dtype"), [(300, "<u2"), (65536, "<u2"), (65537, "<u4"), (2**32, "<u4")])
def test_the_same_bytes_as_numpy(tmp_path: Path, n: int, n_vocab: int, dtype: str) -> None:
    ids = np.arange(n, dtype=np.int64) * 7919 % n_vocab
    with NpyWriter(tmp_path / "ids.npy", n_vocab) as out:
        for start in range(0, n, 1000):
            out.write(ids[start : start + 1000])
        assert out.dtype == dtype
    assert out.n_ids == n
    assert (tmp_path / "ids.npy").read_bytes() == numpy_bytes(ids.astype(dtype))
    assert names(tmp_path) == ["ids.npy"]


@given(st.lists(st.lists(st.integers(0, 299), max_size=5), max_size=5), st.sampled_from("bBhHiIlLqQ"))
def test_any_blocks_of_any_integers(blocks: list[list[int]], kind: str) -> None:
    file = io.BytesIO()
    blocks = [[i % 128 for i in block] for block in blocks]
    with NpyWriter(file, 300) as out:
        for block in blocks:
            out.write(np.array(block, dtype=kind))
    assert file.getvalue() == numpy_bytes(np.array([i for b in blocks for i in b], dtype="<u2"))
    file.seek(0)
    assert read(file) == [i for b in blocks for i in b]


def test_strided_and_foreign_byte_order() -> None:
    file = io.BytesIO()
    with NpyWriter(file, 300) as out:
        out.write(np.arange(10)[::3])
        out.write(np.array([258], dtype=">u2"))
    assert file.getvalue() == numpy_bytes(np.array([0, 3, 6, 9, 258], dtype="<u2"))


@pytest.mark.parametrize("wrong", [300, 65536, 70_000, -1, 2**31, 2**32 + 1])
def test_nothing_wraps(tmp_path: Path, wrong: int) -> None:
    (tmp_path / "ids.npy").write_bytes(b"before")
    with (
        pytest.raises(OutputError, match=f"id {wrong} is not in 0..299"),
        NpyWriter(tmp_path / "ids.npy", 300) as out,
    ):
        out.write(np.array([1, 2]))
        out.write(np.array([1, wrong, 2]))
    assert (tmp_path / "ids.npy").read_bytes() == b"before"
    assert names(tmp_path) == ["ids.npy"]


def test_ids_too_large_for_any_dtype() -> None:
    with pytest.raises(OutputError, match="fit neither"):
        id_dtype(2**32 + 1)


@pytest.mark.parametrize("wrong", [np.array([1.0]), np.array([[1]]), np.array([True])])
def test_only_integers_in_one_dimension(wrong: np.ndarray) -> None:
    with pytest.raises(TypeError, match="integers in one dimension"), NpyWriter(io.BytesIO(), 300) as out:
        out.write(wrong)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_leaves_a_path_as_it_was(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), NpyWriter(tmp_path / "ids.npy", 300) as out:
        out.write(np.arange(100))
        raise error
    assert names(tmp_path) == []


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "no" / "folder.npy"):
        with pytest.raises(OutputError), NpyWriter(target, 300):
            pass


# --- standard output ------------------------------------------------------------------------------

WRITE = """
import sys
import numpy as np
from bpenb.dataset import NpyWriter
from bpenb.errors import BpenbError
try:
    with NpyWriter("-", 300) as out:
        for _ in range(50):
            out.write(np.arange(300))
        if sys.argv[1:] == ["fail"]:
            out.write(np.array([300]))
except BpenbError as error:
    sys.exit(str(error))
"""
WANTED = numpy_bytes(np.tile(np.arange(300), 50).astype("<u2"))
WRITE_IT = [sys.executable, "-c", WRITE]


def test_to_a_pipe() -> None:
    for unbuffered in ("", "1"):
        run = subprocess.run(WRITE_IT, capture_output=True, env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
        assert (run.returncode, run.stderr, run.stdout) == (0, b"", WANTED)
    assert subprocess.run([*WRITE_IT, "fail"], capture_output=True).stdout == b""


def test_to_a_file(tmp_path: Path) -> None:
    for unbuffered in ("", "1"):
        with (tmp_path / "ids.npy").open("wb") as file:
            env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
            subprocess.run(WRITE_IT, stdout=file, check=True, env=env)
        assert (tmp_path / "ids.npy").read_bytes() == WANTED


@POSIX
def test_appended_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "ids.npy").write_bytes(b"before ")
    with (tmp_path / "ids.npy").open("ab") as file:
        subprocess.run(WRITE_IT, stdout=file, check=True)
        subprocess.run([*WRITE_IT, "fail"], stdout=file, stderr=subprocess.DEVNULL)
    assert (tmp_path / "ids.npy").read_bytes() == b"before " + WANTED


@POSIX
def test_to_a_descriptor_that_others_write_to_as_well(tmp_path: Path) -> None:
    with (tmp_path / "ids.npy").open("wb") as file:
        os.write(file.fileno(), b"before ")
        subprocess.run(WRITE_IT, stdout=file, check=True)
        os.write(file.fileno(), b" after ")
        subprocess.run([*WRITE_IT, "fail"], stdout=file, stderr=subprocess.DEVNULL)
        os.write(file.fileno(), b"end")
    assert (tmp_path / "ids.npy").read_bytes() == b"before " + WANTED + b" after end"


@POSIX
def test_older_bytes_behind_it_stay(tmp_path: Path) -> None:
    (tmp_path / "ids.npy").write_bytes(bytes(len(WANTED)) + b"older")
    with (tmp_path / "ids.npy").open("rb+") as file:
        subprocess.run(WRITE_IT, stdout=file, check=True)
        assert file.tell() == len(WANTED)
    assert (tmp_path / "ids.npy").read_bytes() == WANTED + b"older"


@POSIX
@pytest.mark.parametrize("redirect", ["> ids.npy", ">> ids.npy", "| cat > ids.npy", "1<> ids.npy"])
def test_as_a_shell_does_it(tmp_path: Path, redirect: str) -> None:
    (tmp_path / "write.py").write_text(WRITE)
    subprocess.run(f'"{sys.executable}" write.py {redirect}', shell=True, cwd=tmp_path, check=True)
    assert np.load(tmp_path / "ids.npy").tobytes() == WANTED[128:]


@POSIX
def test_a_terminal_is_refused() -> None:
    import pty

    leader, follower = pty.openpty()
    run = subprocess.run(WRITE_IT, stdout=follower, stderr=subprocess.PIPE, text=True)
    os.close(follower)
    os.set_blocking(leader, False)
    try:
        written = os.read(leader, 100)
    except OSError:  # nothing there
        written = b""
    os.close(leader)
    assert run.returncode == 1
    assert "standard output is a terminal" in run.stderr
    assert written == b""


@POSIX
def test_a_device_is_written_not_replaced() -> None:
    with NpyWriter(os.devnull, 300) as out:
        out.write(np.arange(5))
    assert not Path(os.devnull).is_file()


@POSIX
def test_a_fifo_is_written_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(["cat", str(tmp_path / "fifo")], stdout=subprocess.PIPE) as reader:
        with NpyWriter(tmp_path / "fifo", 300) as out:
            out.write(np.arange(5))
        assert reader.communicate()[0] == numpy_bytes(np.arange(5, dtype="<u2"))


@POSIX
def test_a_reader_that_leaves_is_an_error_of_ours() -> None:
    run = subprocess.run(
        [
            "sh",
            "-c",
            '"$0" -c "$1" | head -c 1 > /dev/null',
            sys.executable,
            WRITE.replace("range(50)", "range(5000)"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "standard output: cannot be written: Broken pipe" in run.stderr


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["<u2", "<u4", "<i4", "<i8", "u1", ">u2", ">i8"])
def test_every_integer_dtype_is_read(tmp_path: Path, dtype: str) -> None:
    ids = np.arange(100).astype(dtype)
    np.save(tmp_path / "ids.npy", ids)
    for source in (tmp_path / "ids.npy", str(tmp_path / "ids.npy")):
        blocks = list(read_ids(source, block_ids=30))
        assert [len(b) for b in blocks] == [30, 30, 30, 10]
        assert all(b.dtype.isnative and b.dtype.itemsize == ids.dtype.itemsize for b in blocks)
        assert np.array_equal(np.concatenate(blocks), ids)


def test_headers_of_other_lengths_and_versions() -> None:
    ids = np.arange(5, dtype="<u2")
    for version, n_bytes, spaces in ((1, 2, 10), (1, 2, 300), (2, 4, 70_000)):
        header = b"{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }" + b" " * spaces + b"\n"
        data = b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(n_bytes, "little") + header
        if spaces < 10_000:
            assert read(io.BytesIO(data + ids.tobytes())) == [0, 1, 2, 3, 4]
        else:
            with pytest.raises(FormatError):
                read(io.BytesIO(data + ids.tobytes()))
    assert read(io.BytesIO(numpy_bytes(np.asfortranarray(ids)))) == [0, 1, 2, 3, 4]


def test_from_a_pipe() -> None:
    code = (
        "from bpenb.dataset import read_ids; print(sum(int(b.sum()) for b in read_ids('-', block_ids=7000)))"
    )
    run = subprocess.run([sys.executable, "-c", code], input=WANTED, capture_output=True, check=True)
    assert int(run.stdout) == 50 * 299 * 150


@POSIX
def test_from_an_unbuffered_pipe() -> None:
    for_reading, for_writing = os.pipe()
    with subprocess.Popen(WRITE_IT, stdout=for_writing):
        os.close(for_writing)
        with os.fdopen(for_reading, "rb", buffering=0) as stream:
            assert sum(read(stream)) == 50 * 299 * 150


GOOD = numpy_bytes(np.arange(10, dtype="<u2"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a .npy file"),
        (b"hello, this is text", "not a .npy file"),
        (GOOD[:50], "not a .npy file"),
        (GOOD[:-3], "cut short: 2 ids are missing"),
        (GOOD + b"x", "more bytes follow"),
        (GOOD + GOOD, "more bytes follow"),
        (b"\x93NUMPY\x03\x00" + GOOD[8:], r"version 3\.0"),
        (b"\x93NUMPY\x09\x00" + GOOD[8:], r"version 9\.0"),
        (numpy_bytes(np.arange(3.0)), "float64, not integers"),
        (numpy_bytes(np.array([True])), "bool, not integers"),
        (numpy_bytes(np.array(["a"])), "not integers"),
        (numpy_bytes(np.zeros((2, 3), dtype=int)), r"shape \(2, 3\)"),
        (numpy_bytes(np.array(3)), r"shape \(\)"),
        (GOOD[:10] + GOOD[10:].replace(b"(10,)", b"(x,) "), "not a .npy file"),
        (GOOD.replace(b"(10,)", b"(-1,)"), "shape"),
    ],
)
def test_files_that_hold_no_ids(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "bad.npy").write_bytes(data)
    with pytest.raises(FormatError, match=message) as caught:
        read(tmp_path / "bad.npy")
    assert "bad.npy" in str(caught.value)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="object, not integers"):
        read(tmp_path / "bad.npy")


@pytest.mark.parametrize("make", [lambda p: p / "missing.npy", lambda p: p])
def test_files_that_cannot_be_read(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with pytest.raises(BpenbError, match="cannot be read"):
        read(make(tmp_path))
