"""What is measured, in which order, and how long it may take in all.

For each task and corpus the libraries take turns (A B C, A B C, …), so that a machine which gets
slower or faster does so for all of them. The slow ones come last, when all others are done; what
takes long runs once, and what would take very long, or does not fit in the time, is left out. The
results say what was left out, and why.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.child import WARM_VOCAB_SIZE
from benchmarks.corpora import SPECIAL, Corpus, head
from benchmarks.gates import Gate, check_merges, check_words
from benchmarks.measure import ChildError, run_child
from benchmarks.peers import PEERS

WARM_BYTES = 256_000
SLOW = ("regex_counter", "rustbpe", "hf_tokenizers")


@dataclass(frozen=True)
class Task:
    """One kind of measurement.

    Attributes:
        do: what the child does: `count`, `train` or `shell`.
        libraries: who takes part.
        more: who takes part if asked for.
        corpora: where, if none is asked for; empty: everywhere.
    """

    do: str
    libraries: tuple[str, ...]
    more: tuple[str, ...] = ()
    pattern: str = "gpt2"
    corpora: tuple[str, ...] = ()


_FAST = ("bpenb", "gigabpe", "gigatoken")
TASKS = {
    "train": Task("train", (*_FAST, "rustbpe", "hf_tokenizers")),
    "count": Task("count", (*_FAST, "regex_counter"), ("rustbpe", "hf_tokenizers")),
    "count-cl100k": Task("count", ("bpenb", "bpenb_regex"), ("regex_counter",), "cl100k", ("multi", "prose")),
    "count-o200k": Task("count", ("bpenb", "bpenb_regex"), ("regex_counter",), "o200k", ("multi", "prose")),
    "shell": Task("shell", _FAST, ("rustbpe", "hf_tokenizers")),
}


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        pythons: the interpreter for each library that can be had.
        repeat: turns.
        workers: threads or processes; None: each library's default, all processors.
        once_above: seconds; a library that took longer runs once.
        skip_above: seconds; a library that would take longer, going by smaller corpora, is left
            out. 0: never.
        minutes: for everything; what does not fit is left out. 0: no limit.
        gate_bytes: of each corpus, for the gates.
    """

    pythons: dict[str, Path]
    repeat: int = 3
    workers: int | None = None
    once_above: float = 8
    skip_above: float = 40
    minutes: float = 11
    gate_bytes: int = 4_000_000


