"""The house rules that a reader can rely on, checked by reading the source."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import bpenb
import pytest

import bpenb_cli

PACKAGE = Path(bpenb.__file__).parent
CLI = Path(bpenb_cli.__file__).parent

# corpus → pretokenize → counting → training → model → encoding → dataset, formats ↔ model:
# which doors each room may knock at.
MAY_IMPORT: dict[str, set[str]] = {
    "corpus": set(),
    "pretokenize": {"corpus"},
    "counting": {"corpus", "pretokenize"},
    "training": {"counting"},
    "cluster": {"corpus", "counting", "training"},
    "model": set(),
    "formats": {"model"},
    "encoding": {"corpus", "formats", "model", "pretokenize"},
    "dataset": {"encoding", "model"},
}
# Small, and imported by all; among themselves they import only each other.
BESIDE = {"errors", "patterns", "progress", "_arrays", "_atomic", "_bar", "_byte_map", "_hashing",
          "_intrinsic_code", "_intrinsics", "_jit", "_memory", "_pattern_spellings", "_remote",
          "_special_ids", "_spelling", "_vocab_checks", "_workers", "traits"}  # fmt: skip
# On top: they import every room, and no room imports them.
ON_TOP = {
    "__init__",
    "api",
    "api_cluster",
    "api_counts",
    "base",
    "classic",
    "going_on",
    "inspecting",
    "kernels",
    "preparing",
    "report",
    "report_page",
    "step_comparison",
    "sweep",
    "sweep_table",
    "verification",
    "vocab_options",
    "warmup",
}

# One method calls outward, at its first use: who has a tokenizer looks there for all that it can do.
OUTWARD = {("bpenb.encoding.tokenizer", "bpenb.preparing"), ("bpenb.encoding.tokenizer", "bpenb.dataset")}

MAY_PRINT = {"bpenb._bar", "bpenb.dataset.stdout"}
MAY_IMPORT_NUMBA = {"bpenb._intrinsic_code", "bpenb._jit.compiler", "bpenb._jit.entries",
                    "bpenb._jit.entry_code", "bpenb._jit.store"}  # fmt: skip
DECORATORS = {"helper", "kernel", "parallel_kernel"}
NAMES_THAT_GROW = {"common", "core", "helpers", "misc", "utils"}
MAX_MODULE_LINES = 350
MAX_COMMAND_LINES = 80
MAX_KERNEL_ARGUMENTS = 8


def _module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {_module_name(p, PACKAGE): p for p in sorted(PACKAGE.rglob("*.py"))}
CLI_SOURCES = {_module_name(p, CLI): p for p in sorted(CLI.rglob("*.py"))}
TREES = {name: ast.parse(p.read_text("utf-8")) for name, p in (SOURCES | CLI_SOURCES).items()}
every_module = pytest.mark.parametrize("name", SOURCES)
every_source = pytest.mark.parametrize("name", SOURCES | CLI_SOURCES)


def _room(name: str) -> str:
    """The room, or the module beside the rooms, that a dotted name leads to."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def _imports(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Every import of a module, wherever it stands: (dotted name, names taken from it)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield node.module or "", [alias.name for alias in node.names]


def _imported_modules(tree: ast.AST) -> set[str]:
    """Dotted names of our modules that a file imports, `from bpenb.room import module` resolved."""
    found: set[str] = set()
    for module, names in _imports(tree):
        if module.split(".")[0] in ("bpenb", "bpenb_cli"):
            modules = {f"{module}.{n}" for n in names} & (SOURCES.keys() | CLI_SOURCES.keys())
            found |= modules or {module}
    return found


def _decorator_names(function: ast.FunctionDef) -> set[str]:
    return {d.id for d in function.decorator_list if isinstance(d, ast.Name)}


def _kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if _decorator_names(f) & DECORATORS]


# --- who imports whom -----------------------------------------------------------------------------


@every_module
def test_rooms_import_inward_only(name: str) -> None:
    room = _room(name)
    if room in ON_TOP:
        return
    allowed = BESIDE if room in BESIDE else BESIDE | {room} | MAY_IMPORT[room]
    for target in _imported_modules(TREES[name]):
        inward = _room(target) in allowed or target == "bpenb" or (name, target) in OUTWARD
        assert inward, f"{name} imports {target}"


@every_source
def test_rooms_import_only_each_others_doors(name: str) -> None:
    for target in _imported_modules(TREES[name]):
        if _room(target) in MAY_IMPORT and _room(target) != _room(name):
            assert target == f"bpenb.{_room(target)}", f"{name} imports {target}, past the door"


@every_module
def test_nothing_imports_the_command_line(name: str) -> None:
    assert not any(m.split(".")[0] in ("bpenb_cli", "typer", "click") for m, _ in _imports(TREES[name]))


