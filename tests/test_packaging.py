"""The wheel: pure, complete, nothing in it but the two packages; what it needs, and the lowest of that."""

from __future__ import annotations

import email
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKAGES = {"bpenb": ROOT / "bpenb", "bpenb_cli": ROOT / "cli" / "bpenb_cli"}
CORE = {"numba", "numpy", "regex", "typer"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built as `pip wheel` builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel was installed into, without network."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", folder, wheel], check=True, capture_output=True)
    return folder


def test_the_wheel_is_pure_and_holds_both_packages_whole(wheel: Path) -> None:
    assert wheel.name == f"bpenb-{PROJECT['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        told = archive.read(f"bpenb-{PROJECT['version']}.dist-info/WHEEL").decode()
    assert "Root-Is-Purelib: true" in told
    meta = {name for name in names if name.startswith(f"bpenb-{PROJECT['version']}.dist-info/")}
    sources = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")
    }
    assert names - meta == sources
    assert {"bpenb/py.typed", "bpenb_cli/py.typed"} < names
    assert "bpenb/pretokenize/data/unicode-16.0.0.txt" in names
    kinds = {Path(name).suffix for name in names - meta}
    assert kinds == {".py", ".typed", ".txt", ".css", ".js"}, "no compiled file, no test data"
    assert not any("test" in Path(name).parts[0] for name in names)


def test_the_wheel_asks_for_four_packages_and_tells_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folder = f"bpenb-{PROJECT['version']}.dist-info"
        told = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
        scripts = archive.read(f"{folder}/entry_points.txt").decode()
        assert f"{folder}/licenses/LICENSE" in archive.namelist()
    needed = [line for line in told.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert {re.split(r"[<>=! ]", line)[0] for line in needed} == CORE
    assert told["Requires-Python"] == ">=3.11" and told["License-Expression"] == "Apache-2.0"
    assert scripts.split("\n")[:2] == ["[console_scripts]", "bpenb = bpenb_cli.main:main"]


def test_what_is_installed_runs_away_from_the_tree(installed: Path, tmp_path: Path) -> None:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("BPENB_")}
    environment = ours | {"PYTHONPATH": str(installed), "BPENB_CACHE_DIR": str(tmp_path)}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert Path(run("-c", "import bpenb; print(bpenb.__file__)").strip()).is_relative_to(installed)
    assert run("-m", "bpenb_cli", "--version").strip() == f"bpenb {PROJECT['version']}"
    assert "--vocab-size" in run("-m", "bpenb_cli", "train", "--help")
    scan = "from bpenb.pretokenize.classes import class_table; print(len(class_table()), class_table()[97])"
    assert run("-c", scan).split()[0] == str(0x110000)
    tokenizer = "import bpenb; print(bpenb.Tokenizer({0: b'a'}, []).encode('aa'))"
    assert run("-c", tokenizer).strip() == "[0, 0]"


# --- the lowest versions --------------------------------------------------------------------------


def lowest(requirement: str) -> tuple[str, tuple[int, ...]]:
    """The name and the lowest version of a requirement, without zeros at its end."""
    found = re.match(r"([\w-]+)[>=]=([\d.]+)", requirement)
    assert found, requirement
    numbers = [int(n) for n in found[2].split(".")]
    while numbers[-1] == 0:
        numbers.pop()
    return found[1], tuple(numbers)


def test_ci_runs_with_the_lowest_versions() -> None:
    lines = (ROOT / ".ci" / "lowest.txt").read_text("utf-8").splitlines()
    pinned = dict(lowest(line) for line in lines if not line.startswith("#"))
    assert pinned == dict(lowest(line) for line in PROJECT["dependencies"])
    assert pinned.keys() == CORE
    assert "-c .ci/lowest.txt" in (ROOT / ".ci" / "run").read_text("utf-8")


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_install", ROOT / "tools" / "check_install.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_requirements_are_read_without_extras() -> None:
    tool = load_tool()
    lines = [
        "Typing_Extensions>=4",
        "numpy<2.5,>=2",
        "rich (>=10) ; python_version > '3'",
        "pytest; extra == 'test'",
    ]
    assert tool.needed_names(lines) == {"typing-extensions", "numpy", "rich"}
    assert tool.needed_names(None) == set()
    assert {tool.normal_name(name) for name in tool.DIRECT} == CORE


def test_the_check_finds_what_nothing_needs(capsys: pytest.CaptureFixture[str]) -> None:
    """The environment of the tests has pytest, at least, which bpenb does not need."""
    assert load_tool().main() == 1
    assert re.search(r"^nothing needs .*\bpytest\b", capsys.readouterr().out, re.MULTILINE)
