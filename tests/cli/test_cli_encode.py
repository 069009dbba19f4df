"""`bpenb encode -o`: every option of training files, and what is said of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import get_args

import bpenb
import numpy as np
import pytest
from bpenb import Tokenizer, open_dataset, verify_dataset
from bpenb.dataset import TOKEN_FORMATS, Manifest
from bpenb.preparing.settings import SpecialOption
from tests.cli.running import TEXT, Result
from tests.corpus.writing import write_rows, write_text

from bpenb_cli import _choices, _file_kinds

Here = Callable[..., Result]
QUIET = ("--progress", "none")
EOT = "<|endoftext|>"
# A document of a text file goes up to and with its end-of-text token.
PARTS = TEXT.split(EOT)
DOCUMENTS = [part + EOT for part in PARTS[:-1]] + PARTS[-1:]


@pytest.fixture(scope="module")
def tokenizer(trained: Path) -> Tokenizer:
    return Tokenizer.load(trained)


@pytest.fixture(autouse=True)
def _corpus(corpus: Path) -> None:
    """Every test has corpus.txt."""


def encode(here: Here, trained: Path, *arguments: str, code: int = 0) -> Result:
    result = here("encode", "corpus.txt", "-t", trained, *QUIET, *arguments)
    assert result.code == code, result.err
    assert result.out == b""
    return result


def ids_of(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [tokenizer.encode(text) for text in texts]


def read_documents(path: Path, split: str | None = None) -> list[list[int]]:
    return [ids.tolist() for ids in open_dataset(path, split=split).documents()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- what is written ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", TOKEN_FORMATS)
def test_every_format_holds_the_documents(
    here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path, form: str
) -> None:
    result = encode(here, trained, "-o", "ids", "--format", form)
    assert result.err == ""
    data = f"ids{TOKEN_FORMATS[form].suffix}"
    assert read_documents(tmp_path / data) == ids_of(tokenizer, DOCUMENTS)
    assert verify_dataset(tmp_path / data).n_documents == len(DOCUMENTS)
    assert Manifest.read(tmp_path / "ids.manifest.json").format == form


@pytest.mark.parametrize(("written", "n"), [("1000", 1000), ("1k", 1000), ("1K", 1000), ("1M", 10**6)])
def test_shards(
    here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path, written: str, n: int
) -> None:
    encode(here, trained, "-o", "data", "--shard-tokens", written)
    ids = [i for document in ids_of(tokenizer, DOCUMENTS) for i in document]
    shards = [np.load(path).tolist() for path in sorted((tmp_path / "data").glob("data_train_??????.npy"))]
    assert shards == [ids[k : k + n] for k in range(0, len(ids), n)]


def test_rows(here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    encode(here, trained, "-o", "rows.npy", "--seq-len", "64")
    rows = np.load(tmp_path / "rows.npy")
    ids = [i for document in ids_of(tokenizer, DOCUMENTS) for i in document]
    assert rows.shape == (-(-len(ids) // 64), 64)
    padding = [tokenizer.special_tokens[EOT]] * (rows.size - len(ids))
    assert rows.ravel().tolist() == ids + padding


@pytest.mark.parametrize("index", [True, False])
def test_the_index_of_documents(
    here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path, index: bool
) -> None:
    encode(here, trained, "-o", "ids.bin", "--format", "bin", *([] if index else ["--no-document-index"]))
    assert (tmp_path / "ids.documents.npy").exists() == index
    if index:
        offsets = np.load(tmp_path / "ids.documents.npy")
        assert np.diff(offsets).tolist() == [len(ids) for ids in ids_of(tokenizer, DOCUMENTS)]


@pytest.mark.parametrize(
    "option", [["--append-eot"], ["--prepend-eot"], ["--append-eot", "--prepend-eot"], []]
)
def test_end_of_text_in_files_and_on_standard_output(
    here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path, option: list[str]
) -> None:
    eot = [tokenizer.special_tokens[EOT]]
    wanted = []
    for k, part in enumerate(PARTS):
        ended = eot if "--append-eot" in option or (not option and k < len(PARTS) - 1) else []
        wanted.append((eot if "--prepend-eot" in option else []) + tokenizer.encode(part) + ended)
    encode(here, trained, "-o", "ids.npy", *option)
    assert read_documents(tmp_path / "ids.npy") == wanted
    streamed = here("encode", "corpus.txt", "-t", trained, *QUIET, *option)
    (tmp_path / "streamed.npy").write_bytes(streamed.out)
    assert np.load(tmp_path / "streamed.npy").tolist() == [i for ids in wanted for i in ids]


def test_the_name_of_the_end_of_text(here: Here, tmp_path: Path) -> None:
    vocab = {i: bytes([i]) for i in range(256)}
    Tokenizer(vocab, [], ["<doc>", "<pad>"]).save(tmp_path / "two")
    Path("two.txt").write_text("a<doc>b")
    run = ("encode", "two.txt", "-t", "two", "-o", "ids.npy", "--append-eot", *QUIET)
    refused = here(*run)
    assert refused.code == 1 and "'<doc>', '<pad>'" in refused.error_line and "--eot" in refused.error_line
    assert here(*run, "--eot", "<s>").error_line.startswith("bpenb: the tokenizer has no special token '<s>'")
    assert here(*run, "--eot", "<doc>").code == 0
    assert read_documents(tmp_path / "ids.npy") == [[97, 256], [98, 256]]


def test_special_tokens(here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    for special, wanted in {"all": tokenizer.encode(TEXT), "none": tokenizer.encode_ordinary(TEXT)}.items():
        encode(here, trained, "-o", "ids.npy", "--special", special, "--force")
        assert np.load("ids.npy").tolist() == wanted
    line = encode(here, trained, "-o", "more.npy", "--special", "error", code=1).error_line
    assert "corpus.txt" in line and repr(EOT) in line and "--special" in line
    assert not (tmp_path / "more.npy").exists()
    plain = write_text(tmp_path, "low", ".txt", "plain")
    assert here("encode", plain, "-t", trained, "-o", "plain.npy", "--special", "error", *QUIET).code == 0


def test_splits_and_shuffling_are_those_of_the_seed(
    here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    texts = [f"document {k}, which is low" for k in range(200)]
    rows = write_rows(tmp_path, texts, ".jsonl")
    orders = []
    for number, seed in enumerate(("1", "1", "2")):
        out = f"data{number}"
        options = [
            "-o",
            out,
            "--val-fraction",
            "0.25",
            "--shuffle",
            "--seed",
            seed,
            "--workers",
            str(1 + number),
        ]
        assert here("encode", rows, "-t", trained, *QUIET, *options, "--max-memory", "16MB").code == 0
        train, val = (read_documents(tmp_path / out, split) for split in ("train", "val"))
        assert sorted(train + val) == sorted(ids_of(tokenizer, texts))
        assert 20 < len(val) < 80
        orders.append((train, val))
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0][0] != [ids for ids in ids_of(tokenizer, texts) if ids in orders[0][0]]
    by_call = tmp_path / "by_call"
    tokenizer.encode_files(rows, by_call, val_fraction=0.25, shuffle=True, seed=1, max_memory="16MB")
    assert (read_documents(by_call, "train"), read_documents(by_call, "val")) == orders[0]
    settings = Manifest.read(tmp_path / "data2" / "manifest.json").settings
    assert (settings["seed"], settings["shuffle"], settings["val_fraction"]) == (2, True, 0.25)


def test_how_inputs_are_read(here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_rows(folder, ["low low", None, "lower"], ".jsonl.gz", field="content")
    write_rows(folder, ["newest"], ".parquet", "table", field="content")
    write_text(folder, b"caf\xe9\n---\nlow", ".txt", "zebra")
    run = ("encode", "in/*", "-t", trained, "-o", "ids.npy", *QUIET, "--field", "content")
    assert "--skip-bad-rows" in here(*run).error_line
    assert "--errors replace" in here(*run, "--skip-bad-rows").error_line
    result = here(*run, "--skip-bad-rows", "--errors", "replace", "--document-separator", r"\n---\n")
    assert result.code == 0
    place = f"in{os.sep}rows.jsonl.gz, line 2"
    assert (
        result.err
        == f"bpenb: warning: 1 bad row was skipped; the first is {place}: the field 'content' is null\n"
    )
    texts = ["low low", "lower", "newest", "caf\ufffd", "low"]
    assert read_documents(tmp_path / "ids.npy") == ids_of(tokenizer, texts)


# --- what is there already ------------------------------------------------------------------------


def test_what_is_there_is_replaced_only_by_force(here: Here, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.npy").write_text("precious")
    assert "--force" in encode(here, trained, "-o", "ids.npy", code=1).error_line
    assert (tmp_path / "ids.npy").read_text() == "precious"
    encode(here, trained, "-o", "ids.npy", "--force")
    assert verify_dataset(tmp_path / "ids.npy").n_documents == len(DOCUMENTS)


def test_to_resume_what_is_complete_does_nothing(here: Here, trained: Path, tmp_path: Path) -> None:
    encode(here, trained, "-o", "ids.npy")
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in names(tmp_path)}
    result = here("encode", "corpus.txt", "-t", trained, "-o", "ids.npy", "--resume")
    assert result.code == 0 and "holds these tokens already: nothing to do" in result.err
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in names(tmp_path)} == before
    assert "--force" in encode(here, trained, "-o", "ids.npy", "--resume", "--append-eot", code=1).error_line


# --- what is said ---------------------------------------------------------------------------------


def test_the_summary(here: Here, trained: Path, tokenizer: Tokenizer) -> None:
    n_tokens, n_bytes = len(tokenizer.encode(TEXT)), len(TEXT.encode())
    rate = f"{n_bytes / n_tokens:.3f} bytes per token"
    result = here("encode", "corpus.txt", "-t", trained)
    phase, amounts, text = result.err.splitlines()[-3:]
    assert phase.startswith("encode: ") and phase.endswith(f"{n_tokens:,} tokens")
    assert amounts == f"{n_tokens:,} tokens, {len(DOCUMENTS)} documents"
    assert text.startswith("text: ") and rate in text and text.endswith("B/s")
    result = here("encode", "corpus.txt", "-t", trained, "-o", "ids.npy")
    _, amounts, text = result.err.splitlines()[-3:]
    assert amounts == f"ids.npy: 1 file, {n_tokens:,} tokens, {len(DOCUMENTS)} documents"
    assert rate in text and text.endswith("B/s")
    result = here("encode", "corpus.txt", "-t", trained, "-o", "data", "--val-fraction", "0.5", "--shuffle")
    lines = result.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["encode", "shuffle", "data", lines[-2], "text"]
    assert f"{n_tokens:,} tokens" in lines[0] and "bucket" in lines[1]
    manifest = Manifest.read(Path("data/manifest.json"))
    train, val = manifest.splits["train"], manifest.splits["val"]
    assert f"train {train.tokens:,} tokens, {train.documents} document" in lines[-2]
    assert f"; val {val.tokens:,} tokens, {val.documents} document" in lines[-2]


def test_the_summary_of_nothing(here: Here, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    lines = here("encode", "empty.txt", "-t", trained).err.splitlines()
    assert lines[-2:][0].startswith("0 tokens, ") and lines[-1].startswith("text: 0 B")


def test_events(here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, ["low " * 50, None, "lower"], ".jsonl")
    run = ("encode", rows, "-t", trained, "--skip-bad-rows", "--progress", "json")
    n_tokens = sum(map(len, ids_of(tokenizer, ["low " * 50, "lower"])))
    for out, more in (("-", {}), ("data", {"splits": {"train", "val"}})):
        options = [] if out == "-" else ["-o", out, "--val-fraction", "0.1", "--shuffle"]
        events = [json.loads(line) for line in here(*run, *options).err.splitlines()]
        finished = [event for event in events if event["event"] == "progress" and event["finished"]]
        assert [(event["phase"], event["unit"]) for event in finished] == [
            ("encode", "bytes"),
            ("shuffle", "buckets"),
        ][: len(finished)]
        assert finished[0]["done"] == rows.stat().st_size
        assert finished[0]["details"]["tokens"] == n_tokens
        warned, summary = events[-2:]
        assert warned["event"] == "warning" and "line 2" in warned["text"]
        told = {"event": "summary", "output": out, "tokens": n_tokens, "documents": 2, "n_bad_rows": 1}
        assert told.items() <= summary.items()
        assert summary["text_bytes"] == 205 and summary["seconds"] > 0
        assert summary.get("splits", {}).keys() == more.get("splits", set())


# --- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "option",
    ["--format bin", "--shard-tokens 1k", "--seq-len 8", "--val-fraction 0.1", "--shuffle", "--seed 1",
     "--max-memory 1GB", "--no-document-index", "--resume", "--force"],
)  # fmt: skip
def test_options_of_files_need_an_output(here: Here, trained: Path, tmp_path: Path, option: str) -> None:
    line = encode(here, trained, *option.split(), code=2).error_line
    assert f"{option.split()[0]} is for training files; name an output (-o PATH)" in line
    assert names(tmp_path) == ["corpus.txt"]


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ("-o ids --shard-tokens many", 2, "--shard-tokens: 'many' is not an integer such as"),
        ("-o ids --seq-len 1.5k", 2, "--seq-len: '1.5k' is not an integer"),
        ("-o ids --seed 3", 2, "--seed is for --shuffle and --val-fraction"),
        ("-o ids --format csv", 2, "megatron"),
        ("-o ids --special some", 2, "none"),
        ("-o ids --shard-tokens 0", 1, "shard_tokens is 0"),
        ("-o ids --seq-len -3", 1, "seq_len is -3"),
        ("-o ids --seq-len 8 --format megatron", 1, "--seq-len"),
        ("-o ids --val-fraction 1", 1, "val_fraction is 1.0"),
        ("-o ids --shuffle --seed -1", 1, "seed is -1"),
        ("-o ids --shuffle --max-memory 1MB", 1, "16MB"),
        ("-o ids --shuffle --max-memory lots", 1, "'lots'"),
        ("-o ids --workers 0", 1, "workers"),
        ("-o ids --document-separator=", 1, "is empty"),
        ("-o .", 1, "is a folder"),
        ("-o corpus.txt/ids.npy", 1, "corpus.txt"),
    ],
)
def test_options_that_make_no_sense(
    here: Here, trained: Path, tmp_path: Path, options: str, code: int, hint: str
) -> None:
    assert hint in encode(here, trained, *options.split(), code=code).error_line
    assert names(tmp_path) == ["corpus.txt"]


@pytest.mark.parametrize("option", [["-o", "data", "--shard-tokens", "10k"], ["-o", "ids.npy"]])
def test_an_error_leaves_nothing(here: Here, trained: Path, tmp_path: Path, option: list[str]) -> None:
    (tmp_path / "latin1.txt").write_bytes(b"low " * 100_000 + b"caf\xe9")
    result = here("encode", "latin1.txt", "-t", trained, *option, *QUIET)
    assert result.code == 1 and "latin1.txt: byte 400003" in result.error_line
    assert names(tmp_path) == ["corpus.txt", "latin1.txt"]


def test_inputs_that_are_missing(here: Here, trained: Path) -> None:
    for out in ([], ["-o", "ids.npy"], ["--count-only"]):
        result = here("encode", "missing.txt", "-t", trained, *QUIET, *out)
        assert result.code == 1 and "missing.txt" in result.error_line


# --- counting only --------------------------------------------------------------------------------


@pytest.fixture
def several(tmp_path: Path) -> list[str]:
    write_text(tmp_path, DOCUMENTS[0] + DOCUMENTS[1], ".txt", "one")
    write_rows(tmp_path, ["low", "lower low", ""], ".jsonl.zst", "two")
    write_text(tmp_path, "", ".txt", "void")
    return ["one.txt", "two.jsonl.zst", "void.txt"]


def counted(tokenizer: Tokenizer, texts: list[str], n_documents: int) -> dict[str, float | None]:
    n_bytes, n_tokens = len("".join(texts).encode()), sum(map(len, ids_of(tokenizer, texts)))
    rate = round(n_bytes / n_tokens, 6) if n_tokens else None
    return {"text_bytes": n_bytes, "tokens": n_tokens, "documents": n_documents, "bytes_per_token": rate}


def test_counts_as_json(
    here: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path, several: list[str]
) -> None:
    before = names(tmp_path)
    run = ("encode", *several, "-t", trained, "--count-only", "--json")
    rows = ["low", "lower low", ""]
    total = counted(tokenizer, [*DOCUMENTS[:2], *rows], 5)
    result = here(*run, *QUIET)
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out) == total | {"n_bad_rows": 0, "first_bad_row": None}
    files = json.loads(here(*run, "--per-file").out)["files"]
    assert [file.pop("path") for file in files] == several
    wanted = [counted(tokenizer, texts, n) for texts, n in ((DOCUMENTS[:2], 2), (rows, 3), ([""], 0))]
    assert files == wanted
    assert names(tmp_path) == before


def test_counts_as_a_table(here: Here, trained: Path, tokenizer: Tokenizer, several: list[str]) -> None:
    run = ("encode", *several, "-t", trained, "--count-only", "--workers", "2", *QUIET)
    lines = here(*run).out.decode().splitlines()
    total = counted(tokenizer, [*DOCUMENTS[:2], "low", "lower low", ""], 5)
    figures = [f"{total['tokens']:,}", "5", f"{total['text_bytes']:,}", f"{total['bytes_per_token']:.3f}"]
    assert lines[0].split() == ["tokens", "documents", "bytes", "bytes", "per", "token"]
    assert [line.split() for line in lines[1:]] == [["total", *figures]]
    by_file = here(*run, "--per-file").out.decode().splitlines()
    assert [line.split()[0] for line in by_file[1:]] == [*several, "total"]
    assert by_file[-1].split()[1:] == figures
    assert by_file[3].split() == ["void.txt", "0", "0", "0", "–"]
    assert all(len(a.rstrip()) == len(b.rstrip()) for a, b in pairwise(by_file))  # columns are aligned


def test_counts_of_bad_rows_and_of_special_tokens(here: Here, trained: Path, tmp_path: Path) -> None:
    write_rows(tmp_path, ["low", None], ".jsonl")
    run = ("encode", "rows.jsonl", "-t", trained, "--count-only", "--json", *QUIET)
    assert "--skip-bad-rows" in here(*run).error_line
    result = here(*run, "--skip-bad-rows")
    assert "rows.jsonl, line 2" in result.err and result.err.startswith("bpenb: warning: 1 bad row was")
    assert (told := json.loads(result.out))["n_bad_rows"] == 1 and "line 2" in told["first_bad_row"]
    run = ("encode", "corpus.txt", "-t", trained, "--count-only", "--json", *QUIET)
    told = json.loads(here(*run, "--special", "none").out)
    assert told["tokens"] > json.loads(here(*run).out)["tokens"]
    assert told["documents"] == 1


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ("--count-only -o ids.npy", "--output and --count-only exclude"),
        ("--count-only --append-eot", "--append-eot and --count-only exclude"),
        ("--count-only --prepend-eot", "--prepend-eot and"),
        ("--count-only --shuffle", "--shuffle and"),
        ("--count-only --val-fraction 0.1", "--val-fraction and"),
        ("--per-file", "--per-file is for --count-only"),
        ("--json", "--json is for --count-only"),
        ("-o ids.npy --json", "--json is for --count-only"),
    ],
)
def test_options_of_counting(here: Here, trained: Path, tmp_path: Path, options: str, hint: str) -> None:
    assert hint in encode(here, trained, *options.split(), code=2).error_line
    assert names(tmp_path) == ["corpus.txt"]


def test_counts_of_standard_input(cli: Here, trained: Path, tokenizer: Tokenizer) -> None:
    run = ("encode", "-", "-t", trained, "--count-only", "--per-file", "--json", *QUIET)
    told = json.loads(cli(*run, stdin=TEXT.encode()).out)
    assert told["files"] == [{"path": "standard input"} | counted(tokenizer, DOCUMENTS, len(DOCUMENTS))]


def test_files_from_standard_input(cli: Here, trained: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    result = cli("encode", "-", "-t", trained, "-o", "ids", "--format", "datatrove", stdin=TEXT.encode())
    assert result.code == 0, result.err
    assert read_documents(tmp_path / "ids.ds") == ids_of(tokenizer, DOCUMENTS)


# --- the choices ----------------------------------------------------------------------------------


def test_choices_are_those_of_the_rooms() -> None:
    assert [form.value for form in _file_kinds.TokenFiles] == list(TOKEN_FORMATS)
    assert tuple(special.value for special in _choices.Specials) == get_args(SpecialOption)


def test_defaults_are_those_of_the_python_api(here: Here, trained: Path, tokenizer: Tokenizer) -> None:
    encode(here, trained, "-o", "by_command")
    bpenb.encode_to_files(tokenizer, "corpus.txt", "by_call")
    settings = [
        json.loads(Path(f"{name}.manifest.json").read_text("utf-8")) for name in ("by_command", "by_call")
    ]
    for manifest in settings:
        manifest["splits"]["train"].pop("document_index")
        for file in manifest["splits"]["train"]["files"]:
            del file["name"]
    assert settings[0] == settings[1]
