from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.running import Result, command, environment

Cli = Callable[..., Result]


def test_json_is_one_object_per_line(cli: Cli, corpus: Path) -> None:
    result = cli("train", corpus, "--vocab-size", "100000", "--progress", "json")
    assert (result.code, result.out) == (0, b"")
    events = [json.loads(line) for line in result.err.splitlines()]
    reports = [event for event in events if event["event"] == "progress"]
    finished = {event["phase"]: event for event in reports if event["finished"]}
    assert set(finished) == {"count", "merge"}
    assert finished["count"]["done"] == finished["count"]["total"] == corpus.stat().st_size
    assert finished["count"]["unit"] == "bytes"
    assert finished["count"]["details"]["words"] > 10
    (warning,) = [event for event in events if event["event"] == "warning"]
    assert "100,000" in warning["text"]
    summary = events[-1]
    assert summary["event"] == "summary"
    assert summary["output"] == "tokenizer"
    assert summary["sizes"]["n_vocab"] < 100_000


def test_json_errors_are_json(cli: Cli) -> None:
    result = cli("train", "missing.txt", "--progress", "json")
    assert result.code == 1
    last = json.loads(result.err.splitlines()[-1])
    assert last["event"] == "error"
    assert "missing.txt" in last["text"]


def test_where_stderr_is_no_terminal_each_phase_is_a_line(cli: Cli, corpus: Path) -> None:
    result = cli("train", corpus, "--vocab-size", "300", FORCE_COLOR="1")
    phases = [line.split(":")[0] for line in result.err.splitlines() if ": " in line and " in " in line]
    assert phases == ["count", "merge"]
    assert "\r" not in result.err


def test_the_summary(cli: Cli, corpus: Path) -> None:
    result = cli("train", corpus, "--vocab-size", "300")
    for expected in ("300 tokens", "bytes per token", "peak memory", "longest tokens", "merge 0."):
        assert expected in result.err


def test_none_is_silent(cli: Cli, corpus: Path, trained: Path) -> None:
    assert cli("train", corpus, "--vocab-size", "300", "--progress", "none").err == ""
    encoded = cli("encode", corpus, "-t", trained, "--progress", "none")
    assert encoded.err == ""
    assert cli("decode", "-", "-t", trained, "--progress", "none", stdin=encoded.out).err == ""


def test_data_and_messages_never_mix(cli: Cli, corpus: Path, trained: Path) -> None:
    quiet = cli("encode", corpus, "-t", trained, "--progress", "none")
    for style in ("auto", "json"):
        assert cli("encode", corpus, "-t", trained, "--progress", style).out == quiet.out


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_gets_a_bar(corpus: Path, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    arguments = command("train", corpus, "--vocab-size", "300")
    with subprocess.Popen(arguments, cwd=tmp_path, env=environment(TERM="xterm"), stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 65536):
                shown += block
        except OSError:  # Linux tells so that the other side is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    assert "━".encode() in shown
    assert b"\r" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_ids_are_not_written_to_a_terminal(corpus: Path, tmp_path: Path, trained: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    done = subprocess.run(
        command("encode", corpus, "-t", trained, "--progress", "none"),
        env=environment(),
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 1
    assert "terminal" in done.stderr
