"""The pool: order, laziness, and every way in which a worker or its parent can fail."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bpenb._workers as workers_module
import pytest
from bpenb.errors import InvalidUtf8Error, TrainingError, WorkerError
from bpenb.pretokenize import WorkerPool, available_workers, default_start_method, resolve_workers
from tests.pretokenize import pool_jobs as jobs
from tests.soon import ends_soon, wait_until

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
METHODS = [m for m in ("forkserver", "spawn") if m in multiprocessing.get_all_start_methods()]
REPOSITORY = Path(__file__).parents[2]


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z")


# --- work -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_tasks(method: str, workers: int) -> None:
    with WorkerPool(jobs.double_slowly_at_first, workers, start_method=method) as pool:
        assert list(pool.map(range(30))) == [2 * n for n in range(30)]
        assert list(pool.map([5])) == [10]  # and it can be used again
        assert list(pool.map([])) == []
    assert pool.peak_rss_bytes > workers * 1_000_000
    assert not multiprocessing.active_children()


def test_workers_start_only_for_tasks() -> None:
    with WorkerPool(jobs.process_id, 4) as pool:
        assert len(set(pool.map(range(2)))) <= 2
        assert len(multiprocessing.active_children()) <= 2


def test_large_tasks_and_large_results_do_not_wait_for_each_other() -> None:
    data = b"y" * 3_000_000
    with WorkerPool(jobs.measure, 2) as pool:
        assert [len(result) for result in pool.map([data] * 8)] == [3_000_001] * 8


def test_tasks_are_not_read_far_ahead() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(40):
            taken.append(number)
            yield number

    with WorkerPool(jobs.double_slowly_at_first, 2) as pool:
        for n_results, _ in enumerate(pool.map(tasks())):
            assert len(taken) <= n_results + 2 * 2
            time.sleep(0.005)
    assert len(taken) == 40


def test_memory_does_not_grow_with_the_number_of_results() -> None:
    with WorkerPool(jobs.large, 2) as pool:
        for _ in pool.map([2_000_000] * 60):
            pass
    assert pool.peak_rss_bytes < 2 * 100_000_000


@pytest.mark.parametrize("method", METHODS)
def test_workers_do_not_import_the_main_module(method: str) -> None:
    main = sys.modules["__main__"]
    with WorkerPool(jobs.main_file, 1, start_method=method) as pool:
        assert list(pool.map([0])) != [getattr(main, "__file__", "")]
    assert sys.modules["__main__"] is main


def test_workers_import_no_numba() -> None:
    with WorkerPool(jobs.imported, 1) as pool:
        assert list(pool.map(["numba", "bpenb.counting", "bpenb._workers"])) == [False, False, True]


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_an_error_in_a_worker_names_the_input(method: str) -> None:
    with (
        pytest.raises(WorkerError, match=r"^input 3: a worker failed: LookupError: three") as caught,
        WorkerPool(jobs.fail_at_three, 2, start_method=method) as pool,
    ):
        list(pool.map(range(100), name=lambda number: f"input {number}"))
    assert "fail_at_three" in caught.value.__notes__[0]
    assert not multiprocessing.active_children()


def test_our_errors_arrive_as_they_are_the_first_task_first() -> None:
    with pytest.raises(InvalidUtf8Error) as caught, WorkerPool(jobs.refuse_odd, 3) as pool:
        list(pool.map(range(20)))
    assert (caught.value.source, caught.value.offset) == ("document 1", 10)


@pytest.mark.parametrize(
    ("job", "says"),
    [
        (jobs.exit_at_two, "ended with exit code 7"),
        pytest.param(jobs.kill_self_at_two, "killed by signal 9; .*memory", marks=on_posix),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_dies_is_an_error_at_once(job: Callable[[int], int], says: str, method: str) -> None:
    start = time.monotonic()
    with (
        pytest.raises(WorkerError, match=rf"input 2: the worker process.*{says}"),
        WorkerPool(job, 2, start_method=method) as pool,
    ):
        list(pool.map(range(100), name=lambda number: f"input {number}"))
    assert time.monotonic() - start < 30
    assert not multiprocessing.active_children()


@on_posix
def test_a_worker_that_is_killed_from_outside_is_an_error() -> None:
    with pytest.raises(WorkerError, match="killed by signal 9"), WorkerPool(jobs.sleep, 2) as pool:
        results = pool.map([0.0, 60.0, 60.0, 60.0, 60.0])
        next(results)
        for child in multiprocessing.active_children():
            child.kill()
        next(results)


def test_system_exit_and_unsendable_results_are_errors() -> None:
    with pytest.raises(WorkerError, match="SystemExit: 3"), WorkerPool(jobs.raise_system_exit, 1) as pool:
        list(pool.map([1]))
    job = jobs.return_what_cannot_be_sent
    with pytest.raises(WorkerError, match="1: a worker failed"), WorkerPool(job, 1) as pool:
        list(pool.map([1]))


def test_an_error_of_the_tasks_iterator_passes_through() -> None:
    def tasks() -> Iterator[int]:
        yield from range(3)
        raise ZeroDivisionError("the user's own")

    with pytest.raises(ZeroDivisionError, match="the user's own"), WorkerPool(jobs.double, 2) as pool:
        list(pool.map(tasks()))
    assert not multiprocessing.active_children()


def test_results_that_nobody_takes_leave_no_process() -> None:
    with WorkerPool(jobs.sleep, 2) as pool:
        results = pool.map([0.0, 60.0, 60.0, 60.0])
        assert next(results) == 0.0
        start = time.monotonic()
    assert time.monotonic() - start < 30  # the tasks take 60
    assert not multiprocessing.active_children()


@on_posix
def test_a_worker_that_ignores_sigterm_is_killed() -> None:
    start = time.monotonic()
    with pytest.raises(KeyError), WorkerPool(jobs.ignore_sigterm_and_sleep, 1) as pool:
        results = pool.map([0.0, 60.0])
        next(results)
        raise KeyError
    assert time.monotonic() - start < 30  # the task takes 60
    assert not multiprocessing.active_children()


# --- scripts, Ctrl-C, a parent that is killed -----------------------------------------------------

SCRIPT = """
import sys, time
from pathlib import Path
from bpenb.counting import CountSettings, Workforce, count_files
from bpenb.patterns import resolve_pattern
from bpenb.progress import Reporter
import multiprocessing

