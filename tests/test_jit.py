"""The policy of compiled code, tried on a copy of `_jit` with small kernels beside it.

Every case runs in processes of its own: what is tested is what a fresh start finds on disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import bpenb
import numba
import pytest
from bpenb._jit import JIT_DISABLED, helper

PACKAGE = Path(bpenb.__file__).parent

CONSTANTS = "STEP = 1\n"
CALLEE = """
from bpenb._jit import helper
from bpenb.toy_constants import STEP

@helper
def add_step(value):
    return value + STEP
"""
CALLER = """
import numpy as np
from bpenb._jit import kernel, parallel_kernel, prange
from bpenb.toy_callee import add_step

@kernel
def add_up(values):
    total = 0
    for i in range(values.shape[0]):
        total += add_step(values[i])
    return total

@kernel
def value_at(values, i):
    return values[i]

@parallel_kernel
def add_each(values, out):
    for i in prange(values.shape[0]):
        i = np.int64(i)
        out[i] = add_step(values[i])
"""
ADD_UP = """
import numpy as np
from bpenb.toy_caller import add_up
print(add_up(np.zeros(1000, dtype=np.int64)))
"""
CALLED = """
import numba, numpy as np
from bpenb.toy_caller import add_up
@numba.njit
def call(values):
    return add_up(values)
print(call(np.zeros(1000, dtype=np.int64)))
"""


class Toy:
    """A folder with a package `bpenb` of three small modules, and a cache folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "install" / "bpenb"
        self.cache = root / "cache"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        shutil.copy(PACKAGE / "_arrays.py", self.package)
        shutil.copytree(PACKAGE / "_jit", self.package / "_jit", ignore=shutil.ignore_patterns("__pycache__"))
        self.write("toy_constants", CONSTANTS)
        self.write("toy_callee", CALLEE)
        self.write("toy_caller", CALLER)

    def write(self, module: str, source: str) -> None:
        (self.package / f"{module}.py").write_text(source, encoding="utf-8")

    def environment(self, **changes: str | None) -> dict[str, str]:
        """The environment of a process: none of our settings but those asked for (None: unset)."""
        mine = {k: v for k, v in os.environ.items() if not k.startswith(("BPENB_", "NUMBA_", "PYTHON"))}
        mine |= {"PYTHONPATH": str(self.package.parent), "BPENB_CACHE_DIR": str(self.cache)}
        mine["PYTHONDONTWRITEBYTECODE"] = "1"  # a .pyc does not see an edit of equal size in the same second
        for name, value in changes.items():
            mine.pop(name, None)
            if value is not None:
                mine[name] = value
        return mine

    def start(self, code: str, **changes: str | None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            cwd=self.root,
            env=self.environment(**changes),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, **changes: str | None) -> tuple[str, str]:
        """Run `code` in a new process that must end well; returns its stdout and stderr."""
        process = self.start(code, **changes)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out.strip(), err

    def cached(self) -> list[str]:
        """The files of compiled code, wherever below this toy they are."""
        return sorted(p.relative_to(self.root).as_posix() for p in self.root.rglob("*.nb[ci]"))


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


# --- an edit anywhere below a kernel reaches it --------------------------------------------------


@pytest.mark.parametrize(
    ("module", "edit"),
    [
        ("toy_callee", lambda s: s.replace("value + STEP", "value + 2 * STEP")),
        ("toy_constants", lambda s: s.replace("STEP = 1", "STEP = 2")),
        ("toy_caller", lambda s: s.replace("total = 0", "total = 1000")),
    ],
)
def test_an_edit_reaches_the_caller(toy: Toy, module: str, edit: Callable[[str], str]) -> None:
    assert toy.run(ADD_UP)[0] == "1000"
    path = toy.package / f"{module}.py"
    path.write_text(edit(path.read_text()))
    assert toy.run(ADD_UP)[0] == "2000"


