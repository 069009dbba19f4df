"""What files are called, what is replaced, and what is never touched; the manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.dataset import (
    Manifest,
    OutputPlan,
    SplitWriter,
    TokenLayout,
    input_digest,
    model_digest,
    part_file,
    plan_outputs,
    publish_dataset,
)
from bpenb.errors import CorpusError, FormatError, OutputError
from bpenb.model import BPEModel


def make(
    plan: OutputPlan, layout: TokenLayout, n_tokens: int = 10, *, publish: bool = True
) -> tuple[dict[str, SplitWriter], Manifest]:
    """Write 0, 1, 2, … into every split, in documents of three tokens."""
    writers = {name: SplitWriter(split, layout) for name, split in plan.splits.items()}
    for writer in writers.values():
        writer.write(np.arange(n_tokens), np.arange(3, n_tokens + 1, 3))
        writer.complete()
    manifest = Manifest(
        tokenizer="sha256:0",
        n_vocab=layout.n_vocab,
        format=layout.format,
        dtype=layout.dtype.str,
        splits={name: writer.record() for name, writer in writers.items()},
        text_bytes=4 * n_tokens * len(writers),
        seq_len=layout.seq_len,
        settings={"shuffle": True},
        inputs=({"path": "é.txt", "bytes": 3, "digest": "d"},),
    )
    if publish:
        publish_dataset(plan, writers, manifest)
    return writers, manifest


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "path", "expected"),
    [
        ("npy", "ids", ["ids.documents.npy", "ids.manifest.json", "ids.npy"]),
        ("npy", "ids.npy", ["ids.documents.npy", "ids.manifest.json", "ids.npy"]),
        ("bin", "a.b", ["a.b.bin", "a.b.documents.npy", "a.b.manifest.json"]),
        ("llmc", "a.bin", ["a.bin", "a.documents.npy", "a.manifest.json"]),
        ("megatron", "a.bin", ["a.bin", "a.idx", "a.manifest.json"]),
        ("datatrove", "a.ds", ["a.ds", "a.ds.index", "a.ds.metadata", "a.manifest.json"]),
    ],
)
def test_one_file(form: str, path: str, expected: list[str], tmp_path: Path) -> None:
    layout = TokenLayout(form, 300, document_index=True)
    make(plan_outputs(tmp_path / path, form, sharded=False), layout)
    assert names(tmp_path) == expected


def test_a_folder_of_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = TokenLayout("llmc", 300, shard_tokens=6, document_index=True)
    make(plan_outputs(tmp_path / "web", "llmc", sharded=True, splits=("train", "val")), layout)
    assert names(tmp_path / "web") == [
        "manifest.json",
        "web_train.documents.npy", "web_train_000001.bin", "web_train_000002.bin",
        "web_val.documents.npy", "web_val_000000.bin", "web_val_000001.bin",
    ]  # fmt: skip
    monkeypatch.chdir(tmp_path / "web")  # a path without a name of its own
    assert plan_outputs(".", "npy", sharded=True, force=True).splits["train"].path_of(0).name == (
        "web_train_000001.npy"
    )


@pytest.mark.parametrize("splits", [(), ("train", "train"), ("a/b",), ("",), ("..",)])
def test_splits_that_are_no_names(splits: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no names that differ"):
        plan_outputs(tmp_path / "x", "bin", sharded=True, splits=splits)


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="unknown token format 'mds'"):
        plan_outputs(tmp_path / "x", "mds", sharded=True)


# --- what is there --------------------------------------------------------------------------------


@pytest.mark.parametrize("there", ["ids.bin", "ids.idx", "ids.manifest.json"])
def test_a_file_is_replaced_only_by_force(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_bytes(b"precious")
    with pytest.raises(OutputError, match=f"{there} exists.*--force"):
        plan_outputs(tmp_path / "ids", "megatron", sharded=False)
    plan = plan_outputs(tmp_path / "ids", "megatron", sharded=False, force=True)
    assert (tmp_path / there).read_bytes() == b"precious"
    writers, manifest = make(plan, TokenLayout("megatron", 300), publish=False)
    assert (tmp_path / there).read_bytes() == b"precious"  # until all the new is there
    publish_dataset(plan, writers, manifest)
    assert names(tmp_path) == ["ids.bin", "ids.idx", "ids.manifest.json"]
    assert (tmp_path / there).read_bytes() != b"precious"


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "ids.idx").mkdir()
    with pytest.raises(OutputError, match="no regular file"):
        plan_outputs(tmp_path / "ids", "megatron", sharded=False, force=True)
    (tmp_path / "data").mkdir()
    with pytest.raises(OutputError, match="is a folder; name a file"):
        plan_outputs(tmp_path / "data", "bin", sharded=False, force=True)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file"):
        plan_outputs(tmp_path / "file", "bin", sharded=True, force=True)


def test_a_dataset_of_ours_is_replaced_by_force(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    old = TokenLayout("bin", 300, shard_tokens=2, document_index=True)
    make(plan_outputs(folder, "bin", sharded=True, splits=("train", "val")), old)
    assert len(names(folder)) == 13
    with pytest.raises(OutputError, match=r"holds a dataset.*--force"):
        plan_outputs(folder, "megatron", sharded=True)
    plan = plan_outputs(folder, "megatron", sharded=True, force=True)
    new = make(plan, TokenLayout("megatron", 300, shard_tokens=100))[1]
    assert names(folder) == ["data_train_000001.bin", "data_train_000001.idx", "manifest.json"]
    assert Manifest.read(folder / "manifest.json") == new


def test_a_stop_while_replacing_leaves_no_manifest_beside_foreign_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = TokenLayout("bin", 300, shard_tokens=4)
    make(plan_outputs(tmp_path / "data", "bin", sharded=True), layout)
    plan = plan_outputs(tmp_path / "data", "bin", sharded=True, force=True)
    writers, manifest = make(plan, layout, 11, publish=False)

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(part_file.Path, "replace", refuse)
        with pytest.raises(OutputError, match=r"000001\.bin: cannot be written: Permission denied"):
            publish_dataset(plan, writers, manifest)
    assert "manifest.json" not in names(tmp_path / "data")
    publish_dataset(plan, writers, manifest)
    assert Manifest.read(tmp_path / "data" / "manifest.json").n_tokens == 11


@pytest.mark.parametrize("foreign", ["thesis.txt", "data_train_000009.bin"])
@pytest.mark.parametrize("with_dataset", [False, True])
def test_a_folder_of_something_else_is_never_touched(
    foreign: str, with_dataset: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    if with_dataset:
        make(plan_outputs(folder, "bin", sharded=True), TokenLayout("bin", 300, shard_tokens=4))
    folder.mkdir(exist_ok=True)
    (folder / foreign).touch()
    before = names(folder)
    for force in (False, True):
        with pytest.raises(OutputError, match=f"holds other files .{foreign}"):
            plan_outputs(folder, "bin", sharded=True, force=force)
    assert names(folder) == before


def test_a_foreign_manifest_makes_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "manifest.json").write_text('{"files": []}')
    with pytest.raises(OutputError, match=r"holds other files .manifest\.json"):
        plan_outputs(tmp_path / "data", "bin", sharded=True, force=True)


def test_what_a_broken_off_run_left_is_no_obstacle(tmp_path: Path) -> None:
    plan = plan_outputs(tmp_path / "data", "bin", sharded=True)
    out = SplitWriter(plan.splits["train"], TokenLayout("bin", 300))
    out.close()
    assert plan_outputs(tmp_path / "data", "bin", sharded=True) == plan
    out.discard()
    assert names(tmp_path / "data") == []


# --- manifest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["npy", "bin", "llmc", "megatron", "datatrove"])
@pytest.mark.parametrize("n_tokens", [0, 10])
def test_a_manifest_comes_back(form: str, n_tokens: int, tmp_path: Path) -> None:
    layout = TokenLayout(form, 70_000, shard_tokens=4, document_index=True)
    plan = plan_outputs(tmp_path / "data", form, sharded=True, splits=("train", "val"))
    _, manifest = make(plan, layout, n_tokens)
    assert Manifest.read(plan.manifest) == manifest
    data = json.loads(plan.manifest.read_text("utf-8"))
    assert next(iter(data)) == "bpenb" and data["bpenb"] == 1
    assert data["totals"] == {
        "tokens": 2 * n_tokens,
        "documents": 2 * (4 if n_tokens else 0),
        "text_bytes": 8 * n_tokens,
        "bytes_per_token": 4.0 if n_tokens else None,
    }
    for split in data["splits"].values():
        for record in split["files"]:
            assert record["bytes"] == (tmp_path / "data" / record["name"]).stat().st_size


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("bpenb"), 'no key "bpenb"'),
        (lambda d: d.update(bpenb=2), "has version 2; this release reads up to 1"),
        (lambda d: d.pop("splits"), "is damaged"),
        (lambda d: d["splits"]["train"]["files"][0].pop("crc32"), "is damaged"),
        (lambda d: d["splits"]["train"]["files"][0].update(name="../x"), "is damaged"),
        (lambda d: d.update(splits=[]), "is damaged"),
    ],
)
def test_damaged_manifests(change: Any, message: str, tmp_path: Path) -> None:
    plan = plan_outputs(tmp_path / "ids", "bin", sharded=False)
    make(plan, TokenLayout("bin", 300))
    data = json.loads(plan.manifest.read_text("utf-8"))
    change(data)
    plan.manifest.write_text(json.dumps(data))
    with pytest.raises(FormatError, match=message) as caught:
        Manifest.read(plan.manifest)
    assert "ids.manifest.json" in str(caught.value)


@pytest.mark.parametrize(("data", "message"), [(b"{", "not JSON"), (b"\xff", "not UTF-8"), (b"[]", "no key")])
def test_files_that_are_no_manifest(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        Manifest.read(tmp_path / "manifest.json")
    with pytest.raises(FormatError, match="cannot be read"):
        Manifest.read(tmp_path / "missing.json")


# --- digests --------------------------------------------------------------------------------------


def test_the_digest_of_a_model_tells_all_that_decides_ids() -> None:
    vocab = {0: b"a", 1: b"b", 2: b"ab", 3: b"ba"}
    merges = [(b"a", b"b"), (b"b", b"a")]
    same = [
        model_digest(BPEModel.from_vocab(vocab, merges, ["<s>"], "gpt2", ties))
        for ties in ("cs336", "huggingface")
    ]
    others = [
        BPEModel.from_vocab(vocab, merges[::-1], ["<s>"], "gpt2"),
        BPEModel.from_vocab(vocab, merges[:1], ["<s>"], "gpt2"),
        BPEModel.from_vocab({0: b"b", 1: b"a", 2: b"ab", 3: b"ba"}, merges, ["<s>"], "gpt2"),
        BPEModel.from_vocab({**vocab, 3: b"c"}, merges[:1], ["<s>"], "gpt2"),
        BPEModel.from_vocab(vocab, merges, ["<t>"], "gpt2"),
        BPEModel.from_vocab(vocab, merges, [], "gpt2"),
        BPEModel.from_vocab(vocab, merges, ["<s>"], "cl100k"),
    ]
    digests = [same[0], *map(model_digest, others)]
    assert same[0] == same[1]
    assert len(set(digests)) == len(digests)
    assert all(digest.startswith("sha256:") and len(digest) == 71 for digest in digests)


def test_the_digest_of_an_input(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    seen = set()
    for data in (b"", b"a", b"b", b"aa", bytes(300_000), bytes(300_001), b"x" + bytes(299_999)):
        path.write_bytes(data)
        digest = input_digest(path)
        assert digest == input_digest(str(path)) and digest.startswith("sampled-sha256:")
        seen.add(digest)
    path.write_bytes(bytes(299_999) + b"x")  # the last byte is always seen
    seen.add(input_digest(path))
    assert len(seen) == 8
    with pytest.raises(CorpusError, match=r"missing\.txt"):
        input_digest(tmp_path / "missing.txt")
