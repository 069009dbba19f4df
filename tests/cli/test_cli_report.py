"""`bpenb report`: a page on disk, nothing on stdout; bad input is an error in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bpenb
import pytest
from tests.cli.running import TEXT, Result

Cli = Callable[..., Result]
QUIET = ("--progress", "none")


def test_a_page(cli: Cli, corpus: Path, trained: Path, tmp_path: Path) -> None:
    result = cli("report", trained, "--on", "corpus.txt", "-o", "page.html")
    assert (result.code, result.out) == (0, b"")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"page.html: {len(page.encode()):,} bytes" in result.err and "encode:" in result.err
    assert str(trained) in page and page.count("<svg") == 5


def test_a_file_that_tells_nothing_of_its_training(
    cli: Cli, corpus: Path, trained: Path, tmp_path: Path
) -> None:
    line = ("report", trained / "tokenizer.tiktoken", "--pattern", "gpt2", "--on", corpus, *QUIET)
    assert cli(*line).code == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<svg") == 4 and "nobody can tell" in page


def test_the_phases_come_from_report_json(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    assert cli("train", corpus, "--vocab-size", "300", *QUIET).code == 0
    assert cli("report", "tokenizer", "--on", corpus, corpus, *QUIET).code == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    seconds = json.loads((tmp_path / "tokenizer" / "report.json").read_bytes())["seconds"]
    assert page.count("<svg") == 5
    for phase in ("count", "merge", "model"):
        assert f"<td>{phase}</td><td>{seconds[phase]:,.3f}</td>" in page
    by_call = bpenb.Tokenizer.load(tmp_path / "tokenizer")
    bpenb.write_report(
        by_call, [corpus, corpus], tmp_path / "call.html", name="tokenizer", training={"seconds": seconds}
    )
    assert (tmp_path / "call.html").read_text("utf-8") == page


def test_standard_input_and_options(cli: Cli, trained: Path, tmp_path: Path) -> None:
    options = ("--passage-tokens", "5", "--special", "none", "--progress", "json")
    result = cli("report", trained, "--on", "-", "-o", "page.html", *options, stdin=TEXT.encode())
    assert result.code == 0
    events = [json.loads(line) for line in result.err.splitlines()]
    assert {"encode", "count", "replay"} <= {event.get("phase") for event in events}
    assert events[-1]["event"] == "note"
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "The first 5 tokens" in page and "standard input" in page


def test_a_file_that_is_there(cli: Cli, corpus: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    line = ("report", trained, "--on", corpus, "-o", "page.html", *QUIET)
    result = cli(*line)
    assert (result.code, (tmp_path / "page.html").read_text()) == (1, "mine")
    assert "page.html exists" in result.error_line and "--force" in result.error_line
    assert cli(*line, "--force").code == 0
    assert "<svg" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (("T",), 2, "Give --on FILE"),
        (("missing", "--on", "corpus.txt"), 1, "missing"),
        (("T", "--on", "missing.txt"), 1, "missing.txt"),
        (("T", "--on", "empty.txt"), 1, "empty.txt: no text in it"),
        (("T", "--on", "bad.txt"), 1, "bad.txt: byte 1 is not valid UTF-8"),
        (("T", "--on", "corpus.txt", "-o", "none/page.html"), 1, "there is no folder none"),
        (("T", "--on", "corpus.txt", "--passage-tokens", "0"), 2, "passage-tokens"),
        (("damaged", "--on", "corpus.txt"), 1, "report.json"),
        (("listed", "--on", "corpus.txt"), 1, "report.json"),
    ],
)
def test_what_makes_no_sense(
    cli: Cli, corpus: Path, trained: Path, tmp_path: Path, line: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "bad.txt").write_bytes(b"a\xff")
    (tmp_path / "empty.txt").write_bytes(b"")
    for name, content in (("damaged", "{"), ("listed", "[]")):
        bpenb.Tokenizer.load(trained).save(tmp_path / name)
        (tmp_path / name / "report.json").write_text(content)
    result = cli("report", *(str(trained) if word == "T" else word for word in line), *QUIET)
    assert (result.code, result.out) == (code, b"")
    assert message in result.error_line
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("name", ["classic", "classic/bpenb.json", "classic/codes.txt"])
def test_a_tokenizer_on_characters(cli: Cli, corpus: Path, tmp_path: Path, name: str) -> None:
    bpenb.train_classic(corpus, n_merges=5).save(tmp_path / "classic")
    result = cli("report", name, "--on", corpus, *QUIET)
    assert (result.code, result.out) == (1, b"")
    assert "a tokenizer on characters; this needs one on bytes" in result.error_line
    assert not list(tmp_path.glob("*.html"))
