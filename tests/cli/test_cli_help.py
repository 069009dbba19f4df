from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import bpenb
import pytest
import typer.main
from bpenb.counting import EngineOption, PoolOption
from bpenb.formats import EXPORT_KINDS
from bpenb.training import SUBWORD_NMT, TIE_MODES
from tests.cli.running import Result, command, environment
from tests.soon import ends_soon

from bpenb_cli import _choices, _file_kinds
from bpenb_cli.main import app

COMMANDS = (
    "train",
    "encode",
    "decode",
    "convert",
    "count",
    "merge-counts",
    "inspect",
    "compare",
    "report",
    "tokens",
    "demo",
    "warmup",
    "dataset",
)
Cli = Callable[..., Result]


def test_the_commands_are_those() -> None:
    assert set(typer.main.get_command(app).commands) == set(COMMANDS)  # type: ignore[attr-defined]


def test_help_lists_every_command(cli: Cli) -> None:
    result = cli("--help")
    assert (result.code, result.err) == (0, "")
    assert all(name in result.out.decode() for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(cli: Cli, name: str) -> None:
    result = cli(name, "--help")
    text = result.out.decode()
    assert (result.code, result.err) == (0, "")
    assert f"Example: {'pip install . && ' if name == 'warmup' else ''}bpenb {name}" in text


def test_every_option_has_help() -> None:
    group = typer.main.get_command(app)
    commands = group.commands | group.commands["dataset"].commands  # type: ignore[attr-defined]
    assert {"train", "show", "verify"} <= commands.keys()
    for name, sub in commands.items():
        for parameter in sub.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize("name", ["show", "verify"])
def test_commands_of_a_group_have_help_with_an_example(cli: Cli, name: str) -> None:
    result = cli("dataset", name, "--help")
    assert (result.code, result.err) == (0, "")
    assert f"Example: bpenb dataset {name}" in result.out.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell runs them")
def test_the_examples_of_help_run(corpus: Path, tmp_path: Path) -> None:
    """What one writes the next ones read; .ci/run has that of demo, and every first command does a warmup."""
    group = typer.main.get_command(app)
    commands = group.commands | group.commands["dataset"].commands  # type: ignore[attr-defined]
    examples = {name: str(sub.epilog).removeprefix("Example: ") for name, sub in commands.items()}
    del examples["demo"], examples["warmup"]
    (tmp_path / "corpus").mkdir()
    for name in ("file.txt", "corpus/file.txt"):
        (tmp_path / name).write_bytes(corpus.read_bytes())
    bpenb.train_from_iterator(["low lower"], vocab_size=258).save(tmp_path / "other")
    first = [examples.pop(name) for name in ("train", "encode", "count")]
    second_shard = first[2].replace("1/2", "2/2").replace("counts-1", "counts-2")
    shell = f'set -e; bpenb() {{ {shlex.join(command())} "$@"; }}\n'
    for example in (*first, second_shard, *examples.values()):
        ran = subprocess.run(
            ["bash", "-c", shell + example], cwd=tmp_path, env=environment(), capture_output=True, text=True
        )
        assert ran.returncode == 0, (example, ran.stderr)
    assert len(examples) == 10


def test_version(cli: Cli) -> None:
    result = cli("--version")
    assert (result.code, result.out.decode().strip(), result.err) == (0, f"bpenb {bpenb.__version__}", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["train", "--help"],
        ["encode", "--help"],
        ["demo", "--help"],
        ["dataset", "show", "--help"],
    ],
)
def test_help_imports_no_heavy_package(arguments: list[str]) -> None:
    code = f"""
import sys
from bpenb_cli.main import run
run({arguments!r})
print([name for name in ("numba", "llvmlite", "numpy", "regex", "multiprocessing") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_help_is_quick() -> None:
    """0.2 s where this was written. Of processor time, where the system tells it: other processes may run."""

    def clock() -> float:
        times = os.times()
        return times.elapsed if sys.platform == "win32" else times.children_user + times.children_system

    def attempt() -> float:
        started = clock()
        subprocess.run(command("--help"), env=environment(), capture_output=True, check=True)
        return clock() - started

    ends_soon(attempt, 0.5, attempts=5)


def test_choices_are_those_of_the_rooms() -> None:
    assert {ties.value for ties in _choices.Ties} == {*TIE_MODES, SUBWORD_NMT}
    assert tuple(kind.value for kind in _file_kinds.ExportKind) == (*EXPORT_KINDS, "subword-nmt")
    assert tuple(engine.value for engine in _choices.Engine) == get_args(EngineOption)
    assert tuple(pool.value for pool in _choices.Pool) == get_args(PoolOption)


def test_defaults_are_those_of_the_python_api(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("low low<|endoftext|>lower lower")
    assert cli("train", "corpus.txt", "--progress", "none").code == 0
    by_command = bpenb.Tokenizer.load(tmp_path / "tokenizer")
    by_call = bpenb.train(tmp_path / "corpus.txt")
    assert by_command.vocab == by_call.vocab
    assert by_command.merges == by_call.merges
    assert by_command.special_tokens == by_call.special_tokens
    assert by_command.pattern == by_call.pattern


def test_a_terminal_without_utf8_is_no_error(cli: Cli) -> None:
    result = cli("--help", PYTHONIOENCODING="ascii")
    assert (result.code, result.err) == (0, "")
    assert all(name in result.out.decode("ascii") for name in COMMANDS)
