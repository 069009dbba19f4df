"""Datasets read again, whatever the format; damage named; and what `verify_dataset` finds."""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
import pytest
from bpenb.dataset import (
    TOKEN_FORMATS,
    DatasetReader,
    Manifest,
    SplitWriter,
    TokenLayout,
    decode_named_blocks,
    document_index,
    iterate_ids,
    open_dataset,
    plan_outputs,
    publish_dataset,
    reader,
    verify_dataset,
)
from bpenb.errors import EncodingError, FormatError, UnknownTokenError
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.token_files import numpy_file

FLAT = ("npy", "bin", "llmc")
every_format = pytest.mark.parametrize("form", TOKEN_FORMATS)
Documents = list[list[int]]
DOCUMENTS = [[1, 2, 3], [], [4], [5, 6, 7, 8, 9, 10, 11], [], [12, 13]]


def make(path: Path, layout: TokenLayout, splits: dict[str, Documents] | None = None) -> Manifest:
    """Write documents as a dataset with a manifest; one file unless the layout has shards."""
    splits = splits or {"train": DOCUMENTS}
    plan = plan_outputs(path, layout.format, layout.shard_tokens is not None, tuple(splits))
    writers = {}
    for name, documents in splits.items():
        writers[name] = SplitWriter(plan.splits[name], layout)
        for ids in documents:
            writers[name].write(np.array(ids, dtype=np.int64), np.array([len(ids)]))
        writers[name].complete()
    n_bytes = sum(len(ids) for documents in splits.values() for ids in documents)
    manifest = Manifest(
        "sha256:0",
        layout.n_vocab,
        layout.format,
        layout.dtype.str,
        {name: writer.record() for name, writer in writers.items()},
        text_bytes=n_bytes,
        seq_len=layout.seq_len,
    )
    publish_dataset(plan, writers, manifest)
    return manifest


def all_ids(documents: Documents) -> list[int]:
    return [i for ids in documents for i in ids]


def listed(dataset: DatasetReader, **options: Any) -> list[int]:
    return [i for block in dataset.blocks(**options) for i in block.tolist()]


# --- reading --------------------------------------------------------------------------------------


@given(
    st.sampled_from(sorted(TOKEN_FORMATS)),
    st.lists(st.lists(st.integers(0, 299), max_size=6), max_size=8),
    st.lists(st.lists(st.integers(0, 299), max_size=6), max_size=3),
    st.none() | st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from([300, 65_500, 70_000]),
    st.data(),
)
def test_what_was_written_is_read(
    form: str,
    train: Documents,
    val: Documents,
    shard_tokens: int | None,
    seq_len: int,
    n_vocab: int,
    data: Any,
) -> None:
    rows = {"seq_len": seq_len, "pad_id": 0} if form in FLAT and (shard_tokens or 9) >= seq_len else {}
    layout = TokenLayout(form, n_vocab, shard_tokens=shard_tokens, document_index=True, **rows)
    splits = {"train": train} if shard_tokens is None else {"train": train, "val": val}
    documents = train if shard_tokens is None else train + val
    ids = all_ids(documents)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "READ_BLOCK", data.draw(st.integers(1, 9)))
        patch.setattr(document_index, "BLOCK", data.draw(st.integers(1, 9)))
        path = Path(folder, "data")
        manifest = make(path, layout, splits)
        place = path / "manifest.json" if shard_tokens else Path(folder, "data.manifest.json")
        data_file = Path(folder, "data" + TOKEN_FORMATS[form].suffix)
        for target in [place, path if shard_tokens else data_file]:
            dataset = open_dataset(target)
            assert dataset.manifest == manifest
            assert listed(dataset, block_ids=data.draw(st.integers(1, 7))) == ids
            assert [d.tolist() for d in dataset.documents()] == documents
            assert [dataset.document(i).tolist() for i in range(len(documents))] == documents
            assert (dataset.n_tokens, dataset.n_documents) == (len(ids), len(documents))
            start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(ids))] * 2)))
            part = dataset.read(start, stop)
            assert part.tolist() == ids[start:stop]
            assert part.dtype == dataset.dtype == layout.dtype
        check = verify_dataset(place, n_vocab)
        assert (check.n_tokens, check.n_documents, check.has_index) == (len(ids), len(documents), True)
        assert listed(open_dataset(place, split="train")) == all_ids(train)