def test_a_second_start_compiles_nothing(toy: Toy) -> None:
    code = ADD_UP + "import sys; print('numba' in sys.modules)"
    assert toy.run(code)[0].split() == ["1000", "True"]
    assert toy.run(code)[0].split() == ["1000", "False"]
    assert toy.cached()
    assert all(name.startswith("cache/kernels-") for name in toy.cached())


def test_is_compiled_tells_whether_a_first_call_compiles(toy: Toy) -> None:
    code = """
from bpenb._jit import is_compiled
from bpenb.toy_caller import add_each, add_up, np
print(is_compiled(add_up, add_each))
"""
    call = """
values = np.zeros(9, dtype=np.int64)
add_up(values)
print(is_compiled(add_up, add_each))
add_each.serial(values, values.copy())
print(is_compiled(add_up, add_each))
"""
    assert toy.run(code + call)[0].split() == ["False", "False", "True"]
    assert toy.run(code)[0] == "True"
    assert toy.run(code, BPENB_CACHE="0")[0] == "False"


def test_bounds_checks_are_not_skipped_by_a_warm_cache(toy: Toy) -> None:
    code = """
        import numpy as np
        from bpenb._jit import cache_folder
        from bpenb.toy_caller import value_at
        print(cache_folder())
        try:
            value_at(np.zeros(4, dtype=np.int64), 5)
            print("read")
        except IndexError:
            print("refused")
    """
    plain_folder, plain = toy.run(code)[0].splitlines()
    checked_folder, checked = toy.run(code, NUMBA_BOUNDSCHECK="1")[0].splitlines()
    assert (plain, checked) == ("read", "refused")
    assert plain_folder != checked_folder


