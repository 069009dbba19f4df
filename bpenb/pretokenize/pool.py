"""A pool of worker processes: tasks from a lazy iterator, results in the order of the tasks.

    tasks (lazy) ──► waiting: at most two per worker, in task order ──► results
                       │ pipe                        ▲ pipe
                       └──────► worker (one job) ────┘

What `concurrent.futures` and `multiprocessing.Pool` do not give, and this does: workers that never
import the user's script, a death that is an error at once, and memory that does not grow with the
number of tasks (docs/decisions/0002-worker-processes.md).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait
from typing import Any, Generic, Self, TypeVar

from bpenb._workers import run_worker
from bpenb.errors import BpenbError, WorkerError

__all__ = ["WorkerPool", "default_start_method"]

Task = TypeVar("Task")
Result = TypeVar("Result")

_TASKS_PER_WORKER = 2  # one at work, one at hand
_MOST_ON_WINDOWS = 60  # it waits for 63 handles at most
_PATIENCE = 0.4  # seconds that a terminated worker gets before it is killed
_LOOK_AROUND = 1.0  # seconds between looks whether every worker lives (a death mostly closes its pipe)


def default_start_method() -> str:
    """Return `forkserver` where there is one, else `spawn`; `fork` would copy threads' locks."""
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


_START_LOCK = threading.Lock()


@contextlib.contextmanager
def _user_script_hidden() -> Iterator[None]:
    """Let `__main__` be an empty module while a process starts.

    `multiprocessing` tells a new process to import the file of `__main__`; a script without a
    guard would run again there, and fail. Our workers need nothing from it.
    """
    with _START_LOCK:
        main = sys.modules.get("__main__")
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            if main is None:
                del sys.modules["__main__"]
            else:
                sys.modules["__main__"] = main


