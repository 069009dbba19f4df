"""Shell completion: commands, options and choices, quickly, in a real shell where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bpenb.patterns import PATTERNS
from tests.cli.running import Result, command, environment

Cli = Callable[..., Result]
COMMANDS = {"train", "encode", "decode", "count", "merge-counts", "demo", "warmup", "dataset"}


def completed(cli: Cli, *words: str) -> set[str]:
    """What bash would be offered for the last word."""
    line = {"COMP_WORDS": "\n".join(["bpenb", *words]), "COMP_CWORD": str(len(words))}
    result = cli(_BPENB_COMPLETE="complete_bash", **line)
    assert (result.code, result.err) == (0, "")
    return set(result.out.decode().split())


def test_commands_options_and_choices_are_completed(cli: Cli) -> None:
    assert completed(cli, "") >= COMMANDS
    assert completed(cli, "me") == {"merge-counts"}
    assert completed(cli, "dataset", "") == {"show", "verify"}
    assert completed(cli, "train", "--reserve") == {"--reserve-special-tokens"}
    assert completed(cli, "train", "--ties", "") == {"cs336", "huggingface", "rustbpe", "subword-nmt"}
    assert completed(cli, "train", "--pattern", "") == set(PATTERNS)
    assert completed(cli, "count", "--pattern", "q") == {"qwen2"}
    assert completed(cli, "train", "cor") == set()  # the shell's own: files


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_every_shell_is_shown(cli: Cli, shell: str) -> None:
    result = cli("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert (result.code, result.err) == (0, "")
    assert "_BPENB_COMPLETE" in result.out.decode() and "bpenb" in result.out.decode()


def test_completion_is_installed_for_bash(cli: Cli, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    result = cli("--install-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1", **home)
    assert result.code == 0, result.err
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert "complete -o default -F _bpenb_completion bpenb" in script.read_text("utf-8")
    assert script.name in (tmp_path / ".bashrc").read_text("utf-8")


@pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="needs bash")
def test_a_real_bash_completes(cli: Cli, tmp_path: Path) -> None:
    script = cli("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").out
    (tmp_path / "completion.bash").write_bytes(script)
    program = tmp_path / "bpenb"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bpenb_cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    lines = (
        "source ./completion.bash; COMP_WORDS=(bpenb tr); COMP_CWORD=1; _bpenb_completion bpenb; "
        'printf "%s\\n" "${COMPREPLY[@]}"; complete -p bpenb'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", lines],
        cwd=tmp_path,
        env=environment(PATH=path),
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["train", "complete -o default -F _bpenb_completion bpenb"], (
        done.stderr
    )


def test_completion_imports_no_heavy_package(tmp_path: Path) -> None:
    code = """
import atexit, sys
heavy = ("numba", "llvmlite", "numpy", "regex", "multiprocessing")
atexit.register(lambda: print("heavy:", [name for name in heavy if name in sys.modules], file=sys.stderr))
from bpenb_cli.main import main
main()
"""
    line = {"_BPENB_COMPLETE": "complete_bash", "COMP_WORDS": "bpenb\ntrain\n--ties\n", "COMP_CWORD": "3"}
    done = subprocess.run(
        [*command()[:1], "-c", code], env=environment(**line), capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["cs336", "huggingface", "rustbpe", "subword-nmt"]
    assert done.stderr.strip() == "heavy: []"