@dataclass
class Runner:
    """Runs tasks, and keeps what came out."""

    settings: Settings
    folder: Path
    runs: list[dict[str, Any]] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def run(self, groups: Sequence[tuple[str, Corpus]], libraries: Sequence[str] | None) -> None:
        """Measure tasks on corpora, in this order; `libraries` None: those of each task."""
        for corpus in dict.fromkeys(corpus for _, corpus in groups):
            names = [name for name, where in groups if where == corpus]
            self._check(corpus, {name: self._libraries(TASKS[name], libraries) for name in names})
        for slow in (False, True):
            for name, corpus in groups:
                able = self._libraries(TASKS[name], libraries)
                self._take_turns(name, corpus, [library for library in able if (library in SLOW) == slow])

    def _libraries(self, task: Task, asked: Sequence[str] | None) -> list[str]:
        able = task.libraries + task.more
        wanted = task.libraries if asked is None else [library for library in able if library in asked]
        return [library for library in wanted if library in self.settings.pythons]

    def _check(self, corpus: Corpus, chosen: dict[str, list[str]]) -> None:
        """Run the gates of a corpus, each once, whatever the number of tasks that need it."""
        path = head(corpus.path, self.settings.gate_bytes, self.folder / "gate.txt")
        pythons, gates = self.settings.pythons, []
        for pattern in sorted({TASKS[name].pattern for name in chosen}):
            counting = [n for n in chosen if TASKS[n].pattern == pattern and TASKS[n].do == "count"]
            others = _distinct(chosen[n] for n in counting) - {"bpenb", *PEERS}
            gates += check_words(corpus.name, path, pattern, sorted(others), pythons) if others else []
        gates += check_merges(corpus.name, path, sorted(_distinct(chosen.values()) & set(PEERS)), pythons)
        for gate in gates:
            _say(f"gate   {gate.corpus:8} {gate.library:14} {gate.result}: {gate.why or 'equal'}")
        self.gates += gates

    def _take_turns(self, name: str, corpus: Corpus, libraries: Sequence[str]) -> None:
        failed = {gate.library for gate in self.gates if gate.corpus == corpus.name and not gate.equal}
        left = [library for library in libraries if library not in failed]
        self.skipped += [
            {"task": name, "corpus": corpus.name, "library": library, "reason": "its results differ"}
            for library in libraries
            if library in failed
        ]
        for turn in range(self.settings.repeat):
            for library in tuple(left):
                reason = self._reason_to_skip(name, corpus, library) if turn == 0 else ""
                line = None if reason else self._measure(name, corpus, library)
                if line is None:
                    left.remove(library)
                    if reason:
                        self._skip(name, corpus, library, reason)
                elif line["seconds"] > self.settings.once_above:
                    left.remove(library)

    def _measure(self, name: str, corpus: Corpus, library: str) -> dict[str, Any] | None:
        request = self.request(name, corpus, library)
        limit = self._seconds_left()
        try:
            if limit is not None and limit <= 0:
                raise ChildError("not done in time")
            line = run_child(self.settings.pythons[library], request, limit)
        except ChildError as error:
            self._skip(name, corpus, library, str(error))
            return None
        self.runs.append(line)
        peak = (line["peak_rss_bytes"] or 0) / 1e6
        _say(f"{name:6} {corpus.name:8} {library:14} {line['seconds']:8.2f} s {peak:6.0f} MB")
        return line

    def request(self, name: str, corpus: Corpus, library: str) -> dict[str, Any]:
        """Return what the child is asked to do."""
        task = TASKS[name]
        warm_path = head(corpus.path, WARM_BYTES, self.folder / "warm.txt")
        vocab_size = 300 if task.do == "count" else 10_000 if corpus.name == "stories" else 32_000
        request = {
            "do": task.do,
            "library": library,
            "task": name,
            "corpus": corpus.name,
            "path": str(corpus.path),
            "warm_path": str(warm_path),
            "special": SPECIAL,
            "pattern": task.pattern,
            "vocab_size": vocab_size,
        }
        if self.settings.workers is not None:
            request["workers"] = self.settings.workers
        if task.do == "shell":
            python, out = self.settings.pythons[library], self.folder / "out"
            request["command"] = shell_command(python, library, corpus.path, vocab_size, out)
            request["warm_command"] = shell_command(python, library, warm_path, WARM_VOCAB_SIZE, out)
        return request

    def _reason_to_skip(self, name: str, corpus: Corpus, library: str) -> str:
        before = [run for run in self.runs if (run["task"], run["library"]) == (name, library)]
        if not before or not self.settings.skip_above:
            return ""
        seconds = corpus.n_bytes / before[-1]["bytes"] * before[-1]["seconds"]
        left = self._seconds_left()
        if seconds > self.settings.skip_above or (left is not None and seconds > left):
            return f"would take about {seconds:.0f} s"
        return ""

    def _seconds_left(self) -> float | None:
        if not self.settings.minutes:
            return None
        return self.started + 60 * self.settings.minutes - time.monotonic()

    def _skip(self, name: str, corpus: Corpus, library: str, reason: str) -> None:
        self.skipped.append({"task": name, "corpus": corpus.name, "library": library, "reason": reason})
        _say(f"{name:6} {corpus.name:8} {library:14} {reason}")

    def check_whole_corpora(self) -> None:
        """Hold the timed results against each other: each library's repeats, and all words."""
        for name, corpus in sorted({(run["task"], run["corpus"]) for run in self.runs}):
            digests: dict[str, set[str]] = {}
            for run in self.runs:
                if (run["task"], run["corpus"]) == (name, corpus) and "digest" in run:
                    who = "all that count" if run["digest_of"] == "words" else run["library"]
                    digests.setdefault(who, set()).add(run["digest"])
            for who, found in digests.items():
                why = "" if len(found) == 1 else f"{len(found)} different results"
                self.gates.append(Gate(corpus, who, f"{name}, whole corpus", not why, why))


def shell_command(python: Path, library: str, path: Path, vocab_size: int, out: Path) -> list[str]:
    """Return the command line of a whole training."""
    if library != "bpenb":
        module = f"benchmarks.adapters.{library}"
        return [str(python), "-m", module, str(path), str(vocab_size), SPECIAL, f"{out}.json"]
    program = shutil.which("bpenb", path=str(python.parent))
    if program is None:
        raise SystemExit(f"there is no command bpenb beside {python}; install bpenb first (pip install .)")
    size = ["--vocab-size", str(vocab_size), "--special-token", SPECIAL]
    return [program, "train", str(path), *size, "--progress", "none", "--force", "-o", str(out)]


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for slices of corpora and for what is saved."""
    return tempfile.TemporaryDirectory(prefix="bpenb-bench-", ignore_cleanup_errors=True)


def _distinct(groups: Any) -> set[str]:
    return {name for group in groups for name in group}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
