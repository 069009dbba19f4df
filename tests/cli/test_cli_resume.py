"""`bpenb train --checkpoint`: broken off in the middle of merging, resumed, and equal byte for byte."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bpenb.training.checkpoint_file import read_checkpoint
from bpenb.warmup import warmup
from tests.cli.running import TEXT, Result, command, environment

from bpenb_cli.main import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")

Cli = Callable[..., Result]
ENDS = (130, -signal.SIGINT)  # as in test_cli_interrupt.py
OPTIONS = ("--vocab-size", "3000", "--workers", "2")
# The command, so slow that every machine is met in the middle of merging; merges are kept often.
SLOW = """
import time
from bpenb.training import at_work, driver
from bpenb_cli.main import main

def run_slowly(training):
    time.sleep(0.003)
    return run_slice(training)

driver.KEEP_SECONDS, at_work.SLICE_POSTINGS = 0.2, 1000
run_slice, at_work.Training.run_slice = at_work.Training.run_slice, run_slowly
main()
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of distinct words. All kernels are on disk."""
    warmup()
    path = tmp_path_factory.mktemp("words") / "words.txt"
    words = (f"word{i:x}q{i * 7919 % 65536:x}" for i in range(100_000))
    path.write_text(" ".join(words) + TEXT, encoding="utf-8")
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def whole(words: Path) -> dict[str, bytes]:
    """The files of a training that nothing broke off."""
    subprocess.run(
        command("train", words, *OPTIONS, "--progress", "none"),
        cwd=words.parent,
        env=environment(),
        check=True,
    )
    return _files(words.parent / "tokenizer")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "report.json"}


def _start(folder: Path, words: Path) -> subprocess.Popen[str]:
    arguments = ["train", str(words), *OPTIONS, "--checkpoint", "kept.npz", "--progress", "json"]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for_merges(process: subprocess.Popen[str], n_merges: int) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        said = json.loads(line)
        if said.get("phase") == "merge" and said["done"] >= n_merges:
            assert not said["finished"]
            return
    raise AssertionError("it ended before merging was seen under way")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_training_that_is_broken_off_is_resumed(
    cli: Cli, tmp_path: Path, words: Path, whole: dict[str, bytes], number: int
) -> None:
    process = _start(tmp_path, words)
    kept = tmp_path / "kept.npz"
    _wait_for_merges(process, 300)
    while number == signal.SIGKILL and not kept.exists():
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    n_kept = read_checkpoint(kept).made.merges.shape[0]
    assert 0 < n_kept < 2743
    assert not (tmp_path / "tokenizer").exists()
    if number != signal.SIGKILL:
        assert process.returncode in ENDS
        *_, warned, ended = map(json.loads, err.splitlines())
        assert ended == {"event": "error", "text": "interrupted"}
        assert warned["event"] == "warning"
        assert f"{n_kept:,} merges are kept in kept.npz" in warned["text"] and "--resume" in warned["text"]
        assert n_kept >= 300
        assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.npz"]
    again = ("train", words, *OPTIONS, "--checkpoint", kept, "--progress", "none")
    refused = cli(*again)
    assert refused.code == 1 and "--resume" in refused.error_line
    assert cli(*again, "--resume").code == 0
    assert _files(tmp_path / "tokenizer") == whole
    assert read_checkpoint(kept).made.merges.shape[0] == 2743


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["--resume"], 2, "--checkpoint"),
        (["--checkpoint", "missing.npz", "--resume"], 1, "missing.npz"),
        (["--checkpoint", "missing/kept.npz"], 1, "missing"),
        (["--checkpoint", "corpus.txt"], 1, "--force"),
        (["--checkpoint", "corpus.txt", "--resume"], 1, "no checkpoint"),
        (["--checkpoint", "tokenizer/kept.npz"], 2, "--output"),
    ],
)
def test_checkpoints_that_cannot_be(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = corpus.read_bytes()
    assert run(["train", "corpus.txt", *arguments, "--progress", "none"]) == code
    captured = capsys.readouterr()
    assert hint in captured.err and captured.err.count("\n") == 1 and captured.out == ""
    assert list(tmp_path.iterdir()) == [corpus]
    assert corpus.read_bytes() == before


def test_word_counts_and_a_checkpoint(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    assert cli("count", corpus, "-o", "counts.npz", "--progress", "none").code == 0
    options = ("--from-counts", "counts.npz", "--checkpoint", "kept.npz", "--progress", "none")
    assert cli("train", *options, "--vocab-size", "300").code == 0
    assert cli("train", *options, "--vocab-size", "310", "--resume").code == 0
    assert cli("train", corpus, "--vocab-size", "310", "-o", "whole", "--progress", "none").code == 0
    assert _files(tmp_path / "tokenizer") == _files(tmp_path / "whole")
    assert "one --vocab-size" in cli("train", *options, "--vocab-size", "300,310").error_line


def test_a_checkpoint_is_replaced_if_forced(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.npz"
    kept.write_text("of something else")
    forced = ("train", corpus, "--vocab-size", "300", "--checkpoint", kept, "--force", "--progress", "none")
    assert cli(*forced).code == 0
    assert read_checkpoint(kept).made.merges.shape[0] == 43
