"""Fail unless an environment holds nothing but bpenb, its four packages and what those need.

python tools/check_install.py     with the Python of an environment that bpenb alone was installed into
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.metadata import distributions, requires

DIRECT = {"numba", "numpy", "regex", "typer"}
COMES_WITH_PYTHON = {"pip", "setuptools", "wheel"}


def normal_name(name: str) -> str:
    """Return a distribution's name as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed_names(requirements: Iterable[str] | None) -> set[str]:
    """Return the names of some requirements without those of extras."""
    plain = [line for line in requirements or () if not re.search(r"\bextra\s*==", line)]
    return {normal_name(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in plain}


def main() -> int:
    """Compare; return the exit code."""
    installed = {normal_name(found.metadata["Name"]) for found in distributions()}
    direct = needed_names(requires("bpenb"))
    if direct != DIRECT:
        print(f"bpenb needs {sorted(direct)}, not {sorted(DIRECT)}")
        return 1
    reached, todo = {"bpenb"}, set(direct)
    while todo:
        name = todo.pop()
        reached.add(name)
        if name in installed:  # else only another platform needs it
            todo |= needed_names(requires(name)) - reached
    foreign = installed - reached - COMES_WITH_PYTHON
    print(f"installed: {', '.join(sorted(installed - COMES_WITH_PYTHON))}")
    if foreign:
        print(f"nothing needs {', '.join(sorted(foreign))}")
    return 1 if foreign else 0


if __name__ == "__main__":
    sys.exit(main())
