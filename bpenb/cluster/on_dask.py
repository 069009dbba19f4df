"""Dask as an engine: this file and actors.py know it.

A few tasks for each thread are under way at any time, however many there are. What a task finds wrong comes
back as a value; only what is lost with a worker is done again by another, which is Dask's part.
"""

from __future__ import annotations

import importlib
import json
import logging
import queue
import secrets
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bpenb._arrays import ByteArray
from bpenb.cluster.actors import GONE, DaskShards, workers_of
from bpenb.cluster.door import Event
from bpenb.cluster.local_worker import local_cluster
from bpenb.cluster.settings import Cluster
from bpenb.cluster.tasks import Done, Stated, Task, perform
from bpenb.errors import BpenbError, WorkerError

__all__ = ["DaskEngine", "dask_engine"]

_PATIENCE = 8  # seconds until a scheduler that does not answer is away
_TICK = 0.2  # seconds between two looks at the progress
_TELLING = 1.0  # seconds between two reports of a running task
_FIRST_TELLING = 0.2  # seconds until the first: most tasks are over by then
_NOTHING = Done({}, None, 0)


@contextmanager
def dask_engine(cluster: Cluster) -> Iterator[DaskEngine]:
    """Open the engine for a cluster; local workers are started, and ended with the block.

    Raises:
        BpenbError: Dask is not installed.
        WorkerError: the scheduler cannot be reached.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise BpenbError(
            "counting on a cluster needs the package distributed, which is not here: "
            "pip install 'bpenb[dask]'"
        ) from None
    logger = logging.getLogger("distributed")  # what it tells of lost workers and closed connections
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with ExitStack() as stack:
            address: Any = cluster.scheduler
            if cluster.local_workers is not None:
                address = stack.enter_context(local_cluster(distributed, cluster.local_workers))
            elif cluster.scheduler_file is not None:
                address = _address_in(Path(cluster.scheduler_file))
            yield DaskEngine(stack.enter_context(_connect(distributed, address, cluster.where)))
    finally:
        logger.setLevel(before)


def _address_in(path: Path) -> str:
    """Return the address in a scheduler's file, which may be about to be written."""
    patience = time.monotonic() + _PATIENCE
    while True:
        try:
            return str(json.loads(path.read_bytes())["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if time.monotonic() > patience:
                gone = isinstance(error, FileNotFoundError)
                raise WorkerError(
                    f"{path}: {'there is no such file' if gone else f'is no file of a scheduler: {error}'}; "
                    f"start a scheduler that writes it (dask scheduler --scheduler-file {path})"
                ) from None
            time.sleep(_TICK)


def _connect(distributed: Any, address: Any, where: str) -> Any:
    try:
        return distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(
            f"no scheduler answers at {where}: {error}; look whether it runs (dask scheduler), and whether "
            "the address is that which it tells"
        ) from None


class DaskEngine:
    """Lets the workers of a scheduler perform tasks.

    Args:
        client: connected.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._name = f"bpenb-{secrets.token_hex(4)}"  # of keys and of the topic that tasks tell bytes on
        self._n_started = 0

    def workers(self) -> list[Stated]:
        """Return the workers that there are now."""
        known = workers_of(self._client).items()
        return [Stated(name, one["memory_limit"] or None, one["nthreads"]) for name, one in known]

    def hold(self, paths: Sequence[Path], byte_order: ByteArray, n_merges: int) -> DaskShards:
        """Hold shards of words in the workers, as `Holders` has it."""
        return DaskShards(self._client, paths, byte_order, n_merges)

    def run(self, tasks: Sequence[Task]) -> Generator[Event, None, None]:
        """Yield an event for each task that is done, and others meanwhile.

        Raises:
            WorkerError: the scheduler is gone, or several workers died of one task.
        """
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        running: dict[Any, int] = {}  # by future, the number of its task
        told: dict[int, int] = {}  # bytes, by number of the task

        def hear(event: tuple[float, Any]) -> None:
            number, n_bytes = event[1]
            told[number] = n_bytes

        topic = f"{self._name}-{self._n_started}"
        self._client.subscribe_topic(topic, hear)
        n_begun, n_done, n_workers, looked = 0, 0, 0, float("-inf")
        try:
            while n_done < len(tasks):
                if time.monotonic() - looked > 1:
                    looked, workers = time.monotonic(), self.workers()
                    n_workers, most = len(workers), 2 * sum(one.n_threads for one in workers) + 8
                while n_begun < len(tasks) and len(running) < most:
                    future = self._submit(tasks[n_begun], n_begun, topic)
                    running[future] = n_begun
                    future.add_done_callback(ended.put)
                    n_begun += 1
                ended_number, done = None, _NOTHING
                try:
                    future = ended.get(timeout=_TICK)
                    done = self._result(future)
                    ended_number = running.pop(future)
                    told.pop(ended_number, None)
                    n_done += 1
                except queue.Empty:
                    pass
                still = set(running.values())  # a late word of one that is done does not count
                n_running_bytes = sum(n for number, n in list(told.items()) if number in still)
                yield Event(ended_number, done, n_running_bytes, n_workers)
        except (OSError, CancelledError) as error:
            raise WorkerError(GONE) from error
        finally:
            if self._client.status == "running":
                self._client.unsubscribe_topic(topic)
                self._client.cancel(list(running), force=True)

    def _submit(self, task: Task, number: int, topic: str) -> Any:
        self._n_started += 1
        key = f"{self._name}-{self._n_started}"
        return self._client.submit(_perform, task, number, topic, key=key, pure=False, retries=0)

    def _result(self, future: Any) -> Done:
        """Return what came of a task that ended."""
        if future.status == "finished":
            done: Done = future.result()
            return done
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker":
                raise WorkerError(
                    f"several workers died of one task ({error.last_worker} last); their logs tell why: "
                    "mostly, they were given more memory than there is"
                )
            raise WorkerError(f"a worker could not do its task: {type(error).__name__}: {error}")
        raise WorkerError(GONE)


def _perform(task: Task, number: int, topic: str) -> Done:
    """Do a task, in a worker."""
    worker: Any = importlib.import_module("distributed").get_worker()
    stated = Stated(worker.address, worker.memory_manager.memory_limit, worker.state.nthreads)
    last = time.monotonic() - _TELLING + _FIRST_TELLING

    def report(n_bytes: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _TELLING:
            last = time.monotonic()
            worker.log_event(topic, (number, n_bytes))

    return perform(task, stated, report)
