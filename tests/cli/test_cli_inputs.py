"""Inputs of every kind on the command line: globs, folders, standard input, rows, bad rows, separators."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bpenb import WordCounts
from bpenb.patterns import resolve_pattern
from tests.cli.running import Result
from tests.corpus.writing import write_rows, write_text
from tests.oracles.word_counter import count_words

Cli = Callable[..., Result]


def counted(folder: Path) -> dict[bytes, int]:
    return WordCounts.load(folder / "counts.npz").to_dict()


def test_a_folder_a_glob_and_weights(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_rows(tmp_path / "in", ["low"], ".jsonl.zst")
    write_rows(tmp_path / "in", ["low"], ".parquet")
    write_text(tmp_path, "low", ".md", "one")
    write_text(tmp_path, "low", ".md.gz", "two")
    done = cli("count", "in=3", "*.md*=10")
    assert done.code == 0, done.err
    assert counted(tmp_path) == {b"low": 26}
    assert (
        cli("count", "no*.txt").error_line
        == "bpenb: no*.txt: there is no such file, and none that it matches"
    )


def test_standard_input(cli: Cli, tmp_path: Path) -> None:
    done = cli("count", "-", stdin=b"low lower")
    assert done.code == 0, done.err
    assert counted(tmp_path) == {b" lower": 1, b"low": 1}
    done = cli("train", "-", "--vocab-size", "259", "--progress", "none", stdin=b"low low")
    assert done.code == 0 and json.loads((tmp_path / "tokenizer" / "report.json").read_text())["inputs"]
    assert "given twice" in cli("count", "-", "-", stdin=b"low").error_line


def test_bad_rows_are_told_of(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path, ["low", None, None, "low"], ".jsonl", field="content")
    assert "line 1: has no field 'text'" in cli("count", path.name).error_line
    line = cli("count", path.name, "--field", "content").error_line
    assert line.startswith("bpenb: rows.jsonl, line 2: the field 'content' is null; repair it")
    first = "rows.jsonl, line 2: the field 'content' is null"
    warning = f"bpenb: warning: 2 bad rows were skipped; the first is {first}"
    for command in (
        ["count", "--force"],
        ["train", "--vocab-size", "259", "--force"],
        ["train", "--vocab-size", "257,258", "--force"],
    ):
        done = cli(*command, path.name, "--field", "content", "--skip-bad-rows", "--progress", "none")
        assert done.code == 0, done.err
        assert warning in done.err.splitlines()
    done = cli("count", path.name, "--field", "content", "--skip-bad-rows", "--progress", "json")
    events = [json.loads(line) for line in done.err.splitlines()]
    assert events[-1]["inputs"]["n_bad_rows"] == 2
    assert [event["details"]["bad_rows"] for event in events if event.get("finished")] == [2]


def test_a_separator_and_its_escapes(cli: Cli, tmp_path: Path) -> None:
    text = "low\n\n\tlow\\low"
    write_text(tmp_path, text, ".txt")
    for separator, meant in {r"\n\n\t": "\n\n\t", r"\\": "\\", "ow": "ow"}.items():
        done = cli("count", "corpus.txt", "--document-separator", separator)
        assert done.code == 0, done.err
        documents = [part.encode() for part in text.split(meant)]
        assert counted(tmp_path) == count_words(documents, resolve_pattern("gpt2").regex, ("<|endoftext|>",))
    assert r"\x is no escape" in cli("count", "corpus.txt", "--document-separator", r"\x20").err
    assert "is empty" in cli("count", "corpus.txt", "--document-separator", "").error_line
    done = cli("train", "corpus.txt", "--document-separator", r"\n\n\t", "--vocab-size", "258")
    assert done.code == 0
    assert "separated by" in done.err


@pytest.mark.parametrize("option", [["--field", "x"], ["--document-separator", "x"], ["--skip-bad-rows"]])
def test_counts_are_read_already(option: list[str], cli: Cli, tmp_path: Path) -> None:
    WordCounts.from_dict({"low": 3}).save(tmp_path / "counts.npz")
    done = cli("train", "--from-counts", "counts.npz", *option)
    assert done.code == 2 and f"{option[0]} is for reading text" in done.err
    done = cli("train", "--from-counts", "counts.npz", "--vocab-size", "258")
    assert done.code == 0, done.err
