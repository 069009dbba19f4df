"""Tokenizers that are none, given to every command that looks at one: exit code 1, one line, and where.

What is refused, and how soon, is for tests/formats/test_bad_input.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpenb
import pytest
from bpenb.formats.hf_json import tokenizer_json
from tests.cli.running import TEXT

from bpenb_cli.main import run

MEGA = 1 << 20
COMMANDS = {
    "inspect": ("inspect", "BAD"),
    "inspect --on": ("inspect", "BAD", "--on", "corpus.txt"),
    "compare": ("compare", "good", "BAD", "--on", "corpus.txt"),
    "tokens": ("tokens", "low", "-t", "BAD"),
    "convert": ("convert", "BAD", "-o", "converted"),
    "encode": ("encode", "corpus.txt", "-t", "BAD", "-o", "converted"),
}


def without_a_part(top: Any) -> None:
    del top["model"]["vocab"]["w"]  # a part of "low"


def with_an_id_twice(top: Any) -> None:
    top["model"]["vocab"]["w"] = top["model"]["vocab"]["x"]


def with_merges_turned_round(top: Any) -> None:
    top["model"]["merges"].reverse()


def with_deep_json(top: Any) -> None:
    top["normalizer"] = "DEEP"


def of_another_kind(top: Any) -> None:
    top["model"]["type"] = "Unigram"


CHANGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "a part that is missing": (without_a_part, "b'w' is not in the vocab"),
    "an id twice": (with_an_id_twice, "have the same id"),
    "merges turned round": (with_merges_turned_round, "is made by no merge before it"),
    "deep JSON": (with_deep_json, "it is nested too deeply"),
    "another kind": (of_another_kind, "model.type is 'Unigram'; only BPE is supported"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(TEXT, encoding="utf-8")
    bpenb.train_from_iterator([TEXT], vocab_size=300).save("good")
    return tmp_path


def refused(command: str, bad: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command on a bad tokenizer; return the one line that it says."""
    assert run([bad if word == "BAD" else word for word in COMMANDS[command]]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith(f"bpenb: {bad}")
    assert len(line) < 500
    assert not Path("converted").exists()
    return line


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_tokenizer_json(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, change: str
) -> None:
    top = json.loads(tokenizer_json(bpenb.Tokenizer.load("good").model))
    CHANGES[change][0](top)
    text = json.dumps(top).replace('"DEEP"', "[" * 90_000 + "]" * 90_000)
    Path("bad.json").write_text(text, encoding="utf-8")
    assert CHANGES[change][1] in refused(command, "bad.json", capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_tokenizer(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    Path("else").mkdir()
    Path("else/notes.txt").write_text("mine")
    assert "holds no tokenizer: there is no bpenb.json, tokenizer.json" in refused(command, "else", capsys)
    assert "not a tokenizer: must be a folder" in refused(command, "corpus.txt", capsys)
    Path("cut.json").write_text('{"model":\n{"type": "BPE",\n')
    assert "line 3: not JSON" in refused(command, "cut.json", capsys)


@pytest.mark.parametrize("command", ["inspect", "compare", "tokens", "convert"])
def test_100_megabytes_of_nonsense(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    Path("tokenizer.json").write_bytes(b"a" * (100 * MEGA))
    assert "tokenizer.json: line 1: " in refused(command, "tokenizer.json", capsys)


def test_a_gguf_file_of_an_unknown_pattern(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bpenb.train_from_iterator([TEXT], vocab_size=300, pattern=r"\p{L}+|\P{L}").save("own")
    capsys.readouterr()
    assert run(["convert", "own", "-o", "own.gguf"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert r"the split pattern '\\p{L}+|\\P{L}' has no name in llama.cpp that we know" in line
    assert "give it (pre=, --pre); known are" in line
    assert not Path("own.gguf").exists()
