"""Ctrl-C: within a second, one line, nothing half-written, no process left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bpenb.warmup import warmup
from tests.cli.running import TEXT, environment
from tests.soon import ends_soon, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")


# The same to a shell. Python ends by the signal itself if it came within an `exec` (of a dataclass, say).
ENDS = (130, -signal.SIGINT)
SECONDS = 1.5  # within one, on a machine that does nothing else
# The command, which says when it is ready for signals. Before that, Python is loading Typer.
COMMAND = """
import json, sys
from bpenb_cli import main

def catch_and_say():
    catch_interrupts()
    print(json.dumps({"event": "ready"}), file=sys.stderr, flush=True)

catch_interrupts, main.catch_interrupts = main.catch_interrupts, catch_and_say
main.main()
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file that keeps each command busy for many seconds: all its words are distinct.

    All kernels are on disk then: LLVM does not stop in the middle of one.
    """
    warmup()
    path = tmp_path_factory.mktemp("large") / "large.txt"
    with path.open("w", encoding="utf-8") as file:
        for k in range(200):
            file.write("".join(f" word{k * 20_000 + i:x}q{i * 7919 % 65536:x}" for i in range(20_000)))
            file.write(TEXT)
    yield path
    path.unlink()


def _start(folder: Path, *arguments: str | Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start a command; return when it is ready for signals."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        cwd=folder,
        env=environment(),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    assert json.loads(process.stderr.readline()) == {"event": "ready"}
    return process


def _group_is_gone(group: int) -> bool:
    """Tell whether no process of the session is left (the resource tracker takes a moment)."""

    def is_gone() -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    return wait_until(is_gone)


def _interrupt(process: subprocess.Popen[str], number: int, *, group: bool) -> tuple[float, str]:
    started = time.perf_counter()
    (os.killpg if group else os.kill)(process.pid, number)
    _, err = process.communicate(timeout=60)
    return time.perf_counter() - started, err


def _says_interrupted(err: str, moment: str) -> bool:
    """Tell whether the last line says so: as JSON, but at the start `--progress` may not be known yet."""
    *_, last = err.splitlines()
    as_json = json.dumps({"event": "error", "text": "interrupted"})
    return last == as_json or (moment == "start" and last == "bpenb: interrupted")


def _wait_for(process: subprocess.Popen[str], phase: str) -> None:
    """Return when a phase is under way; `start` is a moment before the first one, while all is imported."""
    if phase == "start":
        time.sleep(0.2)
        assert process.poll() is None
        return
    assert process.stderr is not None
    for line in process.stderr:
        said = json.loads(line)
        if said.get("phase") == phase and said["done"] > 0 and not said["finished"]:
            return
    raise AssertionError(f"it ended before {phase} was seen under way")


@pytest.mark.parametrize("moment", ["start", "count", "merge"])
@pytest.mark.parametrize(
    ("number", "group"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False)]
)
def test_a_training_that_is_interrupted(
    tmp_path: Path, large: Path, number: int, group: bool, moment: str
) -> None:
    """A terminal sends Ctrl-C to the whole group; `kill` sends to one process."""

    def attempt() -> float:
        process = _start(tmp_path, "train", large, "--workers", "2", "--progress", "json")
        _wait_for(process, moment)
        seconds, err = _interrupt(process, number, group=group)
        assert process.returncode in ENDS, err
        assert _says_interrupted(err, moment), err
        assert "Traceback" not in err
        assert "ignored" not in err
        assert list(tmp_path.iterdir()) == []
        assert _group_is_gone(process.pid)
        return seconds

    ends_soon(attempt, SECONDS)


def test_a_count_that_is_interrupted(tmp_path: Path, large: Path) -> None:
    def attempt() -> float:
        process = _start(tmp_path, "count", large, "--workers", "1", "--progress", "json")
        _wait_for(process, "count")
        seconds, err = _interrupt(process, signal.SIGINT, group=True)
        assert process.returncode in ENDS, err
        assert _says_interrupted(err, "count"), err
        assert list(tmp_path.iterdir()) == []
        return seconds

    ends_soon(attempt, SECONDS)


def test_an_encoding_that_is_interrupted(tmp_path: Path, large: Path, trained: Path) -> None:
    """What was redirected to a file is taken back."""

    def attempt() -> float:
        with (tmp_path / "ids.npy").open("wb") as target:
            process = _start(tmp_path, "encode", large, "-t", trained, stdout=target.fileno())
            while (tmp_path / "ids.npy").stat().st_size < 1000:
                assert process.poll() is None
                time.sleep(0.05)
            seconds, err = _interrupt(process, signal.SIGINT, group=True)
        assert process.returncode in ENDS, err
        assert err.splitlines()[-1] == "bpenb: interrupted"
        assert "Traceback" not in err
        assert "ignored" not in err
        assert (tmp_path / "ids.npy").stat().st_size == 0
        assert _group_is_gone(process.pid)
        return seconds

    ends_soon(attempt, SECONDS)


@pytest.mark.parametrize("moment", ["start", "encode"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "options",
    [["ids.npy"], ["data", "--shard-tokens", "100k"], ["data", "--val-fraction", "0.1", "--shuffle"]],
)
def test_training_files_that_are_interrupted(
    tmp_path: Path, large: Path, trained: Path, number: int, moment: str, options: list[str]
) -> None:
    """Nothing is kept of a run that had hardly begun."""

    def attempt() -> float:
        process = _start(tmp_path, "encode", large, "-t", trained, "--progress", "json", "-o", *options)
        _wait_for(process, moment)
        seconds, err = _interrupt(process, number, group=number == signal.SIGINT)
        assert process.returncode in ENDS, err
        assert _says_interrupted(err, moment), err
        assert "Traceback" not in err
        assert "--resume" not in err
        assert list(tmp_path.iterdir()) == []
        assert _group_is_gone(process.pid)
        return seconds

    ends_soon(attempt, SECONDS)


def test_a_count_of_tokens_that_is_interrupted(tmp_path: Path, large: Path, trained: Path) -> None:
    def attempt() -> float:
        process = _start(tmp_path, "encode", large, "-t", trained, "--count-only", "--progress", "json")
        _wait_for(process, "encode")
        seconds, err = _interrupt(process, signal.SIGINT, group=True)
        assert process.returncode in ENDS, err
        assert _says_interrupted(err, "encode"), err
        return seconds

    ends_soon(attempt, SECONDS)


def test_an_interrupt_that_is_lost_is_raised_again(tmp_path: Path) -> None:
    """Here it is swallowed, as by a bare `except` in another package's import."""
    code = """
import os, signal, sys, time
from bpenb_cli._interrupts import catch_interrupts
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._progress import shown_progress
from bpenb.progress import make_reporter
catch_interrupts()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except:
    pass
with shown_progress(ProgressStyle.NONE) as show:
    try:
        make_reporter(show).start("count", 1, "bytes")
    except KeyboardInterrupt:
        print("raised again")
"""
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, env=environment(), capture_output=True, text=True).stdout == "raised again\n"
