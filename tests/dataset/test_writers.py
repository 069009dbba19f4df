"""Writers of training files against an oracle in plain Python: any writes, any cut, any kill."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.dataset import (
    TOKEN_FORMATS,
    ShardWriter,
    SplitPlan,
    SplitWriter,
    TokenLayout,
    document_ends,
    find_format,
    part_file,
    plan_outputs,
)
from bpenb.dataset.checksum import combine_crc32
from bpenb.errors import OutputError
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import token_files

FLAT = ("npy", "bin", "llmc")
every_format = pytest.mark.parametrize("form", TOKEN_FORMATS)
NAMES = [f"data_train_{i:06d}" for i in range(1, 200)]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder for each example: Hypothesis takes no fixture for that."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "data"


# Writes: ids, and the ends among them. n_vocab up to where dtypes change.
writes_of_ids = st.lists(
    st.lists(st.integers(0, 299), max_size=9).flatmap(
        lambda ids: st.tuples(
            st.just(ids), st.lists(st.integers(0, len(ids)), max_size=4).map(sorted)
        )
    ),
    max_size=7,
)  # fmt: skip


def joined(writes: list[tuple[list[int], list[int]]]) -> tuple[list[int], list[int]]:
    ids, ends = [], []
    for more, more_ends in writes:
        ends += [len(ids) + end for end in more_ends]
        ids += more
    return ids, ends


@st.composite
def layouts(draw: Any) -> TokenLayout:
    form = draw(st.sampled_from(sorted(TOKEN_FORMATS)))
    seq_len = draw(st.none() | st.integers(1, 5)) if form in FLAT else None
    return TokenLayout(
        form,
        draw(st.sampled_from([300, 65_499, 65_500, 65_536, 65_537, 1 << 20])),
        shard_tokens=draw(st.none() | st.integers(seq_len or 1, 20)),
        seq_len=seq_len,
        pad_id=7 if seq_len else None,
        document_index=draw(st.booleans()),
    )


def wanted(layout: TokenLayout, writes: list[tuple[list[int], list[int]]]) -> dict[str, bytes]:
    ids, ends = joined(writes)
    index = "data_train.documents.npy" if layout.document_index else None
    return token_files.split_files(
        layout.format, ids, ends, layout.n_vocab, NAMES,
        shard_tokens=layout.shard_tokens, seq_len=layout.seq_len, pad_id=7, index=index,
    )  # fmt: skip


def write(out: SplitWriter | ShardWriter, ids: list[int], ends: list[int], kind: str = "<i8") -> None:
    out.write(np.array(ids, dtype=kind), np.array(ends, dtype=np.int64))


@given(layouts(), writes_of_ids, st.sampled_from(["<i2", "<u2", "<i4", "<u4", "<i8", ">i4"]))
def test_any_writes_give_the_files_of_the_oracle(
    layout: TokenLayout, writes: list[tuple[list[int], list[int]]], kind: str
) -> None:
    with new_folder() as folder:
        out = SplitWriter(plan_outputs(folder, layout.format, sharded=True).splits["train"], layout)
        for ids, ends in writes:
            write(out, ids, ends, kind)
        assert all(name.startswith(".") for name in contents(folder))  # nothing looks whole
        out.finish()
        found = contents(folder)
        assert found == wanted(layout, writes)
        record = out.record()
        assert {f.name: (f.bytes, f.crc32) for f in record.files} == {
            name: (len(data), f"{zlib.crc32(data):08x}") for name, data in found.items()
        }
        assert record.tokens == out.n_tokens == len(joined(writes)[0])
        n_in_files = sum(f.tokens or 0 for f in record.data_files)
        assert n_in_files == record.tokens + record.padding
        n_open = bool(record.tokens) and joined(writes)[1][-1:] < [record.tokens]
        assert record.documents == len(joined(writes)[1]) + n_open
        if find_format(layout.format).whole_documents:
            assert sum(f.documents or 0 for f in record.data_files) == record.documents


@given(layouts(), writes_of_ids, st.data())
def test_a_kill_anywhere_leaves_no_trace(
    layout: TokenLayout, writes: list[tuple[list[int], list[int]]], data: Any
) -> None:
    """The state goes through JSON; what was written after the sync is lost, and written again."""
    actions = data.draw(st.lists(st.sampled_from(["write", "sync", "kill", "complete"]), max_size=15))
    with new_folder() as folder:
        out = SplitWriter(plan_outputs(folder, layout.format, sharded=True).splits["train"], layout)
        state, done, i = json.dumps(out.sync()), 0, 0
        for action in [*actions, *["write"] * len(writes), "complete"]:
            if action == "kill":
                out.close()
                out, i = SplitWriter.reopen(json.loads(state)), done
            elif action == "sync":
                state, done = json.dumps(out.sync()), i
            elif action == "write" and i < len(writes):
                write(out, *writes[i])
                i += 1
            elif action == "complete" and i == len(writes):
                out.complete()
        out.publish()
        assert contents(folder) == wanted(layout, writes)
        undisturbed = SplitWriter(plan_outputs(folder / "again", layout.format, True).splits["train"], layout)
        for ids, ends in writes:
            write(undisturbed, ids, ends)
        undisturbed.complete()
        assert (out.n_tokens, out.n_documents) == (undisturbed.n_tokens, undisturbed.n_documents)
        undisturbed.discard()


@every_format
def test_what_a_kill_left_is_cut_off_even_if_less_follows(form: str, tmp_path: Path) -> None:
    layout = TokenLayout(form, 300, document_index=True)
    out = SplitWriter(plan_outputs(tmp_path / "data", form, sharded=True).splits["train"], layout)
    write(out, [1, 2], [1, 2])
    state = out.sync()
    write(out, [3, 4, 5], [1, 2, 3])
    out.complete()
    out.close()
    SplitWriter.reopen(state).finish()
    assert contents(tmp_path / "data") == wanted(layout, [([1, 2], [1, 2])])


@every_format
def test_an_index_larger_than_a_block(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_ends, "NUMBERS_BLOCK", 3)
    layout = TokenLayout(form, 300, document_index=True)
    out = SplitWriter(plan_outputs(tmp_path / "data", form, sharded=True).splits["train"], layout)
    writes = [(list(range(20)), [1, 1, 2, 3, 5, 8, 13, 20]), ([1, 2], [0, 2, 2])]
    for ids, ends in writes:
        write(out, ids, ends)
    out.finish()
    assert contents(tmp_path / "data") == wanted(layout, writes)


@every_format
def test_a_kill_while_files_get_their_names(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever number of renames was done, the state that was taken when all was complete goes on."""
    layout = TokenLayout(form, 300, shard_tokens=4, document_index=True)
    writes = [([1, 2, 3, 4, 5, 6], [3, 3, 5]), ([7, 8, 9, 10], [1, 4])]
    n_files = len(wanted(layout, writes))
    for n_renames in range(n_files + 1):
        folder = tmp_path / str(n_renames) / "data"
        out = SplitWriter(plan_outputs(folder, form, sharded=True).splits["train"], layout)
        for ids, ends in writes:
            write(out, ids, ends)
        out.complete()
        state = json.dumps(out.sync())
        left = [n_renames]
        rename = Path.replace

        def replace(self: Path, target: Path, left: list[int] = left, rename: Any = rename) -> Path:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return rename(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(part_file.Path, "replace", replace)
            if n_renames < n_files:
                with pytest.raises(KeyboardInterrupt):
                    out.publish()
            else:
                out.publish()
        again = SplitWriter.reopen(json.loads(state))
        again.publish()
        assert contents(folder) == wanted(layout, writes)
        assert again.record() == out.record()


@every_format
def test_one_file(form: str, tmp_path: Path) -> None:
    layout = TokenLayout(form, 300)
    out = ShardWriter(tmp_path / f"a.b{find_format(form).suffix}", layout, tmp_path / "a.b.documents.npy")
    write(out, [1, 2, 3], [2, 2])
    state = out.sync()
    write(out, [4, 5], [1])
    out.close()
    out = ShardWriter.reopen(state)
    write(out, [4, 5], [1])
    out.finish()
    assert contents(tmp_path) == token_files.split_files(
        form, [1, 2, 3, 4, 5], [2, 2, 4], 300, ["a.b"], index="a.b.documents.npy"
    )
    assert (out.n_documents, out.n_tokens) == (4, 5)
    with pytest.raises(OutputError, match="complete"):
        write(out, [1], [])


# --- what does not fit ----------------------------------------------------------------------------


@every_format
@pytest.mark.parametrize("wrong", [-1, 300, 65_536, 2**31, 2**40])
@pytest.mark.parametrize("checked", [False, True])
def test_nothing_wraps(form: str, wrong: int, checked: bool, tmp_path: Path) -> None:
    out = ShardWriter(tmp_path / "a.x", TokenLayout(form, 300))
    with pytest.raises(OutputError, match=f"id {wrong} is not in 0..299"):
        out.write(np.array([1, wrong]), checked=checked)
    out.discard()
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("form", "n_vocab", "dtype"),
    [
        ("npy", 65_536, "<u2"), ("npy", 65_537, "<u4"), ("bin", 65_536, "<u2"), ("bin", 65_537, "<u4"),
        ("datatrove", 65_536, "<u2"), ("datatrove", 65_537, "<u4"), ("llmc", 65_536, "<u2"),
        ("llmc", 65_537, "<u4"), ("megatron", 65_499, "<u2"), ("megatron", 65_500, "<i4"),
    ],
)  # fmt: skip
def test_the_dtype_and_its_greatest_id(form: str, n_vocab: int, dtype: str, tmp_path: Path) -> None:
    layout = TokenLayout(form, n_vocab)
    assert layout.dtype == dtype
    out = ShardWriter(tmp_path / "a.x", layout)
    out.write(np.array([n_vocab - 1]))
    out.finish()
    assert (tmp_path / "a.x").read_bytes().endswith(token_files.packed([n_vocab - 1], dtype))


