"""How tests start `bpenb`, and what they feed it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import bpenb

import bpenb_cli

# Not the tree by way of the current folder, but the package that the tests run with.
_PATHS = [str(Path(package.__file__).parents[1]) for package in (bpenb, bpenb_cli)]

TEXT = (
    "The low tower is lower than the lowest tower, isn't it?<|endoftext|>\n"
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.\r\n\n"
    "def low(x):\n    return x + 12345\n\t# 下雨天留客天留我不留 🙂\n"
) * 40


@dataclass
class Result:
    """How a process ended."""

    code: int
    out: bytes
    err: str

    @property
    def error_line(self) -> str:
        """The one line on stderr of a command that failed."""
        assert "Traceback" not in self.err
        (line,) = self.err.splitlines()
        assert line.startswith("bpenb: ")
        return line


def command(*arguments: str | os.PathLike[str]) -> list[str]:
    return [sys.executable, "-m", "bpenb_cli", *map(os.fspath, arguments)]


def environment(**changes: str) -> dict[str, str]:
    ours = {k: v for k, v in os.environ.items() if k != "BPENB_TOKENIZER"}
    path = os.pathsep.join([*_PATHS, os.environ.get("PYTHONPATH", "")])
    return ours | {"PYTHONPATH": path, "COLUMNS": "100"} | changes