@every_format
def test_one_shard_of_many(form: str, tmp_path: Path) -> None:
    rows = {"seq_len": 2, "pad_id": 0} if form in FLAT else {}
    layout = TokenLayout(form, 300, shard_tokens=4, document_index=True, **rows)
    make(tmp_path / "data", layout)
    found = [
        listed(open_dataset(path))
        for path in sorted((tmp_path / "data").glob(f"*_0*{TOKEN_FORMATS[form].suffix}"))
    ]
    assert all_ids(found) == all_ids(DOCUMENTS) and len(found) > 2
    first = open_dataset(tmp_path / "data" / f"data_train_000001{TOKEN_FORMATS[form].suffix}")
    if form in FLAT:
        with pytest.raises(FormatError, match="has no index of documents"):
            list(first.documents())
    else:
        assert [d.tolist() for d in first.documents()] == DOCUMENTS[:3]


@every_format
@pytest.mark.parametrize("n_vocab", [300, 70_000])
def test_without_a_manifest(form: str, n_vocab: int, tmp_path: Path) -> None:
    layout = TokenLayout(form, n_vocab, document_index=True)
    make(tmp_path / "data", layout)
    (tmp_path / "data.manifest.json").unlink()
    path = tmp_path / f"data{TOKEN_FORMATS[form].suffix}"
    for options in ({"dtype": layout.dtype}, {"n_vocab": n_vocab}):
        dataset = open_dataset(path, **options)
        assert dataset.format == form and dataset.manifest is None
        assert [d.tolist() for d in dataset.documents()] == DOCUMENTS
        assert listed(open_dataset(tmp_path, **options)) == all_ids(DOCUMENTS)
    if form == "bin":
        with pytest.raises(FormatError, match=r"nothing else tells the dtype.*--dtype"):
            open_dataset(path)
    else:
        assert listed(open_dataset(path)) == all_ids(DOCUMENTS)
        with pytest.raises(FormatError, match=r"holds ids of (16|32) bits, not of (16|32)"):
            open_dataset(path, "u2" if n_vocab == 70_000 else "u4")
    with pytest.raises(FormatError, match="splits are not known"):
        open_dataset(path, split="train")


def test_documents_of_several_sequences_as_megatron_itself_may_write(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.arange(10, dtype="<u2").tobytes())
    (tmp_path / "a.idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 4, 3)
        + struct.pack("<4i", 3, 0, 5, 2) + struct.pack("<4q", 0, 6, 6, 16) + struct.pack("<3q", 0, 2, 4)
    )  # fmt: skip
    dataset = open_dataset(tmp_path / "a.bin")
    assert [d.tolist() for d in dataset.documents()] == [[0, 1, 2], [3, 4, 5, 6, 7, 8, 9]]
    assert dataset.parts[0].index is not None
    dataset.parts[0].index.check()


@pytest.mark.parametrize("dtype", ["u1", "<u2", ">u2", "<i4", "<i8"])
def test_any_npy_of_integers(dtype: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(12).astype(dtype).reshape(3, 4))
    dataset = open_dataset(tmp_path / "a.npy")
    assert listed(dataset, block_ids=5) == list(range(12))
    assert all(block.dtype.isnative for block in dataset.blocks())


