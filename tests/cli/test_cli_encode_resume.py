"""`bpenb encode -o`, broken off: how to go on is said, and going on gives the same bytes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import bpenb
import pytest
from tests.cli.running import TEXT, Result, command, environment
from tests.soon import wait_until

Cli = Callable[..., Result]
ENDS = (130, -signal.SIGINT)  # as in test_cli_interrupt.py
OPTIONS = {
    "shards": ("-o", "data", "--shard-tokens", "50k", "--append-eot", "--val-fraction", "0.2"),
    "shuffled": ("-o", "data", "--format", "megatron", "--val-fraction", "0.2", "--shuffle", "--seed", "3"),
    "one": ("-o", "data/ids.bin", "--format", "bin", "--seq-len", "64"),
}
# The command, so slow that every machine is met in the middle; where it stands is kept often.
SLOW = """
import time
from bpenb.preparing import run
from bpenb_cli.main import main

def come_slowly(*arguments):
    for text in come(*arguments):
        time.sleep(0.15)
        yield text

run.JOURNAL_SECONDS = 0.1
come, run.with_progress = run.with_progress, come_slowly
main()
"""
# The same on a disk that is full after some bytes: no file may be larger.
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, trained: Path) -> Iterator[Path]:
    """Some megabytes of short documents. All kernels are on disk."""
    bpenb.Tokenizer.load(trained)
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("".join(f"{TEXT[k % 200 : 300]}{k}<|endoftext|>" for k in range(8000)), encoding="utf-8")
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, texts: Path, trained: Path
) -> dict[str, dict[str, bytes]]:
    """The files of runs that nothing broke off."""
    found = {}
    for name, options in OPTIONS.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "data").mkdir()
        run = command("encode", texts, "-t", trained, "--progress", "none", *options)
        subprocess.run(run, cwd=folder, env=environment(), check=True)
        found[name] = files(folder / "data")
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def start(folder: Path, code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, "encode", *map(str, arguments), "--progress", "json"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_kept(process: subprocess.Popen[str], folder: Path) -> None:
    """Return when the journal has told of two places: from the first one on a run is kept."""
    places: list[object] = []

    def is_kept() -> bool:
        assert process.poll() is None, "it ended before it was met"
        for journal in folder.glob(".*resume.json"):
            place = json.loads(journal.read_bytes())["state"]["place"]
            if place is not None and place not in places:
                places.append(place)
        return len(places) > 1

    assert wait_until(is_kept, 120), "nothing was kept"


def is_named(path: Path) -> bool:
    return not path.name.startswith(".")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("name", OPTIONS)
def test_an_encoding_that_is_broken_off_is_resumed(
    cli: Cli,
    tmp_path: Path,
    texts: Path,
    trained: Path,
    whole: dict[str, dict[str, bytes]],
    number: str,
    name: str,
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    arguments = (texts, "-t", trained, *OPTIONS[name])
    process = start(tmp_path, SLOW, *arguments)
    wait_until_kept(process, folder)
    process.send_signal(getattr(signal, number))
    _, err = process.communicate(timeout=60)
    assert not any(map(is_named, folder.iterdir()))
    if number != "SIGKILL":
        assert process.returncode in ENDS, err
        *_, warned, ended = map(json.loads, err.splitlines())
        assert ended == {"event": "error", "text": "interrupted"}
        assert warned["event"] == "warning"
        assert str(Path(OPTIONS[name][1])) in warned["text"]
        assert "--resume" in warned["text"] and "--force" in warned["text"]
    again = ("encode", *arguments, "--progress", "none")
    refused = cli(*again)
    assert refused.code == 1 and "--resume" in refused.error_line and "--force" in refused.error_line
    other = cli(*again, "--resume", "--special", "none")
    assert other.code == 1 and "other settings" in other.error_line
    done = cli(*again, "--resume")
    assert (done.code, done.err) == (0, "")
    assert files(folder) == whole[name]


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_a_full_disk(
    cli: Cli, tmp_path: Path, texts: Path, trained: Path, whole: dict[str, dict[str, bytes]]
) -> None:
    (tmp_path / "data").mkdir()
    arguments = (texts, "-t", trained, *OPTIONS["one"])
    process = start(tmp_path, FULL + SLOW, *arguments)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    *_, warned, ended = map(json.loads, err.splitlines())
    assert ended["event"] == "error" and "cannot be written" in ended["text"]
    assert warned["event"] == "warning" and "--resume" in warned["text"]
    assert not any(map(is_named, (tmp_path / "data").iterdir()))
    assert cli("encode", *arguments, "--resume", "--progress", "none").code == 0
    assert files(tmp_path / "data") == whole["one"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_an_interrupted_run_is_forgotten_by_force(
    cli: Cli, tmp_path: Path, texts: Path, trained: Path
) -> None:
    process = start(tmp_path, SLOW, texts, "-t", trained, *OPTIONS["shards"])
    wait_until_kept(process, tmp_path / "data")
    process.kill()
    process.communicate(timeout=60)
    small = tmp_path / "small.txt"
    small.write_text("low")
    run = ("encode", small, "-t", trained, *OPTIONS["shards"], "--progress", "none")
    assert "--force" in cli(*run).error_line
    assert cli(*run, "--force").code == 0
    assert all(map(is_named, (tmp_path / "data").iterdir()))
    assert bpenb.verify_dataset(tmp_path / "data").n_documents == 1
