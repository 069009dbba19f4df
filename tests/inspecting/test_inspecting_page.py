"""docs/inspecting.md: its examples run, as Python and as commands; its table is complete."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import bpenb
import pytest
from bpenb.inspecting.facts import KINDS
from tests.cli.running import TEXT, command, environment

PAGE = (Path(__file__).parents[2] / "docs" / "inspecting.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    bpenb.train_from_iterator([TEXT], vocab_size=330).save("tokenizer")
    bpenb.train_from_iterator([TEXT], vocab_size=300, pattern="cl100k").save("other")
    Path("corpus.txt").write_bytes(TEXT.encode())
    Path("more.jsonl").write_text('{"text": "low lower"}\n')
    return tmp_path


def test_the_python_examples_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    blocks = _blocks("python")
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "inspecting.md", "exec"), names)
    assert f"{TEXT.count('<|endoftext|>')} documents" in capsys.readouterr().out
    assert names["found"].texts.n_tokens == len(names["tokenizer"].encode(TEXT))
    assert [one.name for one in names["both"].tokenizers] == ["ours", "other"]
    assert names["both"].differing
    assert names["page"].count("<span") == len(names["encoding"])


def test_the_shell_examples_run(folder: Path) -> None:
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    assert len(lines) == 8
    for line in lines:
        words = shlex.split(line)[1:]
        stdin = Path(words.pop()).read_bytes() if words[-2:-1] == ["<"] else b""
        target = words.pop() if words[-2:-1] == [">"] else None
        words = [word for word in words if word not in ("<", ">")]
        run = subprocess.run(
            command(*words), env=environment(), input=stdin, stdout=subprocess.PIPE, check=True, timeout=300
        )
        assert run.stdout, line
        if target:
            Path(target).write_bytes(run.stdout)
    assert json.loads(Path("inspection.json").read_bytes())["texts"]["tokens"] > 0
    with Path("tokens.csv").open(encoding="utf-8", newline="") as file:
        n_tokens = len(bpenb.Tokenizer.load("tokenizer").vocab)
        assert sum(1 for _ in csv.DictReader(file)) == n_tokens
    with Path("comparison.csv").open(encoding="utf-8", newline="") as file:
        assert [row["file"] for row in csv.DictReader(file)] == ["corpus.txt", "total"] * 2


def test_every_kind_is_documented() -> None:
    assert set(re.findall(r"^\| `(\w+)` ", PAGE, re.MULTILINE)) == set(KINDS)
