"""A real scheduler, and real workers, as processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.running import environment

LIMIT = 2_000_000_000  # bytes that a worker states


def start(*arguments: str) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", "dask", *arguments], env=environment(), **quiet)


def wait_for(happened: Callable[[], Any], what: str, seconds: float = 120) -> None:
    patience = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < patience, f"waited in vain for {what}"
        time.sleep(0.005)


class Running:
    """A scheduler, and workers that come and go; at the end of the block none is left, whatever happened."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self._processes = [
            start("scheduler", "--scheduler-file", str(self.file), "--port", "0", "--no-dashboard")
        ]
        try:
            wait_for(lambda: self.file.exists() and self.file.read_bytes().endswith(b"}"), "the scheduler")
        except BaseException:
            self.end()
            raise
        self.address = json.loads(self.file.read_bytes())["address"]

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *what: object) -> None:
        self.end()

    def add_worker(self, n_threads: int = 1, memory: int = LIMIT) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until the scheduler knows it."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            before = len(client.scheduler_info(n_workers=-1)["workers"])
            options = ("--no-nanny", "--no-dashboard", "--nthreads", str(n_threads))
            worker = start("worker", self.address, *options, "--memory-limit", str(memory))
            self._processes.append(worker)
            wait_for(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) > before, "a worker")
        return worker

    def end(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()