def test_ids_of_the_files_dtype_are_not_looked_at_when_they_are_checked(tmp_path: Path) -> None:
    out = ShardWriter(tmp_path / "a.bin", TokenLayout("bin", 300))
    out.write(np.array([299], dtype="<u2"), checked=True)
    with pytest.raises(OutputError, match="id 300"):
        out.write(np.array([300], dtype="<u2"))
    out.finish()
    assert (tmp_path / "a.bin").read_bytes() == b"\x2b\x01"


def test_more_tokens_than_a_format_can_tell(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="int32 of megatron"):
        TokenLayout("megatron", 2**31 + 1)
    with pytest.raises(OutputError, match="fit neither"):
        TokenLayout("bin", 2**32 + 1)
    with pytest.raises(OutputError, match="2,147,483,647"):
        TokenLayout("llmc", 300, shard_tokens=2**31)
    out = ShardWriter(tmp_path / "a.bin", TokenLayout("llmc", 300))
    out.n_tokens = 2**31 - 3  # as if so many were there
    huge = np.broadcast_to(np.zeros(1, dtype="<u2"), (3,))
    with pytest.raises(OutputError, match=r"at most 2,147,483,647 .*, not 2,147,483,648.*--shard-tokens"):
        out.write(huge)
    out.n_tokens = 2**31 - 4
    out.write(huge)
    out.discard()
    out = ShardWriter(tmp_path / "b.bin", TokenLayout("megatron", 300))
    out.n_tokens = 2**31 - 1
    with pytest.raises(OutputError, match="2,147,483,648 tokens, more than an int32 tells"):
        out.write(np.zeros(1, dtype=np.int64), np.array([1]))
    out.discard()
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("ids", "ends", "error"),
    [
        ([1, 2], [3], OutputError), ([1, 2], [-1], OutputError), ([1, 2], [2, 1], OutputError),
        ([1.0], [], TypeError), ([[1]], [], TypeError), ([1], [1.0], TypeError), ([1], [[1]], TypeError),
        ([True], [], TypeError),
    ],
)  # fmt: skip
def test_what_is_no_ids_and_no_ends(ids: Any, ends: Any, error: type[Exception], tmp_path: Path) -> None:
    plan = plan_outputs(tmp_path / "data", "bin", sharded=True).splits["train"]
    out = SplitWriter(plan, TokenLayout("bin", 300))
    with pytest.raises(error):
        out.write(np.array(ids), np.array(ends))
    write(out, [1], [1])  # nothing was written, so nothing is lost
    out.finish()
    assert contents(tmp_path / "data") == {"data_train_000001.bin": b"\x01\x00"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "parquet"}, "unknown token format 'parquet'; there are: npy, bin"),
        ({"n_vocab": 0}, "n_vocab is 0"),
        ({"shard_tokens": 0}, "shard_tokens is 0"),
        ({"seq_len": -1, "pad_id": 0}, "seq_len is -1"),
        ({"seq_len": 4}, "pad_id"),
        ({"seq_len": 4, "pad_id": 300}, "pad_id 300 is not in 0..299"),
        ({"seq_len": 4, "pad_id": 0, "shard_tokens": 3}, "less than one row"),
        ({"seq_len": 4, "pad_id": 0, "format": "megatron"}, "sequence of its own.*--seq-len"),
        ({"seq_len": 4, "pad_id": 0, "format": "datatrove"}, "sequence of its own.*--seq-len"),
    ],
)
def test_settings_that_do_not_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OutputError, match=message):
        TokenLayout(**{"format": "bin", "n_vocab": 300} | options)