class _Outstanding:
    """A task that was sent, and its result once it is there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False
        self.result: Any = None
        self.error: BpenbError | None = None


class _Worker:
    """One process, the two pipes to it, and the tasks it has, oldest first."""

    def __init__(self, context: Any, job: Any) -> None:
        self.outstanding: deque[_Outstanding] = deque()
        their_tasks, self.tasks = context.Pipe(duplex=False)
        self.results, their_results = context.Pipe(duplex=False)
        self.process = context.Process(target=run_worker, args=(their_tasks, their_results), daemon=True)
        try:
            with _user_script_hidden():
                self.process.start()
        except BaseException:
            self.tasks.close()
            self.results.close()
            raise
        finally:  # our copies: kept open they would hide the death of the worker
            their_tasks.close()
            their_results.close()
        with contextlib.suppress(OSError):  # dead already: found out when it is asked for a result
            self.tasks.send(job)

    def fate(self) -> str:
        """Say how the process ended."""
        self.process.join(1.0)
        code = self.process.exitcode
        if code is None:
            return "closed its pipe"
        if code < 0:
            hint = "; the system may have run out of memory" if code == -9 else ""
            return f"was killed by signal {-code}{hint}"
        return f"ended with exit code {code}"

    def release(self) -> None:
        """Give back what the system holds for a process that has ended."""
        self.tasks.close()
        self.results.close()
        with contextlib.suppress(ValueError):  # still running: nothing more can be done
            self.process.close()


class WorkerPool(Generic[Task, Result]):
    """Worker processes that call `job(task)`.

    Use it in a `with` block: whatever ends the block, no process is left. Workers start when there
    is a task for them.

    Args:
        job: a callable that can be pickled, of a module that can be imported.
        workers: processes at most.
        start_method: `forkserver` or `spawn`; None: `default_start_method()`.

    Attributes:
        peak_rss_bytes: sum of the peak resident memory of all workers that ended in peace.

    Example:
        >>> with WorkerPool(len, workers=1) as pool:
        ...     list(pool.map(["one", "three"]))
        [3, 5]
    """

    def __init__(
        self, job: Callable[[Task], Result], workers: int, *, start_method: str | None = None
    ) -> None:
        self.workers = min(workers, _MOST_ON_WINDOWS) if sys.platform == "win32" else workers
        self.peak_rss_bytes = 0
        self._job = job
        self._context = multiprocessing.get_context(start_method or default_start_method())
        self._crew: list[_Worker] = []

    def map(self, tasks: Iterable[Task], name: Callable[[Task], str] = str) -> Iterator[Result]:
        """Yield `job(task)` for every task, in order.

        At most two tasks per worker are taken from `tasks` ahead of the results handed out. If the
        iterator is left early, or raises, the workers are ended.

        Args:
            tasks: any iterable, of objects that can be pickled; its exceptions pass through.
            name: the name of a task's input, for messages.

        Raises:
            BpenbError: the job raised it (of several, the one of the first task).
            WorkerError: the job raised anything else, or a worker died.
        """
        source = iter(tasks)
        waiting: deque[_Outstanding] = deque()
        finished = False
        try:
            while self._feed(source, waiting, name):
                while not waiting[0].done:
                    self._receive()
                head = waiting.popleft()
                if head.error is not None:
                    raise head.error
                yield head.result
            finished = True
        finally:
            if not finished:
                self.terminate()

    def _feed(
        self, source: Iterator[Task], waiting: deque[_Outstanding], name: Callable[[Task], str]
    ) -> bool:
        """Send tasks while there is room; tell whether any is waited for."""
        failed = any(outstanding.error for outstanding in waiting)
        while not failed and len(waiting) < _TASKS_PER_WORKER * self.workers:
            try:
                task = next(source)
            except StopIteration:
                break
            worker = self._least_busy() or self._hire()
            outstanding = _Outstanding(name(task))
            waiting.append(outstanding)
            worker.outstanding.append(outstanding)
            try:
                worker.tasks.send(task)
            except OSError:
                raise self._death(worker) from None
        return bool(waiting)

    def _least_busy(self) -> _Worker | None:
        """Return the worker with the fewest tasks; None to hire one more."""
        worker = min(self._crew, key=lambda worker: len(worker.outstanding), default=None)
        if worker is None or (worker.outstanding and len(self._crew) < self.workers):
            return None
        return worker

    def _hire(self) -> _Worker:
        worker = _Worker(self._context, self._job)
        self._crew.append(worker)
        return worker

    def _receive(self) -> None:
        """Take what workers have to say; wait until one has."""
        busy: dict[Any, _Worker] = {worker.results: worker for worker in self._crew if worker.outstanding}
        ready = wait(list(busy), timeout=_LOOK_AROUND)
        for connection in ready:
            self._take(busy[connection])
        if not ready:
            for worker in busy.values():
                if not worker.process.is_alive() and not worker.results.poll():
                    raise self._death(worker)

    def _take(self, worker: _Worker) -> None:
        try:
            kind, *content = worker.results.recv()
        except (EOFError, OSError):
            raise self._death(worker) from None
        outstanding = worker.outstanding.popleft()
        outstanding.done = True
        if kind == "done":
            outstanding.result = content[0]
        elif kind == "error":
            outstanding.error = content[0]
        else:
            text, trace = content
            outstanding.error = WorkerError(f"{outstanding.name}: a worker failed: {text}")
            outstanding.error.add_note(f"In the worker:\n{trace}")

    @staticmethod
    def _death(worker: _Worker) -> WorkerError:
        name = worker.outstanding[0].name if worker.outstanding else "start"
        return WorkerError(f"{name}: the worker process {worker.fate()} while it worked on this input")

    def close(self) -> None:
        """Send the workers home, and wait until they are gone."""
        if any(worker.outstanding for worker in self._crew):
            self.terminate()
            return
        for worker in self._crew:
            with contextlib.suppress(OSError):
                worker.tasks.send_bytes(b"")
        for worker in self._crew:
            with contextlib.suppress(EOFError, OSError):
                if worker.results.poll(5.0):
                    self.peak_rss_bytes += worker.results.recv()[1]
                    worker.process.join(5.0)
        self.terminate()  # those that did not go; and releases all

    def terminate(self) -> None:
        """End the workers now."""
        crew, self._crew = self._crew, []
        for worker in crew:
            worker.process.terminate()
        deadline = time.monotonic() + _PATIENCE
        for worker in crew:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join(1.0)
            worker.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.terminate()