def test_ranges_and_documents_that_are_not_there(tmp_path: Path) -> None:
    make(tmp_path / "a", TokenLayout("npy", 300, document_index=True))
    dataset = open_dataset(tmp_path / "a.npy")
    for start, stop in ((-1, 2), (0, 14), (3, 2)):
        with pytest.raises(FormatError, match=f"tokens {start}:{stop} are not within 0:13"):
            dataset.read(start, stop)
    for i in (-1, 6):
        with pytest.raises(FormatError, match=f"no document {i}; there are 6"):
            dataset.document(i)


# --- damage ---------------------------------------------------------------------------------------


def damage(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


GOOD_LLMC = struct.pack("<256i", 20240520, 1, 3, *[0] * 253) + bytes(6)
GOOD_INDEX = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 1, 2) + struct.pack("<iqqq", 3, 0, 0, 1)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"a\.bin: is missing"),
        ({"a.bin": bytes(5)}, "5 bytes do not divide into ids of 2"),
        ({"a.bin": GOOD_LLMC[:-2]}, "cut short: 3 ids make 1,030 bytes, and it has 1,028"),
        ({"a.bin": GOOD_LLMC + b"xx"}, "more bytes follow"),
        ({"a.bin": GOOD_LLMC[:100]}, "cut short"),
        ({"a.bin": GOOD_LLMC[:4] + b"\2" + GOOD_LLMC[5:]}, "magic number 20240520, version 2: unknown"),
        ({"a.bin": bytes(6), "a.idx": b"MMIDIDY" + GOOD_INDEX[7:]}, "does not begin with MMIDIDX"),
        ({"a.bin": bytes(6), "a.idx": GOOD_INDEX[:20]}, "does not begin with MMIDIDX"),
        ({"a.bin": bytes(6), "a.idx": GOOD_INDEX[:9] + b"\2" + GOOD_INDEX[10:]}, "version 2, dtype code 8"),
        ({"a.bin": bytes(6), "a.idx": GOOD_INDEX[:17] + b"\6" + GOOD_INDEX[18:]}, "version 1, dtype code 6"),
        ({"a.bin": bytes(6), "a.idx": GOOD_INDEX[:-8]}, r"a\.idx: has 54 bytes, where 1 documents make 62"),
        (
            {"a.bin": bytes(6), "a.idx": GOOD_INDEX[:18] + b"\xff" * 16 + GOOD_INDEX[34:]},
            "of -1 sequences",
        ),
        ({"a.bin": bytes(6), "a.documents.npy": numpy_file(np.zeros(3))}, "float64, not integers"),
        ({"a.bin": bytes(6), "a.documents.npy": numpy_file(np.zeros(3, "<i4"))}, r"no offsets \(int64\)"),
        ({"a.bin": bytes(6), "a.documents.npy": numpy_file(np.zeros(3, "<i8"))[:-1]}, "has 151 bytes"),
    ],
)
def test_damaged_files(files: dict[str, bytes], message: str, tmp_path: Path) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=message):
        open_dataset(tmp_path / "a.bin", n_vocab=300)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"some text", "no token file that is known: not a .npy file"),
        ("a.npy", b"some text", "not a .npy file"),
        ("a.npy", numpy_file(np.zeros(3)), "float64, not integers"),
        ("a.npy", numpy_file(np.zeros((2, 2, 2), dtype=int)), r"shape \(2, 2, 2\)"),
        ("a.npy", numpy_file(np.asfortranarray(np.zeros((2, 2), dtype=int))), "Fortran order"),
        ("a.npy", numpy_file(np.arange(3))[:-1], "cut short"),
        ("a.npy", numpy_file(np.arange(3)) + b"x", "more bytes follow"),
        ("a.ds", bytes(3), "do not divide"),
    ],
)
def test_files_that_are_something_else(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=message):
        open_dataset(tmp_path / name, n_vocab=300)


def test_dtypes_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(8))
    for dtype in ("f4", "u8", "x", "i2"):
        with pytest.raises(FormatError, match="ids are u2, u4 or i4"):
            open_dataset(tmp_path / "a.bin", dtype)