def test_shards_need_a_folder(tmp_path: Path) -> None:
    plan = plan_outputs(tmp_path / "ids", "bin", sharded=False).splits["train"]
    with pytest.raises(OutputError, match="plan a folder"):
        SplitWriter(plan, TokenLayout("bin", 300, shard_tokens=4))
    assert contents(tmp_path) == {}


# --- errors of the system -------------------------------------------------------------------------


class FullDisk:
    """Writes that end half-way after some bytes, then fail, as a full disk does it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        real = Path.open

        def opened(path: Path, *arguments: Any, **options: Any) -> Any:
            file = real(path, *arguments, **options)
            return Limited(file, self) if options.get("buffering") == 0 else file

        monkeypatch.setattr(part_file.Path, "open", opened)


class Limited:
    def __init__(self, file: Any, disk: FullDisk) -> None:
        self._file, self._disk = file, disk

    def write(self, data: memoryview) -> int:
        n = min(len(data), self._disk.room)
        if n == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._disk.room -= n
        return self._file.write(data[:n])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@every_format
def test_a_full_disk(form: str, tmp_path: Path) -> None:
    """Wherever it is full: an error that names the file, nothing that looks whole, and a way on."""
    layout = TokenLayout(form, 300, shard_tokens=4, document_index=True)
    writes = [([1, 2, 3, 4, 5], [3]), ([7, 8], [1, 2, 2]), ([9, 9], [2])]
    files = wanted(layout, writes)
    n_failed = 0
    for room in range(0, sum(map(len, files.values())) + 100, 7 if form != "llmc" else 41):
        folder = tmp_path / str(room) / "data"
        plan = plan_outputs(folder, form, sharded=True).splits["train"]
        out, state, done = None, None, 0
        try:
            with pytest.MonkeyPatch.context() as patch:
                FullDisk(patch, room)
                out = SplitWriter(plan, layout)
                for ids, ends in writes:
                    state = out.sync()
                    write(out, ids, ends)
                    done += 1
                out.complete()
        except OutputError as error:
            n_failed += 1
            assert "No space left on device" in str(error) and str(folder) in str(error)
            assert all(name.startswith(".") for name in contents(folder))
            if out is not None and done < len(writes):
                for refused in (out.sync, out.complete, lambda out=out: write(out, [1], [])):
                    with pytest.raises(OutputError, match="failed"):
                        refused()
        if out is not None:
            out.close()
        if n_failed % 2 and out is not None:  # once more space, once no more wish
            out = SplitWriter.reopen(json.loads(json.dumps(state))) if state else SplitWriter(plan, layout)
            for ids, ends in writes[min(done, len(writes) - 1) if state else 0 :]:
                write(out, ids, ends)
            out.finish()
            assert contents(folder) == files
        elif out is not None:
            out.discard()
        if not n_failed % 2 or out is None:
            assert contents(folder) == {}
        shutil.rmtree(folder)
    assert n_failed > 3


def test_a_step_that_is_broken_off_is_not_taken_for_a_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the ends of documents and their ids."""
    out = ShardWriter(tmp_path / "ids.bin", TokenLayout("megatron", 300))
    write(out, [1, 2], [1])
    state = out.sync()

    def interrupt(self: part_file.PartFile, data: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(part_file.PartFile, "append", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write(out, [3], [])
    for refused in (out.sync, out.complete, lambda: write(out, [1], [])):
        with pytest.raises(OutputError, match="failed"):
            refused()
    out.close()
    again = ShardWriter.reopen(state)
    write(again, [3], [])
    again.finish()
    assert contents(tmp_path) == token_files.split_files("megatron", [1, 2, 3], [1], 300, ["ids"])


def test_a_disk_that_fails_to_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = ShardWriter(tmp_path / "ids.bin", TokenLayout("bin", 300))
    write(out, [1], [])

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(part_file.os, "fsync", fail)
        with pytest.raises(OutputError, match=r"ids\.bin: cannot be written: Input/output error"):
            out.sync()
    with pytest.raises(OutputError, match="failed"):
        out.finish()
    out.discard()
    assert contents(tmp_path) == {}


KILLED = """
import json, os, signal, sys
import numpy as np
from pathlib import Path
from bpenb.dataset import SplitWriter, TokenLayout, plan_outputs
layout = TokenLayout(sys.argv[1], 300, shard_tokens=50, document_index=True)
state = Path("state.json")
if state.exists():
    step, saved = json.loads(state.read_text())
    out = SplitWriter.reopen(saved)
else:
    step, out = 0, SplitWriter(plan_outputs("data", layout.format, sharded=True).splits["train"], layout)
for step in range(step, 40):
    if step % 7 == 0:
        Path("state.new").write_text(json.dumps([step, out.sync()]))
        os.replace("state.new", state)
    if step == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    out.write(np.arange(step, step + 11), np.array([0, 4, 4]))
out.finish()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
@every_format
def test_a_process_that_is_really_killed(form: str, tmp_path: Path) -> None:
    for kill_at, code in ((5, -signal.SIGKILL), (23, -signal.SIGKILL), (39, -signal.SIGKILL), (99, 0)):
        run = subprocess.run([sys.executable, "-c", KILLED, form, str(kill_at)], cwd=tmp_path)
        assert run.returncode == code
        assert code == 0 or all(name.startswith(".") for name in contents(tmp_path / "data"))
    writes = [(list(range(step, step + 11)), [0, 4, 4]) for step in range(40)]
    layout = TokenLayout(form, 300, shard_tokens=50, document_index=True)
    assert contents(tmp_path / "data") == wanted(layout, writes)


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    part = tmp_path / ".ids.bin.00000000.part"
    part.symlink_to(full)
    with pytest.raises(OutputError, match=r"ids\.bin: cannot be written: No space left on device"):
        ShardWriter(tmp_path / "ids.bin", TokenLayout("llmc", 300), token="00000000")
    assert contents(tmp_path) == {}


def test_parts_that_something_cut_or_took_away(tmp_path: Path) -> None:
    out = ShardWriter(tmp_path / "ids.bin", TokenLayout("bin", 300))
    write(out, [1, 2, 3], [])
    state = out.sync()
    out.close()
    (part,) = tmp_path.iterdir()
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(OutputError, match="has 5 bytes, but 6 were safe"):
        ShardWriter.reopen(state)
    part.unlink()
    with pytest.raises(OutputError, match=r"part: is missing.*start it anew"):
        ShardWriter.reopen(state)
    (tmp_path / "ids.bin").write_bytes(b"\1\0\2\0\3\0")  # of the same size and content, but not ours
    with pytest.raises(OutputError, match="is missing"):
        ShardWriter.reopen(state)


def test_a_folder_that_cannot_be_made_or_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    plan = SplitPlan(tmp_path / "file" / "data", "data_train", ".bin", 1)
    with pytest.raises(OutputError, match="cannot be made"):
        SplitWriter(plan, TokenLayout("bin", 300))
    with pytest.raises(OutputError, match="cannot be written"):
        ShardWriter(tmp_path / "no" / "ids.bin", TokenLayout("bin", 300))


# --- checksums ------------------------------------------------------------------------------------


@given(st.binary(max_size=50), st.binary(max_size=300))
def test_checksums_of_parts_make_that_of_the_whole(first: bytes, second: bytes) -> None:
    assert combine_crc32(zlib.crc32(first), zlib.crc32(second), len(second)) == zlib.crc32(first + second)
