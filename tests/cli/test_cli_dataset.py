"""`bpenb decode` from every kind of file, `bpenb dataset show` and `verify`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpenb
import numpy as np
import pytest
from bpenb.dataset import (
    TOKEN_FORMATS,
    Manifest,
    SplitWriter,
    TokenLayout,
    model_digest,
    plan_outputs,
    publish_dataset,
)
from tests.cli.running import TEXT, Result

Cli = Callable[..., Result]
QUIET = ("--progress", "none")
DOCUMENTS = [TEXT[:1000], "", "été 🙂", TEXT[1000:]]


def make(path: Path, trained: Path, form: str, shard_tokens: int | None = None) -> None:
    tokenizer = bpenb.Tokenizer.load(trained)
    rows = {"seq_len": 16, "pad_id": 0} if form == "llmc" else {}
    layout = TokenLayout(form, tokenizer.n_vocab, shard_tokens=shard_tokens, document_index=True, **rows)
    plan = plan_outputs(path, form, shard_tokens is not None)
    out = SplitWriter(plan.splits["train"], layout)
    for text in DOCUMENTS:
        ids = tokenizer.encode_to_numpy(text)
        out.write(ids, np.array([len(ids)]))
    out.complete()
    manifest = Manifest(
        model_digest(tokenizer.model),
        tokenizer.n_vocab,
        form,
        layout.dtype.str,
        {"train": out.record()},
        text_bytes=len("".join(DOCUMENTS).encode()),
        seq_len=layout.seq_len,
        settings={"end_of_text": None},
        inputs=({"path": "a.txt", "bytes": 1234, "digest": "x"},),
    )
    publish_dataset(plan, {"train": out}, manifest)


@pytest.mark.parametrize("form", TOKEN_FORMATS)
def test_decode_gives_the_text_of_any_format(cli: Cli, tmp_path: Path, trained: Path, form: str) -> None:
    make(tmp_path / "data", trained, form, 500)
    text = "".join(DOCUMENTS).encode()
    whole = cli("decode", "data", "-t", trained, *QUIET)
    assert (whole.code, whole.out) == (0, text)
    written = cli("decode", "data/manifest.json", "-t", trained, "-o", "text.txt", "--errors", "strict")
    assert (written.code, written.out) == (0, b"")
    assert (tmp_path / "text.txt").read_bytes() == text


def test_decode_of_a_raw_file(cli: Cli, tmp_path: Path, trained: Path) -> None:
    ids = bpenb.Tokenizer.load(trained).encode_to_numpy(TEXT)
    (tmp_path / "ids.bin").write_bytes(ids.astype("<u4").tobytes())
    (tmp_path / "ids.raw").write_bytes(ids.astype("<u2").tobytes())
    assert cli("decode", "ids.bin", "--dtype", "u4", "-t", trained).out == TEXT.encode()
    assert cli("decode", "ids.raw", "--dtype", "u2", "-t", trained).out == TEXT.encode()
    assert "--dtype u2" in cli("decode", "ids.raw", "-t", trained, *QUIET).error_line


def test_decode_of_what_is_not_utf8(cli: Cli, tmp_path: Path, trained: Path) -> None:
    tokenizer = bpenb.Tokenizer.load(trained)
    ids = [tokenizer.model.byte_ids[byte] for byte in b"caf\xe9!"]
    np.save(tmp_path / "ids.npy", np.array(ids, dtype="<u2"))
    run = ("decode", "ids.npy", "-t", trained, *QUIET)
    assert cli(*run).out == b"caf\xe9!"
    assert cli(*run, "--errors", "replace").out == "caf\ufffd!".encode()
    (tmp_path / "text.txt").write_text("before")
    result = cli(*run, "--errors", "strict", "-o", "text.txt")
    assert result.code == 1
    assert "ids.npy" in result.error_line and "token at position 3" in result.error_line
    assert (tmp_path / "text.txt").read_text() == "before"


def test_decode_names_the_place_of_an_unknown_id(cli: Cli, tmp_path: Path, trained: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array([1, 2, 60_000], dtype="<u2"))
    before = sorted(tmp_path.iterdir())
    result = cli("decode", "ids.npy", "-t", trained, "-o", "text.txt", *QUIET)
    assert result.code == 1
    assert "ids.npy: no token has the id 60000" in result.error_line
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("form", TOKEN_FORMATS)
def test_show(cli: Cli, tmp_path: Path, trained: Path, form: str) -> None:
    make(tmp_path / "data", trained, form, 500)
    result = cli("dataset", "show", "data")
    assert (result.code, result.err) == (0, "")
    rows = dict(line.split("\t") for line in result.out.decode().splitlines())
    manifest = Manifest.read(tmp_path / "data" / "manifest.json")
    assert rows["format"].startswith(f"{form}, ids of 16 bits")
    assert (rows["tokens"], rows["documents"]) == (f"{manifest.n_tokens:,}", "4")
    assert rows["inputs"] == "1 files, 1,234 bytes"
    for i, text in enumerate(DOCUMENTS):
        shown = cli("dataset", "show", "data", "-t", trained, "--document", str(i))
        assert (shown.code, shown.out, shown.err) == (0, text.encode(), "")
    tokenizer = bpenb.Tokenizer.load(trained)
    ids = [i for text in DOCUMENTS for i in tokenizer.encode(text)]
    shown = cli("dataset", "show", "data", "-t", trained, "--tokens", "490:520")
    assert shown.out == tokenizer.decode_bytes(ids[490:520])
    assert "no document 4" in cli("dataset", "show", "data", "-t", trained, "--document", "4").error_line


def test_show_without_a_manifest_and_with_another_tokenizer(cli: Cli, tmp_path: Path, trained: Path) -> None:
    np.save(tmp_path / "ids.npy", np.arange(97, 107, dtype="<u2"))
    assert b"manifest\tnone" in cli("dataset", "show", "ids.npy").out
    assert cli("dataset", "show", "ids.npy", "-t", trained, "--tokens", "0:3").out == b"abc"
    make(tmp_path / "data", trained, "bin")
    bpenb.train_from_iterator(["a b c"], vocab_size=400).save(tmp_path / "other")
    shown = cli("dataset", "show", "data.bin", "-t", "other", "--tokens", "0:0")
    assert shown.code == 0 and "warning" in shown.err and "another tokenizer" in shown.err
    assert "another tokenizer" in cli("dataset", "verify", "data.bin", "-t", "other").error_line


@pytest.mark.parametrize(
    "arguments", [["--tokens", "5"], ["--tokens", "5:3"], ["--document", "0", "--tokens", "1:2"]]
)
def test_parts_that_make_no_sense(cli: Cli, tmp_path: Path, trained: Path, arguments: list[str]) -> None:
    make(tmp_path / "data", trained, "bin")
    result = cli("dataset", "show", "data.bin", "-t", trained, *arguments)
    assert result.code == 2 and "--tokens" in result.error_line


@pytest.mark.parametrize("form", TOKEN_FORMATS)
def test_verify(cli: Cli, tmp_path: Path, trained: Path, form: str) -> None:
    make(tmp_path / "data", trained, form, 500)
    result = cli("dataset", "verify", "data", "-t", trained)
    assert (result.code, result.out) == (0, b"")
    assert "every id is a token; documents in order" in result.err
    assert '"event": "verified"' in cli("dataset", "verify", "data", "--progress", "json").err
    path = min((tmp_path / "data").glob("data_train_000001.*"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    result = cli("dataset", "verify", "data", *QUIET)
    assert result.code == 1
    assert path.name in result.error_line
