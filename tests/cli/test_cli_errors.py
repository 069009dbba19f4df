from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import Result, command, environment

Cli = Callable[..., Result]


# --- the command line is wrong: exit code 2 ---------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "Missing command"),
        (["trian"], "trian"),
        (["train"], "INPUT"),
        (["encode"], "INPUT"),
        (["train", "corpus.txt", "--vocab", "many"], "--vocab"),
        (["train", "corpus.txt", "--vocab-size", "many"], "integer"),
        (["train", "corpus.txt", "--ties", "rust"], "huggingface"),
        (["train", "corpus.txt", "--progress", "loud"], "json"),
        (["train", "corpus.txt", "--errors", "ignore"], "replace"),
        (["train", "corpus.txt", "--special-token", "<s>", "--no-special-tokens"], "exclude"),
        (["demo", "extra"], "extra"),
    ],
)
def test_usage_errors(cli: Cli, corpus: Path, arguments: list[str], hint: str) -> None:
    result = cli(*arguments)
    assert result.code == 2
    assert hint in result.error_line
    assert "--help" in result.error_line
    assert result.out == b""


# --- the work cannot be done: exit code 1 -----------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["train", "missing.txt"], "missing.txt"),
        (["train", "."], "."),
        (["train", "corpus.txt", "--vocab-size", "100"], "vocab_size"),
        (["train", "corpus.txt", "--vocab-size", "-1"], "vocab_size"),
        (["train", "corpus.txt", "--workers", "0"], "workers"),
        (["train", "corpus.txt", "--min-frequency", "-1"], "min_frequency"),
        (["train", "corpus.txt", "--max-token-length", "0"], "max_token_length"),
        (["train", "corpus.txt", "--pattern", "gpt3"], "gpt3"),
        (["train", "corpus.txt", "--pattern", "(unclosed"], "compile"),
        (["train", "corpus.txt", "--special-token", ""], "special"),
        (["train", "corpus.txt", "--profile", "missing/profile.out"], "missing"),
        (["train", "latin1.txt"], "byte 5"),
        (["encode", "corpus.txt"], "tokenizer"),
        (["encode", "corpus.txt", "-t", "missing"], "missing"),
        (["encode", "corpus.txt", "-t", "corpus.txt"], "corpus.txt"),
        (["decode", "corpus.txt", "-t", "missing"], "missing"),
    ],
)
def test_errors_are_one_line(cli: Cli, corpus: Path, tmp_path: Path, arguments: list[str], hint: str) -> None:
    (tmp_path / "latin1.txt").write_bytes(b"caf\xc3\xa9\xe9 au lait")
    before = sorted(tmp_path.iterdir())
    result = cli(*arguments, "--progress", "none")
    assert result.code == 1
    assert hint in result.error_line
    assert result.out == b""
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"no array", "not a .npy file"),
        (b"", "not a .npy file"),
        (None, "2147483648"),
    ],
)
def test_ids_that_cannot_be_decoded(
    cli: Cli, tmp_path: Path, trained: Path, content: bytes | None, hint: str
) -> None:
    path = tmp_path / "ids.npy"
    if content is None:
        np.save(path, np.array([2**31], dtype=np.uint32))
    else:
        path.write_bytes(content)
    result = cli("decode", path, "-t", trained, "--progress", "none")
    assert result.code == 1
    assert hint in result.error_line
    assert result.out == b""


def test_a_file_to_encode_that_is_missing_or_not_utf8(cli: Cli, tmp_path: Path, trained: Path) -> None:
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    assert "missing.txt" in cli("encode", "missing.txt", "-t", trained, "--progress", "none").error_line
    result = cli("encode", "latin1.txt", "-t", trained, "--progress", "none")
    assert (result.code, result.out) == (1, b"")
    assert "latin1.txt: byte 3" in result.error_line


def test_a_damaged_tokenizer(cli: Cli, corpus: Path, tmp_path: Path, trained: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in trained.iterdir():
        (folder / path.name).write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    result = cli("encode", corpus, "-t", folder, "--progress", "none")
    assert result.code == 1
    assert "damaged" in result.error_line


def test_a_folder_of_something_else_is_kept_unless_forced(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.txt").write_text("precious")
    small = ("train", corpus, "--vocab-size", "300", "--progress", "none", "-o", folder)
    result = cli(*small)
    assert result.code == 1
    assert "thesis" in result.error_line
    assert "force" in result.error_line
    assert (folder / "chapter1.txt").read_text() == "precious"
    assert cli(*small, "--force").code == 0
    assert (folder / "tokenizer.json").exists()


def test_a_refused_folder_is_told_before_the_work(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "notes.txt").touch()
    assert "force" in cli("train", "missing.txt", "--progress", "none").error_line


def test_training_again_replaces_the_tokenizer(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    for size in (300, 280):
        assert cli("train", corpus, "--vocab-size", str(size), "--progress", "none").code == 0
    assert [p.name for p in tmp_path.iterdir() if p.name != "corpus.txt"] == ["tokenizer"]


# --- pipes that end early ---------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
@pytest.mark.parametrize("what", ["encode", "decode", "--help"])
def test_a_reader_that_has_seen_enough(tmp_path: Path, trained: Path, what: str) -> None:
    (tmp_path / "corpus.txt").write_bytes(b"low lower lowest " * 50_000)
    np.save(tmp_path / "ids.npy", np.full(500_000, 97, dtype=np.uint16))
    arguments = {
        "encode": ["encode", "corpus.txt", "-t", trained],
        "decode": ["decode", "ids.npy", "-t", trained],
        "--help": ["--help"],
    }[what]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        command(*arguments),
        cwd=tmp_path,
        env=environment(),
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(write_end)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
