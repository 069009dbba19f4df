"""Running the command line as a process of its own, in the folder of the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import bpenb
import pytest
from tests.cli.running import TEXT, Result, command, environment

from bpenb_cli.main import run as run_command


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., Result]:
    """Run `bpenb ARGUMENTS` in the test's folder; `stdin` is bytes, other keywords are environment."""

    def run(*arguments: str | os.PathLike[str], stdin: bytes = b"", **changes: str) -> Result:
        done = subprocess.run(
            command(*arguments),
            cwd=tmp_path,
            env=environment(**changes),
            input=stdin,
            capture_output=True,
            timeout=300,
        )
        return Result(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Result]:
    """Run `bpenb ARGUMENTS` in this process, in the test's folder: the same, without the start of Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BPENB_TOKENIZER", raising=False)

    def run(*arguments: str | os.PathLike[str]) -> Result:
        code = run_command([os.fspath(argument) for argument in arguments])
        captured = capfdbinary.readouterr()
        return Result(code, captured.out, captured.err.decode())

    return run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer folder, trained once."""
    folder = tmp_path_factory.mktemp("trained")
    bpenb.train_from_iterator([TEXT], vocab_size=400).save(folder / "tokenizer")
    return folder / "tokenizer"