def test_folders_that_are_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no data files"):
        open_dataset(tmp_path)
    (tmp_path / "a.npy").touch()
    (tmp_path / "a.bin").touch()
    with pytest.raises(FormatError, match=r"several kinds \(\.bin, \.npy\)"):
        open_dataset(tmp_path)


@pytest.mark.parametrize("offsets", [[0, 3, 2, 13], [0, 14], [-1, 13], [1, 13], [0, 12]])
def test_an_index_that_is_wrong(offsets: list[int], tmp_path: Path) -> None:
    make(tmp_path / "a", TokenLayout("npy", 300, document_index=True))
    np.save(tmp_path / "a.documents.npy", np.array(offsets, dtype="<i8"))
    (tmp_path / "a.manifest.json").unlink()
    index = open_dataset(tmp_path / "a.npy").parts[0].index
    assert index is not None
    with pytest.raises(FormatError, match=r"a\.documents\.npy: (document|its documents)"):
        index.check()


# --- verifying ------------------------------------------------------------------------------------


def flip_last(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@every_format
def test_any_change_of_any_file_is_found(form: str, tmp_path: Path) -> None:
    make(tmp_path / "data", TokenLayout(form, 300, shard_tokens=5, document_index=True))
    folder = tmp_path / "data"
    files = [path for path in sorted(folder.iterdir()) if path.name != "manifest.json"]
    assert len(files) > 3
    for path in files:
        good = path.read_bytes()
        for bad in (good[:-1], good + b"x", flip_last(good), b"\x01" + good[1:], None):
            path.unlink() if bad is None else path.write_bytes(bad)
            if bad == good:
                continue
            with pytest.raises(FormatError, match=path.name.replace(".", r"\.")):
                verify_dataset(folder)
            path.write_bytes(good)
    verify_dataset(folder)


@every_format
def test_an_id_that_is_no_token(form: str, tmp_path: Path) -> None:
    make(tmp_path / "a", TokenLayout(form, 300))
    assert verify_dataset(tmp_path / "a.manifest.json").n_tokens == 13
    with pytest.raises(FormatError, match=r"position 12 \(counted from 0\) is 13, which is not in 0..12"):
        verify_dataset(tmp_path / "a.manifest.json", n_vocab=13)


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d["splits"]["train"].update(tokens=12),
            "0 of padding, but its files hold 13",
        ),
        (lambda d: d["splits"]["train"].update(documents=7), "7 documents, and the index has 6"),
        (
            lambda d: d["splits"]["train"]["files"][0].update(tokens=12),
            "its manifest tells of 12",
        ),
        (lambda d: d.update(dtype="<u4"), "holds ids of 16 bits, not of 32"),
        (lambda d: d.update(format="llmc"), "magic number .*unknown"),
    ],
)
def test_a_manifest_that_tells_something_else(change: Any, message: str, tmp_path: Path) -> None:
    make(tmp_path / "a", TokenLayout("npy", 300, document_index=True))
    if "magic" in message:
        (tmp_path / "a").mkdir()
        make(tmp_path / "a" / "a", TokenLayout("bin", 300))
        tmp_path = tmp_path / "a"
    rewrite(tmp_path / "a.manifest.json", change)
    with pytest.raises(FormatError, match=message):
        verify_dataset(tmp_path / "a.manifest.json")


def test_a_data_file_too_many(tmp_path: Path) -> None:
    make(tmp_path / "data", TokenLayout("bin", 300, shard_tokens=5))
    (tmp_path / "data" / "notes.txt").touch()
    verify_dataset(tmp_path / "data")
    (tmp_path / "data" / "data_train_000009.bin").touch()
    with pytest.raises(FormatError, match=r"data_train_000009\.bin: is not in the manifest"):
        verify_dataset(tmp_path / "data")


