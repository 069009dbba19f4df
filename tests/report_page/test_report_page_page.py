"""docs/report-page.md: its examples run, as a command and as Python."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import bpenb
import pytest
from tests.cli.running import TEXT

from bpenb_cli.main import run

PAGE = (Path(__file__).parents[2] / "docs" / "report-page.md").read_text("utf-8")


def _block(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(block)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bpenb.train_from_iterator([TEXT], vocab_size=300).save("tokenizer")
    Path("corpus.txt").write_bytes(TEXT.encode())
    Path("more.jsonl").write_text('{"text": "low lower"}\n')
    assert run([*shlex.split(_block("sh"))[1:], "--progress", "none"]) == 0
    assert "corpus.txt, more.jsonl" in Path("report.html").read_text("utf-8")
    exec(compile(_block("python"), "report-page.md", "exec"), {})
    assert "The first 500 tokens" in Path("page.html").read_text("utf-8")


def test_every_section_is_told_of() -> None:
    sections = (Path(bpenb.__file__).parent / "report_page" / "sections.py").read_text("utf-8")
    titles = re.findall(r'^    title = "([^"]+)"|_section\("([^"]+)"', sections, re.MULTILINE)
    named = [one or other for one, other in titles]
    assert len(named) == 5
    for title in [*named, "A passage, token by token"]:
        assert f"| {title} |" in PAGE
