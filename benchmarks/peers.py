"""The environment that the other libraries live in, apart from bpenb's.

Apart, because what a library brings along can slow others: awkward, say, registers an extension
that every start of Numba loads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from benchmarks.measure import ROOT, ChildError, run_child

OURS = ("bpenb", "bpenb_regex", "regex_counter")  # these run in bpenb's own environment
PEERS = ("gigabpe", "gigatoken", "rustbpe", "hf_tokenizers")
ENCODERS = ("bpenb", "gigatoken", "tiktoken")  # those that encode; the first is ours


def requirements() -> list[str]:
    """Return the pinned libraries of the extra `bench`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [line for line in project["optional-dependencies"]["bench"] if "==" in line]


def peer_python(option: Path | None, folder: Path) -> Path:
    """Return the interpreter of the peers' environment; it is made in `folder` if none is given."""
    given = option or os.environ.get("BPENB_BENCH_PEER_PYTHON")
    if given:
        return Path(given)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted, installed = "\n".join(requirements()), folder / "bpenb-bench.txt"
    if installed.is_file() and installed.read_text("utf-8") == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for requirement in requirements():  # one at a time: one that cannot be had stops no other
        done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", requirement])
        if done.returncode != 0:
            print(f"{requirement} cannot be installed here: left out", file=sys.stderr)
    installed.write_text(wanted, encoding="utf-8")
    return python


def versions(
    pythons: dict[str, Path], module: str = "benchmarks.child"
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the version of each library, and for those that do not start, why."""
    found, missing = {}, {}
    for library, python in pythons.items():
        try:
            found[library] = run_child(python, {"library": library, "do": "version"}, 60, module)["version"]
        except (ChildError, OSError) as error:
            missing[library] = str(error)
    return found, missing
