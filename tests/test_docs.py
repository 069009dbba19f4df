"""The pages of docs/: their examples run as they stand; every page is listed, and every link leads on."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from bpenb_cli.main import run

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {  # how many examples there are: Python, shell
    "training": (7, 8),
    "counts-and-sweeps": (5, 5),
    "other-libraries": (7, 3),
    "classic": (2, 2),
    "cs336": (6, 0),
    "integer-sequences": (4, 0),
    "kernels": (4, 0),
    "how-it-is-fast": (1, 1),
    "how-it-is-exact": (3, 1),
}
TEXT = (
    "low low lower lowest newer newest wider été<|endoftext|>\n\n"
    "The quick brown fox jumps over the lazy dog; it's quicker than the browner foxes.\n"
)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a page adds to it
    for name in ("corpus.txt", "more.txt", "part-1.txt", "part-2.txt"):
        Path(name).write_text(TEXT * 20, encoding="utf-8")
    Path("rows.jsonl").write_text(json.dumps({"content": TEXT}) + "\n", encoding="utf-8")
    return tmp_path


def blocks(page: str) -> list[tuple[str, str]]:
    """The examples of a page: (language, text)."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return re.findall(r"^```(python|sh)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run(page: str, corpus: Path) -> None:
    names: dict[str, object] = {}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, f"{page}.md", "exec"), names)
            continue
        for line in block.splitlines():
            words = shlex.split(line)
            assert words[0] == "bpenb"
            assert run([*words[1:], "--progress", "none"]) == 0, line


def test_there_are_examples() -> None:
    found = {page: [language for language, _ in blocks(page)] for page in PAGES}
    assert {page: (names.count("python"), names.count("sh")) for page, names in found.items()} == PAGES


def test_every_way_to_train_and_every_option_of_a_vocab_is_shown() -> None:
    page = (DOCS / "training.md").read_text("utf-8")
    roles = ["--bos", "--eos", "--pad", "--unk", "--reserve-special-tokens", "--pad-vocab-to-multiple"]
    calls = ["train_from_iterator", "train_from_counts", "train_sweep", "with_special_tokens"]
    for name in roles + calls:
        assert name in page


def test_every_page_is_in_the_index() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "README.md").read_text("utf-8")))
    assert listed == {path.name for path in DOCS.glob("*.md")} - {"README.md"}


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text("utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target
