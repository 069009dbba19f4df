"""Start a child process, wait for its JSON line, and watch the memory of its whole tree."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

try:
    import psutil
except ImportError:  # then the peak is that of the child itself
    psutil = None

ROOT = Path(__file__).parents[1]
_SAMPLE_SECONDS = 0.05
_LOOK_FOR_NEW_SECONDS = 0.25  # finding descendants reads all of /proc: not too often, it takes time


class ChildError(Exception):
    """A child process failed, or was not done in time."""


class TreeMemory(threading.Thread):
    """Sums the resident memory of a process and its descendants, twenty times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.samples: list[tuple[float, int]] = []
        self._pid, self._done = pid, threading.Event()

    def run(self) -> None:
        if psutil is None:
            return
        processes: list[Any] = []
        looked = 0.0
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(self._pid)
            while not self._done.wait(_SAMPLE_SECONDS):
                if time.monotonic() - looked >= _LOOK_FOR_NEW_SECONDS:
                    processes, looked = [root, *root.children(recursive=True)], time.monotonic()
                self.samples.append((time.time(), sum(map(_rss, processes))))

    def stop(self) -> None:
        self._done.set()
        self.join()

    def peak(self, until: float) -> int:
        """Return the greatest sum in bytes up to a time, 0 if there is none."""
        return max((rss for at, rss in self.samples if at <= until), default=0)


def _rss(process: Any) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def run_child(
    python: str | Path,
    request: dict[str, Any],
    timeout: float | None = None,
    module: str = "benchmarks.child",
) -> dict[str, Any]:
    """Run one request (see child.py) and return its line.

    Args:
        python: the interpreter of the environment that the library lives in.
        request: what child.py takes; `workers` also sets the threads of the Rust libraries.
        timeout: seconds; afterwards the child and all it started are ended.
        module: what is run; or benchmarks.encoding_child.

    Raises:
        ChildError: it failed (the message ends with its last words) or was not done in time.
    """
    command = [str(python), "-m", module, json.dumps(request)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(request.get("workers")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group, so that it can be ended as one
    ) as process:
        memory = TreeMemory(process.pid)
        if request["do"] in ("count", "train"):
            memory.start()
        try:
            out, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise ChildError("not done in time") from None
        finally:
            _end(process)
            if memory.ident is not None:
                memory.stop()
    if process.returncode != 0 or not out.strip():
        last_words = errors.strip().splitlines() or ["no message"]
        raise ChildError(f"exit code {process.returncode}: {last_words[-1]}")
    line: dict[str, Any] = json.loads(out.splitlines()[-1])
    if "ended" in line:
        line["peak_rss_bytes"] = max(line["peak_rss_bytes"] or 0, memory.peak(line.pop("ended"))) or None
        line["peak_of_tree"] = psutil is not None
    return line


def _environment(workers: int | None) -> dict[str, str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}
    if workers is not None:
        environment |= {"BPENB_BENCH_WORKERS": str(workers), "RAYON_NUM_THREADS": str(workers)}
    return environment


def _end(process: subprocess.Popen[str]) -> None:
    """End a child that still runs, with all that it started."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
