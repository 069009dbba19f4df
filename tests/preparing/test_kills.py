"""`kill -9` at moments of chance: gone on from until it is done, the bytes are those of a run in peace."""

from __future__ import annotations

import os
import random
import signal
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

TOKENIZER = tokenizer()
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
        encode_to_files(TOKENIZER, inputs, folder / "data/out", settings, output, workers=2, resume=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_inputs(tmp_path / "in", [sample_text(400, 1), sample_rows(40, 2), sample_text(300, 3)], [0, 0, 1])
    write_rows(tmp_path / "in", [None, *sample_rows(40, 4), None, None], ".parquet", "more")
    (tmp_path / "data").mkdir()
    return tmp_path


def empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def undisturbed(folder: Path, choice: str) -> dict[str, bytes]:
    go_on(folder, choice)
    expected = contents(folder / "data")
    empty(folder / "data")
    return expected


def child(folder: Path, choice: str, function: str) -> subprocess.Popen[bytes]:
    """Start a process that says that it begins, then calls a function of this file."""
    code = f"from pathlib import Path; from tests.preparing.test_kills import {function}; "
    code += f"print('begins', flush=True); {function}(Path({str(folder)!r}), {choice!r})"
    root = Path(__file__).parents[2]
    started = subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, env=environment(), stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    assert started.stdout.readline().strip() == b"begins"
    return started


@pytest.mark.parametrize("choice", CHOICES)
def test_killed_processes(folder: Path, choice: str) -> None:
    """On every system: a process of its own is killed twice, and left alone then."""
    expected = undisturbed(folder, choice)
    chance = random.Random(1)
    for delay in (0.1 + 0.3 * chance.random(), 0.1 + 0.3 * chance.random(), None):
        with child(folder, choice, "go_on") as started:
            if delay is None:
                assert started.wait(300) == 0
            else:
                time.sleep(delay)
                started.kill()
    assert contents(folder / "data") == expected


def fork_and_kill(folder: Path, choice: str, seconds: float | None) -> bool:
    """Go on in a fork of this process, and kill it after a while; returns whether it was done before."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            go_on(folder, choice)
            code = 0
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def kill_many(folder: Path, choice: str) -> None:
    """What a process without threads does: it forks, and kills, and prints how often a run was done."""
    TOKENIZER.warmup()
    began = time.monotonic()
    assert fork_and_kill(folder, choice, None)
    takes = time.monotonic() - began
    chance, n_killed, n_done = random.Random(2), 0, 0
    while n_killed < 12 or n_done < 2:
        empty(folder / "data")
        longer = 1.0  # a run gets on a little at each try, or has more time at the next
        while not fork_and_kill(folder, choice, longer * takes * chance.random()):
            n_killed, longer = n_killed + 1, 1.1 * longer
        n_done += 1
        target = folder / f"done{n_done}"
        (folder / "data").rename(target)
        (folder / "data").mkdir()
    print(n_done)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills are not so cheap: the test above has to do")
@pytest.mark.parametrize("choice", CHOICES)
def test_many_kills(folder: Path, choice: str) -> None:
    """Where a process can fork: at a dozen moments of several runs."""
    expected = undisturbed(folder, choice)
    with child(folder, choice, "kill_many") as started:
        told, _ = started.communicate(timeout=300)
    assert started.returncode == 0
    for number in range(1, int(told) + 1):
        assert contents(folder / f"done{number}") == expected
