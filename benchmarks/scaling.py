"""1…N workers: wall, user, CPU % and peak memory of the process tree, counting and training."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks.corpora import Corpus
from benchmarks.measure import run_child
from benchmarks.runner import Runner

TASKS = ("count", "train")


def measure_scaling(
    runner: Runner, corpora: Sequence[Corpus], workers: Sequence[int]
) -> list[dict[str, Any]]:
    """Return a row for each task, corpus and number of workers; these take turns, too."""
    rows = []
    for task in TASKS:
        for corpus in corpora:
            runs: dict[int, list[dict[str, Any]]] = {n: [] for n in workers}
            for _ in range(runner.settings.repeat):
                for n in workers:
                    one = replace(runner.settings, workers=n)
                    request = Runner(one, runner.folder).request(task, corpus, "bpenb")
                    runs[n].append(run_child(one.pythons["bpenb"], request))
                    print(f"{task} {corpus.name} {n} {runs[n][-1]['seconds']:.2f} s", file=sys.stderr)
            if len({run["digest"] for group in runs.values() for run in group}) != 1:
                raise SystemExit(f"{task} {corpus.name}: the number of workers changes the result")
            first = _median(runs[workers[0]], "seconds")
            rows += [_row(task, corpus.name, n, runs[n], first) for n in workers]
    return rows


def _median(runs: list[dict[str, Any]], key: str) -> float:
    return float(median(run[key] for run in runs))


def _row(task: str, corpus: str, workers: int, runs: list[dict[str, Any]], first: float) -> dict[str, Any]:
    seconds, user, system = (_median(runs, f"{key}seconds") for key in ("", "user_", "system_"))
    return {
        "task": task,
        "corpus": corpus,
        "workers": workers,
        "seconds": seconds,
        "speedup": first / seconds,
        "user_seconds": user,
        "cpu_percent": 100 * (user + system) / seconds,
        "peak_rss_bytes": _median(runs, "peak_rss_bytes"),
    }
