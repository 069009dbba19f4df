"""The demo on a small folder; `.ci/run` runs the real one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.cli.running import TEXT

from bpenb_cli import _demo_run, demo
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._demo_corpus import standard_library, write_corpus


@pytest.fixture
def library(tmp_path: Path) -> Path:
    root = tmp_path / "library"
    for name in ("a.py", "b.txt", "sub/c.py", "site-packages/no.py", "sub/__pycache__/no.py", "d.bin"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(TEXT, encoding="utf-8", newline="")
    (root / "latin1.py").write_bytes(b"# -*- coding: latin-1 -*-\n# caf\xe9\n")
    (root / "empty.py").touch()
    return root


def test_the_corpus(library: Path, tmp_path: Path) -> None:
    corpus = write_corpus(library, tmp_path / "corpus.txt")
    document = TEXT.encode() + b"<|endoftext|>"
    assert corpus.path.read_bytes() == document * 2 + b"<|endoftext|>" + document
    assert (corpus.n_files, corpus.n_left_out) == (4, 1)
    assert corpus.n_bytes == corpus.path.stat().st_size


def test_the_standard_library_is_there() -> None:
    assert (standard_library() / "os.py").is_file()


def test_the_demo_shows_what_came_out(library: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert demo.run_and_show(library, 300, ProgressStyle.AUTO)
    out, err = capfd.readouterr()
    for expected in ("300 tokens", "bytes per token", "4 files", "1 left out", "byte for byte", "MB/s"):
        assert expected in out
    for phase in ("gather", "train", "save", "load", "encode", "decode", "compare"):
        assert phase in out
    assert "count: " in err
    assert "merge: " in err


def test_the_demo_leaves_nothing(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    assert demo.run_and_show(library, 300, ProgressStyle.NONE)
    assert list(place.iterdir()) == []


def test_a_text_that_does_not_come_back_is_told(
    library: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_demo_run.filecmp, "cmp", lambda *_, shallow: False)
    assert not demo.run_and_show(library, 300, ProgressStyle.NONE)
    assert "differs" in capfd.readouterr().out


def test_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from bpenb_cli.main import run

    for comes_back in (True, False):
        monkeypatch.setattr(demo, "run_and_show", lambda *_, answer=comes_back: answer)
        assert run(["demo"]) == (0 if comes_back else 1)
