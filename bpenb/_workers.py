"""How many workers there are, and what runs inside a worker process.

A worker imports this module first, and little else, so that it ignores Ctrl-C (its parent decides)
before it spends its time on imports.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from bpenb.errors import BpenbError, TrainingError

__all__ = ["available_workers", "resolve_workers", "run_in_threads", "run_worker"]


def available_workers() -> int:
    """Return how many processors this process may use, at least 1."""
    process_cpu_count = getattr(os, "process_cpu_count", None)  # Python 3.13
    if process_cpu_count is not None:
        return process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def resolve_workers(workers: int | None) -> int:
    """Return the number of workers that an option asks for; None means `available_workers()`.

    Raises:
        TrainingError: fewer than one.
        TypeError: not an int.

    Example:
        >>> resolve_workers(3)
        3
    """
    if workers is None:
        return available_workers()
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise TypeError(f"workers must be an int or None, not {type(workers).__name__}")
    if workers < 1:
        raise TrainingError(f"workers must be at least 1, not {workers}")
    return workers


def run_in_threads(calls: Sequence[tuple[Callable[..., Any], *tuple[Any, ...]]], workers: int) -> list[Any]:
    """Run calls side by side, and return what they return; Ctrl-C drops what has not begun.

    Args:
        calls: of each the function, then its arguments.
        workers: threads.

    Example:
        >>> run_in_threads([(pow, 2, 5), (max, 3, 4)], 2)
        [32, 4]
    """
    if workers == 1 or len(calls) == 1:
        return [call[0](*call[1:]) for call in calls]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(call[0], *call[1:]) for call in calls]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# --- inside a worker ------------------------------------------------------------------------------
#
#   parent → worker   the job, then tasks, each pickled; an empty message: go home
#   worker → parent   ("done", result), ("error", BpenbError), ("failed", text, traceback);
#                     at the end ("closed", peak memory in bytes)


def run_worker(tasks: Connection, results: Connection) -> None:
    """Serve tasks until told to go home, or until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox: SimpleQueue[bytes] = SimpleQueue()
    # Tasks are taken from the pipe at once: a parent that waits to send a large one, to a worker
    # that waits to send a large result, would wait forever.
    threading.Thread(target=_receive, args=(tasks, inbox), daemon=True).start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # nobody is left to listen
        _serve(inbox, results)


def _receive(tasks: Connection, inbox: SimpleQueue[bytes]) -> None:
    try:
        while True:
            inbox.put(tasks.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)  # the parent is gone, whatever this process was about


def _serve(inbox: SimpleQueue[bytes], results: Connection) -> None:
    from bpenb._memory import peak_rss_bytes

    job_message = inbox.get()
    job: Any = None
    while message := inbox.get():
        try:
            job = job or pickle.loads(job_message)
            answer = pickle.dumps(("done", job(pickle.loads(message))), protocol=pickle.HIGHEST_PROTOCOL)
        except BaseException as error:  # SystemExit too: the parent must hear of it
            answer = pickle.dumps(_report(error))
        results.send_bytes(answer)
    results.send(("closed", peak_rss_bytes()))


def _report(error: BaseException) -> tuple[Any, ...]:
    """Return the message for an error: ours as it is, anybody else's as text."""
    if isinstance(error, BpenbError):
        with contextlib.suppress(Exception):
            pickle.loads(pickle.dumps(error))
            return "error", error
    return "failed", f"{type(error).__name__}: {error}", traceback.format_exc()
