"""`kill -9` at moments of chance: gone on from until it is done, the bytes are those of a run in peace."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bpenb.corpus import InputOptions
from bpenb.preparing import EncodeSettings, OutputSettings, encode_to_files
from tests.cli.running import environment
from tests.corpus.writing import write_rows
from tests.preparing.making import (
    busy_journal,
    contents,
    sample_rows,
    sample_text,
    small_buffers,
    tokenizer,
    write_inputs,
)

CHOICES = {
    "plain": (EncodeSettings(InputOptions(skip_bad_rows=True)), OutputSettings("npy")),
    "all": (
        EncodeSettings(InputOptions(skip_bad_rows=True), append_eot=True, val_fraction=0.3, shuffle=True),
        OutputSettings("megatron", 500),
    ),
}


def go_on(folder: Path, choice: str) -> None:
    """What a child does: it begins, or goes on, with a journal before each small buffer."""
    settings, output = CHOICES[choice]
    with busy_journal(), small_buffers(400):
        inputs = sorted((folder / "in").iterdir())
        encode_to_files(tokenizer(), inputs, folder / "data/out", settings, output, workers=2, resume=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_inputs(tmp_path / "in", [sample_text(400, 1), sample_rows(40, 2), sample_text(300, 3)], [0, 0, 1])
    write_rows(tmp_path / "in", [None, *sample_rows(40, 4), None, None], ".parquet", "more")
    (tmp_path / "data").mkdir()
    return tmp_path


def undisturbed(folder: Path, choice: str) -> dict[str, bytes]:
    go_on(folder, choice)
    expected = contents(folder / "data")
    for path in sorted((folder / "data").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    return expected


@pytest.mark.parametrize("choice", CHOICES)
def test_killed_processes(folder: Path, choice: str) -> None:
    """On every system: processes of their own, killed twice, the last one left alone."""
    expected = undisturbed(folder, choice)
    code = "from pathlib import Path; from tests.preparing.test_kills import go_on; "
    code += f"print('begins', flush=True); go_on(Path({str(folder)!r}), {choice!r})"
    root = str(Path(__file__).parents[2])
    chance = random.Random(1)
    for delay in (0.1 + 0.3 * chance.random(), 0.1 + 0.3 * chance.random(), None):
        with subprocess.Popen([sys.executable, "-c", code], cwd=root, env=environment(),
                              stdout=subprocess.PIPE) as child:  # fmt: skip
            assert child.stdout is not None
            assert child.stdout.readline().strip() == b"begins"
            if delay is None:
                assert child.wait(60) == 0
            else:
                time.sleep(delay)
                child.kill()
    assert contents(folder / "data") == expected


def killed_fork(folder: Path, choice: str, seconds: float) -> bool:
    """Go on in a fork of this process, and kill it after a while; returns whether it was done before."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            go_on(folder, choice)
            code = 0
        finally:
            os._exit(code)
    time.sleep(seconds)
    os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork where threads are: they do nothing
def test_many_kills(folder: Path, choice: str) -> None:
    """Where a process can fork, kills are cheap: dozens, at every stage."""
    if not hasattr(os, "fork"):  # the test above has told all that there is
        return
    expected = undisturbed(folder, choice)
    began = time.monotonic()
    undisturbed(folder, choice)
    takes = time.monotonic() - began
    chance, n_killed, n_done = random.Random(2), 0, 0
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline or not n_done:
        for path in sorted((folder / "data").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        slower = 1.0
        while not killed_fork(folder, choice, slower * takes * chance.random()):
            n_killed += 1
            slower *= 1.05
        assert contents(folder / "data") == expected
        n_done += 1
    assert n_killed >= 3