def test_without_a_manifest_nothing_can_be_verified(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    for path in (tmp_path, tmp_path / "a.npy", tmp_path / "missing"):
        with pytest.raises(FormatError, match="has no manifest"):
            verify_dataset(path)


# --- decoding -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokenizer() -> bpenb.Tokenizer:
    vocab = {i: bytes([i]) for i in range(256)} | {256: b"th", 257: "été".encode(), 260: b"\xf0\x9f"}
    return bpenb.Tokenizer(vocab, [(b"t", b"h")])


blocks_of_ids = st.lists(
    st.lists(st.sampled_from([97, 256, 257, 260, 0x99, 0x82, 0xC3, 0xA9, 0xE2, 0xAC, 0xFF]), max_size=6),
    max_size=6,
)


@given(blocks_of_ids)
def test_decoding_in_blocks_is_decoding_at_once(tokenizer: bpenb.Tokenizer, blocks: list[list[int]]) -> None:
    ids = [i for block in blocks for i in block]
    text = tokenizer.decode_bytes(ids)
    arrays = [np.array(block, dtype=np.uint16) for block in blocks]
    assert b"".join(map(bytes, decode_named_blocks(tokenizer, arrays))) == text
    assert (
        b"".join(decode_named_blocks(tokenizer, arrays, "replace"))
        == text.decode("utf-8", "replace").encode()
    )
    try:
        text.decode()
    except UnicodeDecodeError as error:
        ends = np.cumsum([len(tokenizer.token_bytes(i)) for i in ids])
        position = next(p for p, end in enumerate(ends.tolist()) if error.start < end)
        with pytest.raises(EncodingError, match=rf"the token at position {position} \(counted from 0\)"):
            list(decode_named_blocks(tokenizer, arrays, "strict", "a.npy"))
    else:
        assert b"".join(decode_named_blocks(tokenizer, arrays, "strict")) == text


@pytest.mark.parametrize(
    ("blocks", "position"),
    [
        ([[97, 260], [97]], 1),
        ([[97, 0xE2, 0x82], [97]], 1),
        ([[97, 0xE2], [0x82], [0xC3]], 1),
        ([[260], [0x99], [], [97]], 0),
        ([[97, 0xF0], [0x9F], [0x99]], 1),  # not finished at the end
        ([[97], [0xFF]], 1),
        ([[97, 0xE2], [0x82, 0xAC, 0xAC]], 4),
    ],
)
def test_where_a_text_is_not_utf8(tokenizer: bpenb.Tokenizer, blocks: list[list[int]], position: int) -> None:
    arrays = [np.array(block, dtype=np.uint16) for block in blocks]
    with pytest.raises(EncodingError, match=f"the token at position {position} "):
        list(decode_named_blocks(tokenizer, arrays, "strict"))


@pytest.mark.parametrize("wrong", [258, 261, 65_535, 2**31, -1])
def test_an_unknown_id_is_named_with_its_position(tokenizer: bpenb.Tokenizer, wrong: int) -> None:
    blocks = [np.arange(10), np.array([1, 2, wrong, wrong])]
    with pytest.raises(UnknownTokenError, match=rf"a\.npy: no token has the id {wrong}: .* position 12"):
        list(decode_named_blocks(tokenizer, blocks, name="a.npy"))


def test_other_errors(tokenizer: bpenb.Tokenizer) -> None:
    with pytest.raises(EncodingError, match="errors is 'ignore'"):
        list(decode_named_blocks(tokenizer, [], "ignore"))


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFO")
def test_ids_from_a_fifo(tmp_path: Path) -> None:
    import os
    import threading

    os.mkfifo(tmp_path / "fifo")
    data = numpy_file(np.arange(9, dtype="<u2"))
    writer = threading.Thread(target=lambda: (tmp_path / "fifo").write_bytes(data))
    writer.start()
    assert [block.tolist() for block in iterate_ids(tmp_path / "fifo")] == [list(range(9))]
    writer.join()
