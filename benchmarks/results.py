"""Results as they are kept: machine, versions, date, corpora, every run; and their medians."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bpenb._workers import available_workers

from benchmarks.corpora import Corpus
from benchmarks.encoding_runner import EncodingRunner
from benchmarks.measure import ROOT
from benchmarks.peers import PEERS
from benchmarks.runner import Runner

FOLDER = ROOT / "benchmarks" / "results"
Results = dict[str, Any]


class Median(NamedTuple):
    """Of the runs of one library, task and corpus: median seconds and bytes, and their number."""

    seconds: float
    peak_rss_bytes: float
    n_runs: int


def machine() -> dict[str, Any]:
    """Return what figures depend on, without names."""
    processor = platform.processor() or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            processor = line.split(":", 1)[1].strip()
            break
    memory = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": processor,
        "processors": available_workers(),
        "memory_bytes": memory,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def header(kind: str, corpora: Sequence[Corpus], versions: dict[str, str]) -> Results:
    """Return what results of every kind begin with."""
    return {
        "kind": kind,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions,
        "corpora": {c.name: {"bytes": c.n_bytes, "sha256": c.sha256} for c in corpora},
    }


def results_of(
    runner: Runner | EncodingRunner, corpora: Sequence[Corpus], versions: dict[str, str], kind: str = "run"
) -> Results:
    """Return all that a run of training (`run`) or of encoding found out."""
    settings = runner.settings
    return header(kind, corpora, versions) | {
        "settings": {
            "repeat": settings.repeat,
            "workers": settings.workers,
            "gate_bytes": settings.gate_bytes,
        },
        "gates": [asdict(gate) for gate in runner.gates],
        "skipped": runner.skipped,
        "runs": runner.runs,
    }


def save(results: Results, out: Path | None) -> Path:
    """Write results to a file; None: one in `results/` named by kind and date."""
    stamp = results["date"][:16].replace(":", "")
    path = out or FOLDER / f"{results['kind']}-{stamp}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lists = {key: value for key, value in results.items() if isinstance(value, list)}
    text = json.dumps({k: v for k, v in results.items() if k not in lists}, indent=1)[:-2]
    for key, rows in lists.items():  # a row a line: runs can be compared with `diff` and `grep`
        text += f",\n {json.dumps(key)}: [\n  " + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]"
    path.write_text(text + "\n}\n", encoding="utf-8")
    return path


def newest(kind: str, folder: Path = FOLDER) -> Path | None:
    """Return the newest results of a kind, by their name."""
    return max(folder.glob(f"{kind}-*.json"), default=None)


def medians(results: Results, task: str) -> dict[str, dict[str, Median]]:
    """Return library → corpus → median of a task."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in results["runs"]:
        if run["task"] == task:
            groups.setdefault((run["library"], run["corpus"]), []).append(run)
    table: dict[str, dict[str, Median]] = {}
    for (library, corpus), runs in groups.items():
        seconds = median(run["seconds"] for run in runs)
        peak = median(run["peak_rss_bytes"] or 0 for run in runs)
        table.setdefault(library, {})[corpus] = Median(seconds, peak, len(runs))
    return table


def ratio(table: dict[str, dict[str, Median]], corpus: str, others: Sequence[str] = PEERS) -> float | None:
    """Return bpenb's seconds divided by those of the fastest of `others`, or None."""
    rivals = [table[name][corpus].seconds for name in others if corpus in table.get(name, {})]
    if not rivals or corpus not in table.get("bpenb", {}):
        return None
    return table["bpenb"][corpus].seconds / min(rivals)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except OSError:
        return []