@pytest.mark.parametrize("damaged", ["*.nbi", "*.nbc", "entries/*"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x04garbage", None])
def test_damaged_files_are_compiled_again(toy: Toy, damaged: str, damage: bytes | None) -> None:
    toy.run(ADD_UP)
    paths = [path for path in toy.cache.rglob(damaged) if path.is_file()]
    assert paths
    for path in paths:
        path.write_bytes(path.read_bytes()[:-9] + b"!" * 9 if damage is None else damage)
    assert toy.run(ADD_UP)[0] == "1000"
    in_compiled_code = CALLED + "print(add_up.dispatcher.stats.cache_hits.total())"
    assert toy.run(in_compiled_code)[0].split()[0] == "1000"
    assert toy.run(in_compiled_code)[0].split() == ["1000", "1"]
    assert toy.run(ADD_UP + "import sys; print('numba' in sys.modules)")[0].split() == ["1000", "False"]


def test_what_numba_was_told_in_the_program_is_not_kept(toy: Toy) -> None:
    """The folder is named by the environment: code that was compiled otherwise must not lie there."""
    value_at = "import numpy as np\nfrom bpenb.toy_caller import value_at\nprint(value_at(np.arange(3), 2))\n"
    told = "import numba; numba.config.LOOP_VECTORIZE = 1 - int(numba.config.LOOP_VECTORIZE)\n"
    toy.run(ADD_UP)
    before = toy.cached()
    assert toy.run(told + value_at)[0] == "2"
    assert toy.cached() == before
    assert not any(toy.cache.rglob("entries/*value_at*"))
    (note,) = toy.cache.rglob("flags")
    note.write_bytes(note.read_bytes()[:9])
    for _ in range(2):  # a note that is damaged is written again
        assert toy.run(value_at)[0] == "2"
    assert any(toy.cache.rglob("entries/*value_at*"))


# --- several processes and threads ---------------------------------------------------------------

N_RACED = 5
RACED = "from bpenb._jit import kernel\n" + "".join(
    f"@kernel\ndef scale_{k}(values):\n    return values[0] * values.itemsize + {k}\n\n"
    for k in range(N_RACED)
)
RACE = """
    import pathlib, sys, time
    import numpy as np
    from bpenb import toy_raced
    from numba.core.caching import IndexDataCacheFile
    load_index = IndexDataCacheFile._load_index
    def load_index_slowly(self):
        index = load_index(self)
        time.sleep(0.05)  # what another process writes meanwhile is lost, or cross-linked
        return index
    IndexDataCacheFile._load_index = load_index_slowly
    one = np.ones(1, dtype=np.{dtype})
    for k in range({n}):
        pathlib.Path(f"at-{{k}}-{dtype}").touch()
        while not pathlib.Path(f"at-{{k}}-{other}").exists():
            time.sleep(0.001)
        print(int(getattr(toy_raced, f"scale_{{k}}")(one)))
"""


def test_two_processes_that_start_on_an_empty_cache(toy: Toy) -> None:
    """Each compiles another signature of the same kernels at the same time; nothing is mixed up."""
    toy.write("toy_raced", RACED)
    check = f"""
        import sys
        import numpy as np
        from bpenb import toy_raced
        for size, dtype in ((8, np.int64), (4, np.float32)):
            for k in range({N_RACED}):
                raced = getattr(toy_raced, f"scale_{{k}}")
                assert raced(np.ones(1, dtype=dtype)) == size + k, (k, dtype)
        print("right" if "numba" not in sys.modules else "compiled")
    """
    for _ in range(2):
        shutil.rmtree(toy.cache, ignore_errors=True)
        for flag in toy.root.glob("at-*"):
            flag.unlink()
        pair = [("int64", "float32"), ("float32", "int64")]
        racers = [toy.start(RACE.format(dtype=a, other=b, n=N_RACED)) for a, b in pair]
        for racer, size in zip(racers, (8, 4), strict=True):
            out, err = racer.communicate(timeout=120)
            assert racer.returncode == 0, err
            assert out.split() == [str(size + k) for k in range(N_RACED)]
        assert toy.run(check)[0] == "right"


def test_two_threads_that_import_kernels_at_once(toy: Toy) -> None:
    """The folder is set in Numba's own settings while we decorate: one thread at a time."""
    for name in ("toy_a", "toy_b"):
        toy.write(name, "import time\n" + RACED.replace("@kernel", "time.sleep(0.002)\n@kernel"))
    code = """
        import importlib, threading
        import numba
        threads = [threading.Thread(target=importlib.import_module, args=(f"bpenb.toy_{x}",)) for x in "ab"]
        [t.start() for t in threads]
        [t.join() for t in threads]
        import numpy as np
        from bpenb import toy_a, toy_b
        for toy in (toy_a, toy_b):
            toy.scale_4(np.ones(1, dtype=np.int64))
        print(repr(numba.config.CACHE_DIR))
    """
    assert toy.run(code)[0] == "''"
    assert toy.cached()
    assert all(name.startswith("cache/") for name in toy.cached())


# --- where nothing can be kept, and whose settings are whose --------------------------------------


def _unwritable(toy: Toy) -> dict[str, str | None]:
    """Places below a regular file: even an administrator cannot write there."""
    wall = toy.root / "wall"
    wall.touch()
    toy.package.chmod(0o555)  # and a read-only install, for everybody else
    below = str(wall / "home")
    return {"HOME": below, "USERPROFILE": below, "LOCALAPPDATA": below, "XDG_CACHE_HOME": None}


@pytest.mark.parametrize("explicit", [True, False])
def test_a_read_only_install_without_a_home_works(toy: Toy, explicit: bool) -> None:
    places = _unwritable(toy)
    folder = str(toy.root / "wall" / "cache") if explicit else None
    out, err = toy.run(ADD_UP, **places, BPENB_CACHE_DIR=folder)
    assert out == "1000"
    assert err.count("RuntimeWarning") == 1
    assert "BPENB_CACHE_DIR" in err
    assert toy.cached() == []


def test_no_home_at_all(toy: Toy) -> None:
    no_home = """
import pathlib
def home():
    raise RuntimeError("Could not determine home directory.")
pathlib.Path.home = home
"""
    out, err = toy.run(no_home + ADD_UP, BPENB_CACHE_DIR=None, XDG_CACHE_HOME=None, LOCALAPPDATA=None)
    assert out == "1000"
    assert err.count("RuntimeWarning") == 1


def test_cache_0_keeps_nothing(toy: Toy) -> None:
    out, err = toy.run(ADD_UP, BPENB_CACHE="0")
    assert (out, err) == ("1000", "")
    assert toy.cached() == []
    assert not toy.cache.exists()


def test_a_cache_that_vanishes_is_no_error(toy: Toy) -> None:
    code = "import shutil; from bpenb._jit import cache_folder; shutil.rmtree(cache_folder().parent)"
    out, err = toy.run(code + ADD_UP)
    assert out == "1000"
    assert "was not kept" in err


# Only newer releases of Numba let its user choose where caches are.
LOCATORS: list[tuple[str | None, str]] = [(None, "user")]
if hasattr(numba.config, "CACHE_LOCATOR_CLASSES"):
    LOCATORS.append(("InTreeCacheLocator", "__pycache__"))


@pytest.mark.parametrize(("locators", "theirs"), LOCATORS)
def test_other_peoples_caches_stay_where_they_were(toy: Toy, locators: str | None, theirs: str) -> None:
    user = toy.root / "user"
    source = "import numba\n@numba.njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    (toy.root / "theirs.py").write_text(source)
    code = ADD_UP + "import numba, theirs; print(theirs.double(21)); print(numba.config.CACHE_DIR)"
    out, _ = toy.run(code, NUMBA_CACHE_DIR=str(user), NUMBA_CACHE_LOCATOR_CLASSES=locators)
    assert out.split() == ["1000", "42", str(user)]
    folders = {name.split("/")[0] for name in toy.cached()}
    assert folders == {"cache", theirs}
    assert not any("double" in name for name in toy.cached() if name.startswith("cache"))
    assert not any("add_up" in name for name in toy.cached() if name.startswith(theirs))


# --- what the decorators promise ------------------------------------------------------------------


def test_kernels_count_no_references(toy: Toy) -> None:
    """An array that is passed to a helper would else be counted up and down in the hot loop."""
    code = """
print([name for asm in add_up.dispatcher.inspect_asm().values() for name in asm.split() if 'NRT_' in name])
"""
    assert toy.run(ADD_UP + code, BPENB_CACHE="0")[0].split() == ["1000", "[]"]


def test_a_users_function_calls_a_kernel(toy: Toy) -> None:
    code = """
        import numba, numpy as np
        from bpenb.toy_caller import add_up
        @numba.njit
        def twice(values):
            return 2 * add_up(values)
        print(twice(np.zeros(1000, dtype=np.int64)), len(add_up.dispatcher.signatures))
    """
    assert toy.run(code)[0].split() == ["2000", "1"]
    assert toy.run(code)[0].split() == ["2000", "1"]


def test_without_jit_kernels_are_plain_functions(toy: Toy) -> None:
    code = (
        ADD_UP
        + """
from bpenb._jit import cache_folder, is_compiled, parallel_entry_is_cheap, thread_count
from bpenb.toy_caller import add_each
values = np.arange(5, dtype=np.int64); out = np.zeros_like(values)
with thread_count(2):
    add_each(values, out)
print(out.tolist() == [1, 2, 3, 4, 5], type(add_up).__name__, cache_folder(), is_compiled(add_up, add_each))
print(parallel_entry_is_cheap())
"""
    )
    lines = toy.run(code, NUMBA_DISABLE_JIT="1")[0].splitlines()
    assert lines == ["1000", "True function None True", "False"]


LAYERS = pytest.mark.parametrize("layer", ["default", "workqueue"])
PARALLEL = """
    import os, threading
    import numpy as np
    from bpenb import _jit
    from bpenb.toy_caller import add_each
    values = np.arange(100_000, dtype=np.int64)
    want = np.zeros_like(values)
    add_each.serial(values, want)
    def right(function=add_each):
        out = np.zeros_like(values)
        function(values, out)
        return bool((out == want).all())
"""


def _in_parallel(code: str) -> str:
    return textwrap.dedent(PARALLEL) + textwrap.dedent(code)


@LAYERS
def test_both_forms_of_a_parallel_kernel_are_equal(toy: Toy, layer: str) -> None:
    code = """
        print(right(), right(add_each.parallel), len(add_each.parallel.signatures))
        print(_jit.parallel_entry_is_cheap())
    """
    out = toy.run(_in_parallel(code), NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")[0].split()
    assert out[:3] == ["True", "True", "1"]
    if layer == "workqueue":
        assert out[3] == "False"


@LAYERS
def test_two_threads_enter_a_parallel_kernel_at_once(toy: Toy, layer: str) -> None:
    """The workqueue layer would abort the process."""
    code = """
        results = []
        def work():
            for _ in range(200):
                results.append(right())
        threads = [threading.Thread(target=work) for _ in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(len(results), all(results))
    """
    out, _ = toy.run(_in_parallel(code), NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    assert out.split() == ["600", "True"]


@LAYERS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_enters_a_parallel_kernel(toy: Toy, layer: str) -> None:
    """GNU OpenMP would kill the child, because a prange ran in its parent."""
    code = """
        assert right(add_each.parallel)
        child = os.fork()
        if child == 0:
            with _jit.thread_count(2):
                os._exit(0 if right() and not _jit.parallel_entry_is_cheap() else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    out, _ = toy.run(_in_parallel(code), NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    assert out == "0"


# --- the real kernels -----------------------------------------------------------------------------


def test_every_kernel_has_one_signature(tmp_path: Path) -> None:
    """A second one would double the compile time: arrays are normalised at the doors."""
    text = "low low lower lowest <|endoftext|> été 12 don't\n" * 300
    (tmp_path / "corpus.txt").write_text(text, encoding="utf-8")
    code = """
        import sys
        import bpenb
        from bpenb._jit import CompiledKernel, ParallelKernel
        trained = bpenb.train("corpus.txt", vocab_size=290)
        trained.save("tokenizer")
        for tokenizer in (trained, bpenb.Tokenizer.load("tokenizer")):
            text = "lower étés\\n" * 50
            assert tokenizer.decode(tokenizer.encode(text)) == text
            assert tokenizer.decode_bytes(tokenizer.encode_to_numpy(text)) == text.encode()
        bpenb.train_from_counts(bpenb.count_words_from_iterator(["low low", b"lower"]), vocab_size=258)
        kernels = {}
        for name, module in list(sys.modules.items()):
            if name.startswith("bpenb."):
                for value in vars(module).values():
                    value = value.serial if isinstance(value, ParallelKernel) else value
                    if isinstance(value, CompiledKernel) and value.entries:
                        kernels[id(value)] = value
        assert len(kernels) > 5, kernels
        by_dtype = {"decode_some", "measure_rows"}  # take ids as they are, of any dtype that files have
        too_many = [k for k in kernels.values() if len(k.entries) > (4 if k.__name__ in by_dtype else 1)]
        print([(k.place, list(k.entries)) for k in too_many])
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"


@pytest.mark.skipif(JIT_DISABLED, reason="without JIT it is plain Python")
def test_python_is_told_that_it_cannot_call_a_helper() -> None:
    """It has no entry for Python: a call would crash the process."""

    @helper
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    @numba.njit
    def quadruple(x):  # type: ignore[no-untyped-def]
        return double(double(x))

    for _ in range(2):  # before it is compiled, and after
        with pytest.raises(TypeError, match="double is compiled into kernels; Python cannot call it"):
            double(1)
        assert quadruple(3) == 12
