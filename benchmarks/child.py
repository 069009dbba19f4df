"""One library, one task, one corpus, in a process of its own: `python -m benchmarks.child REQUEST`.

REQUEST is a JSON object; one JSON line comes back on standard output. What the library itself
prints goes to standard error. One call on a small file comes first, so that code is loaded and
compiled and threads run; the second call is timed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from bpenb._memory import peak_rss_bytes

from benchmarks.digests import merges_digest, words_digest

Request = dict[str, Any]

# On the small file, with no more merges than it has pairs: gigatoken goes on at counts of zero, slowly.
WARM_VOCAB_SIZE = 1000


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Return the result of a call, and what it took."""
    gc.collect()
    before, started = os.times(), time.perf_counter()
    result = call()
    seconds, after = time.perf_counter() - started, os.times()
    return result, {
        "seconds": seconds,
        "user_seconds": after.user + after.children_user - before.user - before.children_user,
        "system_seconds": after.system + after.children_system - before.system - before.children_system,
        "peak_rss_bytes": peak_rss_bytes(),
        "ended": time.time(),
    }


def count(adapter: ModuleType, request: Request) -> dict[str, Any]:
    """Count words; a library that only trains learns a few merges, most of which is counting."""
    if adapter.count is None:
        return train(adapter, request)
    path, special, pattern = request["path"], request["special"], request["pattern"]
    adapter.count(request["warm_path"], special, pattern)
    result, took = timed(lambda: adapter.count(path, special, pattern))
    counts = result()
    n = {"words": len(counts), "pretokens": sum(counts.values())}
    return took | n | {"digest": words_digest(counts), "digest_of": "words"}


def train(adapter: ModuleType, request: Request) -> dict[str, Any]:
    path, vocab_size, special = request["path"], request["vocab_size"], request["special"]
    adapter.train(request["warm_path"], min(vocab_size, WARM_VOCAB_SIZE), special)
    result, took = timed(lambda: adapter.train(path, vocab_size, special))
    merges = result()
    return took | {"twin": adapter.TWIN} | _merges(merges, request)


def twin(adapter: ModuleType, request: Request) -> dict[str, Any]:
    """Train as another library does, not timed."""
    return _merges(
        adapter.twin(request["path"], request["vocab_size"], request["special"], **request["twin"]), request
    )


def shell(request: Request) -> dict[str, Any]:
    """Run a command that trains and saves, twice: what is on disk and in caches is warm then."""
    subprocess.run(request["warm_command"], check=True, stdout=2)
    _, took = timed(lambda: subprocess.run(request["command"], check=True, stdout=2))
    return took | {"peak_rss_bytes": _peak_rss_bytes_of_children()}


def _peak_rss_bytes_of_children() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _merges(merges: list[tuple[bytes, ...]], request: Request) -> dict[str, Any]:
    # A library that lacks bytes that do not occur has room for more merges: the first ones count.
    same = merges[: request["vocab_size"] - 257]
    return {"merges": len(merges), "digest": merges_digest(same), "digest_of": "merges"}


Measure = Callable[[ModuleType, Request], dict[str, Any]]


def answer(folder: str, does: dict[str, Measure]) -> None:
    """Do what the request on the command line asks for, and print the line.

    `folder` has a module for each library; `does` the measurements by name. What a request has no `path`
    for, or asks for the version alone, is about no text.
    """
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print
    request: Request = json.loads(sys.argv[1])
    line: dict[str, Any] = {
        key: request[key] for key in ("library", "task", "corpus", "workers") if key in request
    }
    if "path" in request and request["do"] != "version":
        line["bytes"] = Path(request["path"]).stat().st_size
    if request["do"] == "shell":  # before the library is imported here: a new process inherits our peak
        line |= shell(request)
    library = importlib.import_module(f"benchmarks.{folder}.{request['library']}")
    line["version"] = library.version()
    if request["do"] in does:
        line |= does[request["do"]](library, request)
    os.write(out, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    answer("adapters", {"count": count, "train": train, "twin": twin})