def told(progress):
    children = multiprocessing.active_children()
    if progress.done and children:
        print("at work", *[child.pid for child in children], flush=True)

result = count_files(
    sys.argv[1], CountSettings(resolve_pattern("gpt2"), (), engine="regex"),
    Workforce(int(sys.argv[3]), task_bytes=20_000, small_input=0, start_method=sys.argv[2]), Reporter(told),
)
print("counted", result.counts.n_pretokens, flush=True)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "no_guard.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return path


def run_script(script: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        start_new_session=sys.platform != "win32",
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_script_without_a_main_guard_works(method: str, script: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("one two three\n" * 20_000)
    with run_script(script, text, method, 2) as process:
        output, errors = process.communicate(timeout=240)
    assert errors == ""
    assert process.returncode == 0
    assert output.count("counted") == 1
    assert output.endswith("counted 80000\n")


def start_long_work(script: Path, tmp_path: Path, method: str) -> tuple[subprocess.Popen[str], list[int]]:
    text = tmp_path / "text"
    text.write_text("one two three\n" * 6_000_000)
    process = run_script(script, text, method, 2)
    assert process.stdout is not None
    words = process.stdout.readline().split()
    assert words[:2] == ["at", "work"], process.communicate()
    return process, [int(pid) for pid in words[2:]]


@on_posix
@pytest.mark.parametrize("whole_group", [True, False])  # a terminal sends it to all, `kill` to one
@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_ends_everything_within_a_second(
    method: str, whole_group: bool, script: Path, tmp_path: Path
) -> None:
    def attempt() -> float:
        process, children = start_long_work(script, tmp_path, method)
        with process:
            start = time.monotonic()
            (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            seconds = time.monotonic() - start
        assert errors.count("Traceback") == 1, errors
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert wait_until(lambda: not any(map(is_running, children)))
        return seconds

    ends_soon(attempt, 2)  # mostly the interpreter's own end


@on_posix
@pytest.mark.parametrize("method", METHODS)
def test_a_parent_that_is_killed_leaves_no_worker(method: str, script: Path, tmp_path: Path) -> None:
    process, children = start_long_work(script, tmp_path, method)
    with process:
        process.kill()
        process.communicate(timeout=60)
    assert children
    assert wait_until(lambda: not any(map(is_running, children)))


# --- how many -------------------------------------------------------------------------------------


def test_available_workers_knows_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert available_workers() >= 1
    monkeypatch.setattr(workers_module.os, "process_cpu_count", lambda: 5, raising=False)
    assert available_workers() == 5
    monkeypatch.delattr(workers_module.os, "process_cpu_count")
    monkeypatch.setattr(workers_module.os, "sched_getaffinity", lambda _: {1, 4, 6}, raising=False)
    assert available_workers() == 3
    monkeypatch.delattr(workers_module.os, "sched_getaffinity")
    monkeypatch.setattr(workers_module.os, "cpu_count", lambda: None)
    assert available_workers() == 1


def test_start_method_where_there_is_no_forkserver(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_start_method() in ("forkserver", "spawn")
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert default_start_method() == "spawn"


def test_workers_option() -> None:
    assert resolve_workers(None) == available_workers()
    assert resolve_workers(2) == 2
    for bad in (0, -1):
        with pytest.raises(TrainingError, match="at least 1"):
            resolve_workers(bad)
    for wrong in (True, 2.0, "2"):
        with pytest.raises(TypeError):
            resolve_workers(wrong)  # type: ignore[arg-type]