@every_source
def test_numba_is_imported_in_one_place(name: str) -> None:
    if name not in MAY_IMPORT_NUMBA:
        assert not any(m.split(".")[0] in ("numba", "llvmlite") for m, _ in _imports(TREES[name]))


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import bpenb; bpenb.__version__", "numba numpy regex typer"),
        ("import bpenb.errors, bpenb.progress, bpenb.patterns", "numba numpy rich typer"),
        ("import bpenb.corpus", "numba typer"),
        ("import bpenb.pretokenize", "numba typer bpenb.counting"),  # what every worker imports
        ("import bpenb._workers", "numba typer"),
        ("import bpenb.counting, bpenb.training, bpenb.encoding, bpenb.kernels", "numba llvmlite typer"),
    ],
)
def test_imports_are_lean(code: str, absent: str) -> None:
    check = f"{code}; import sys; print([m for m in {absent.split()} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# --- who prints -----------------------------------------------------------------------------------


@every_module
def test_nothing_but_the_command_line_prints(name: str) -> None:
    if name in MAY_PRINT:
        return
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"{name}, line {node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            assert node.attr not in ("stdout", "stderr"), f"{name}, line {node.lineno}"
        if isinstance(node, ast.ImportFrom) and node.module == "sys":
            assert not {a.name for a in node.names} & {"stdout", "stderr"}, f"{name}, line {node.lineno}"


# --- what a module looks like ---------------------------------------------------------------------


@every_source
def test_modules_are_documented_and_short(name: str) -> None:
    path = (SOURCES | CLI_SOURCES)[name]
    assert ast.get_docstring(TREES[name]), f"{name} has no docstring"
    limit = MAX_COMMAND_LINES if name in CLI_SOURCES else MAX_MODULE_LINES
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= limit, f"{name} has {lines} lines; at most {limit}: give it two parts with a name each"
    assert path.stem not in NAMES_THAT_GROW, f"{name}: such a name gathers everything; name what it does"


@every_module
def test_public_names_are_listed_exist_and_are_documented(name: str) -> None:
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", None)
    assert listed is not None, f"{name} has no __all__"
    assert len(listed) == len(set(listed))
    for public in listed:
        value = getattr(module, public)  # exists
        is_ours = (inspect.isclass(value) or callable(value)) and hasattr(value, "__module__")
        if is_ours and str(value.__module__).startswith("bpenb"):
            assert value.__doc__, f"{name}.{public} has no docstring"


@every_module
def test_public_definitions_are_listed(name: str) -> None:
    module = importlib.import_module(name)
    kernels = {function.name for function in _kernels(TREES[name])}  # inner ones need no underscore
    defined = {n.name for n in TREES[name].body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    public = {n for n in defined - kernels if not n.startswith("_")}
    assert public <= set(module.__all__), f"{name}: public, or with a leading underscore?"


# --- kernels --------------------------------------------------------------------------------------


@every_module
def test_kernels_take_few_arguments_and_say_what_they_do(name: str) -> None:
    for function in _kernels(TREES[name]):
        arguments = function.args
        n_arguments = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
        assert n_arguments <= MAX_KERNEL_ARGUMENTS, f"{name}.{function.name}: {n_arguments} arguments"
        assert function.name.startswith("_") or ast.get_docstring(function), f"{name}.{function.name}"


@every_module
def test_the_compile_cache_sees_every_kernel(name: str) -> None:
    """`_jit.store` finds kernels by their decorator line, and imports by `from … import`."""
    tree, source = TREES[name], SOURCES[name].read_text("utf-8")
    taken = {n for module, names in _imports(tree) if module == "bpenb._jit" for n in names} & DECORATORS
    lines = re.findall(r"^@(kernel|helper|parallel_kernel)$", source, re.MULTILINE)
    uses = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in taken]
    if name.startswith("bpenb._jit"):
        return
    assert len(uses) == len(lines), (
        f"{name}: kernel, helper and parallel_kernel are decorators, on a line alone"
    )
    if lines:
        for module, names in _imports(tree):
            if module.split(".")[0] == "bpenb":
                assert names, f"{name}: import {module}"
                assert not any(f"{module}.{n}" in SOURCES for n in names), (
                    f"{name} imports a module from {module}"
                )


def test_the_compile_cache_hashes_all_kernel_sources() -> None:
    from bpenb._jit.store import _kernel_sources

    with_kernels = {n for n, tree in TREES.items() if n in SOURCES and _kernels(tree)}
    needed, todo = set(), with_kernels | {"bpenb._jit"}
    while todo:
        name = todo.pop()
        needed.add(name)
        todo |= (_imported_modules(TREES[name]) & SOURCES.keys()) - needed
    hashed = {_module_name(PACKAGE / place, PACKAGE) for place in _kernel_sources()}
    assert with_kernels
    assert needed <= hashed


# --- decisions ------------------------------------------------------------------------------------


def test_decision_records_are_listed_and_those_named_exist() -> None:
    folder = Path(__file__).parents[1] / "docs" / "decisions"
    records = {path.name for path in folder.glob("[0-9]*.md")}
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8")))
    assert listed == records
    for path in (SOURCES | CLI_SOURCES).values():
        named = set(re.findall(r"docs/decisions/([\w-]+\.md)", path.read_text("utf-8")))
        assert named <= records, path
