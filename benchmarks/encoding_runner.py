"""What is measured of encoding, in which order, and how long it may take in all.

As in runner.py, libraries take turns, and what does not fit in the time is left out and told. The vocab
is GPT-2's where no other is named. A first call is one in a fresh process, with the tokenizer loaded and
the file in the system's cache. tiktoken gets a slice of each corpus in memory, and its time is scaled.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.corpora import NAMES, Corpus, head
from benchmarks.gates import Gate
from benchmarks.measure import ChildError, run_child
from benchmarks.noise import pieces
from benchmarks.vocabs import copy_for_gigatoken, find_vocab

CHILD = "benchmarks.encoding_child"
WARM_MB, SLICE_MB, DECODE_MB, SMALL_BYTES = 30, 20, 100, 1000


@dataclass(frozen=True)
class EncodingTask:
    """One kind of measurement.

    Attributes:
        do: what the child does, a function of encoding_child.py; or `shell`.
        libraries: who takes part.
        corpora: where, if none is asked for; empty: everywhere.
        vocab: whose ids.
        mb: of the corpus's start; None: the whole.
        made_mb: the corpus is repeated until a file has so many MB.
        workers: threads; None: as the settings say.
        once: however many turns there are.
    """

    do: str
    libraries: tuple[str, ...] = ("bpenb",)
    corpora: tuple[str, ...] = ()
    vocab: str = "gpt2"
    mb: float | None = None
    made_mb: float | None = None
    workers: int | None = None
    once: bool = False


_THREE = ("multi", "prose", "code")
# In the order in which they are measured; tables and floors know them by these names.
TASKS = {
    "encode": EncodingTask("file", ("bpenb", "gigatoken", "tiktoken")),
    "encode-shell": EncodingTask("shell", ("bpenb", "gigatoken")),
    "encode-warm": EncodingTask("warm", ("bpenb", "gigatoken"), ("prose", "code", "stories"), mb=WARM_MB),
    "short": EncodingTask("short", corpora=("prose",)),
    "load": EncodingTask("load", corpora=("prose",)),
    "small-shell": EncodingTask("shell", corpora=("prose",), mb=SMALL_BYTES / 1e6),
    "memory-300MB": EncodingTask("file", corpora=("prose",), made_mb=300, workers=2, once=True),
    "memory-1GB": EncodingTask("file", corpora=("prose",), made_mb=1000, workers=2, once=True),
    "tokens": EncodingTask("tokens"),
    "encode-cl100k": EncodingTask("file", corpora=_THREE, vocab="cl100k"),
    "encode-o200k": EncodingTask("file", corpora=_THREE, vocab="o200k"),
    "decode": EncodingTask("decode", corpora=_THREE, mb=DECODE_MB),
    "decode-text": EncodingTask("decode_text", corpora=_THREE, mb=DECODE_MB),
}


@dataclass(frozen=True)
class EncodingSettings:
    """How to measure.

    Attributes:
        pythons: the interpreter for each library that can be had.
        vocabs: the folder of the .tiktoken files.
        repeat: turns.
        workers: threads; None: each library's default, all processors.
        minutes: for everything; what does not fit is left out. 0: no limit.
        gate_bytes: of each corpus, for the gates.
        scale: of the sizes of files that are made, for trying things out.
    """

    pythons: dict[str, Path]
    vocabs: Path
    repeat: int = 3
    workers: int | None = None
    minutes: float = 6
    gate_bytes: int = 4_000_000
    scale: float = 1.0


@dataclass
class EncodingRunner:
    """Runs tasks, and keeps what came out."""

    settings: EncodingSettings
    folder: Path
    runs: list[dict[str, Any]] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    _prepared: dict[tuple[str, str], Path] = field(default_factory=dict)

    def run(
        self,
        tasks: Sequence[str],
        corpora: Sequence[Corpus],
        libraries: Sequence[str] | None,
        everywhere: bool,
    ) -> None:
        """Check the corpora, and measure tasks on those that each is for; `everywhere`: on all of them."""
        able = {
            name: [
                library
                for library in TASKS[name].libraries
                if library in self.settings.pythons and (libraries is None or library in libraries)
            ]
            for name in tasks
        }
        peers = {library for group in able.values() for library in group if library != "bpenb"}
        for corpus in corpora:
            self._check(corpus, sorted(peers))
        for name in tasks:
            chosen = TASKS[name].corpora
            for corpus in corpora:
                if everywhere or not chosen or corpus.name in chosen or corpus.name not in NAMES:
                    self._take_turns(name, corpus, able[name])

    def prepare(self, library: str, vocab: str) -> Path:
        """Return what a library loads a vocab from: a folder that bpenb saved, or a .tiktoken file."""
        key = (library, vocab)
        if key not in self._prepared:
            if library == "gigatoken":
                self._prepared[key] = copy_for_gigatoken(vocab, self.settings.vocabs, self.folder)
            elif library == "tiktoken":
                self._prepared[key] = find_vocab(vocab, self.settings.vocabs)
            else:
                out = self.folder / f"{vocab}-tokenizer"
                request = {"library": library, "do": "prepare", "vocab": vocab, "out": str(out)}
                request["vocabs"] = str(self.settings.vocabs)
                run_child(self.settings.pythons[library], request, module=CHILD)
                self._prepared[key] = out
        return self._prepared[key]

    def request(self, name: str, corpus: Corpus, library: str, digest: bool = False) -> dict[str, Any]:
        """Return what the child is asked to do."""
        task = TASKS[name]
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        do, path = task.do, self._path(task, corpus)
        if library == "tiktoken":  # has nothing to do with files
            do, path = "batch", head(corpus.path, int(SLICE_MB * 1e6), self.folder / "slice.txt")
        tokenizer = self.prepare(library, task.vocab)
        request: dict[str, Any] = {
            "do": do,
            "library": library,
            "task": name,
            "corpus": corpus.name,
            "path": str(path),
            "tokenizer": str(tokenizer),
            "out": str(out / "ids.npy"),
            "digest": digest,
        }
        if workers := task.workers or self.settings.workers:
            request["workers"] = workers
        if do == "shell":
            small = head(corpus.path, SMALL_BYTES, self.folder / "small.txt")
            python = self.settings.pythons[library]
            request["command"] = encode_command(python, library, tokenizer, path, out / "ids.npy")
            request["warm_command"] = encode_command(python, library, tokenizer, small, out / "warm.npy")
        return request

    def _path(self, task: EncodingTask, corpus: Corpus) -> Path:
        if task.made_mb is not None:
            return self._made(corpus, int(task.made_mb * 1e6 * self.settings.scale))
        if task.mb is None:
            return corpus.path
        return head(corpus.path, int(task.mb * 1e6), self.folder / f"{task.do}.txt")

    def _made(self, corpus: Corpus, n_bytes: int) -> Path:
        """Return a file of almost some size, the corpus again and again; one of another size is removed."""
        path = self.folder / f"made-{n_bytes}.txt"
        if path.is_file():
            return path
        for other in self.folder.glob("made-*.txt"):
            other.unlink()
        left = n_bytes
        with path.open("wb") as out:
            for piece in pieces([corpus.path]):
                some = piece if len(piece) <= left else piece[: piece.rfind(b"\n", 0, left) + 1]
                left -= out.write(some)
                if len(some) < len(piece) or left == 0:
                    return path
        raise AssertionError("the pieces never end")

    def _check(self, corpus: Corpus, peers: Sequence[str]) -> None:
        """Compare the ids of the first documents of a corpus, before anything is timed."""
        path = head(corpus.path, self.settings.gate_bytes, self.folder / "gate.txt")
        digests: dict[str, str] = {}
        for library in ("bpenb", *peers):
            request = {"do": "batch", "library": library, "path": str(path)}
            request["tokenizer"] = str(self.prepare(library, "gpt2"))
            why = ""
            try:
                line = run_child(self.settings.pythons[library], request, module=CHILD)
                digests[library] = line["digest"]
                if line["digest"] != digests.get("bpenb"):
                    why = "its ids are not bpenb's"
            except ChildError as error:
                why = str(error)
            if why or library != "bpenb":
                self._gate(Gate(corpus.name, library, "ids, gpt2", not why, why))

    def _gate(self, gate: Gate) -> None:
        self.gates.append(gate)
        _say(f"gate   {gate.corpus:8} {gate.library:12} {gate.result}: {gate.why or 'equal'}")

    def _take_turns(self, name: str, corpus: Corpus, libraries: Sequence[str]) -> None:
        failed = {gate.library for gate in self.gates if gate.corpus == corpus.name and not gate.equal}
        left = [library for library in libraries if library not in failed]
        for library in failed & set(libraries):
            self._skip(name, corpus, library, "its ids differ")
        for turn in range(1 if TASKS[name].once else self.settings.repeat):
            for library in tuple(left):
                if not self._measure(name, corpus, library, digest=turn == 0):
                    left.remove(library)

    def _measure(self, name: str, corpus: Corpus, library: str, digest: bool) -> bool:
        limit = self._seconds_left()
        try:
            if limit is not None and limit <= 0:
                raise ChildError("not done in time")
            request = self.request(name, corpus, library, digest)
            line = run_child(self.settings.pythons[library], request, limit, CHILD)
        except ChildError as error:
            self._skip(name, corpus, library, str(error))
            return False
        if library == "tiktoken":
            line |= {"measured_bytes": line["bytes"], "measured_seconds": line["seconds"]}
            line["seconds"] *= corpus.n_bytes / line["bytes"]
            line |= {"bytes": corpus.n_bytes, "peak_rss_bytes": None}
            del line["digest"], line["n_ids"]  # of the slice
        self.runs.append(line)
        peak, rate = (line["peak_rss_bytes"] or 0) / 1e6, line["bytes"] / line["seconds"] / 1e6
        _say(
            f"{name:13} {corpus.name:8} {library:10} {line['seconds']:9.3g} s {rate:7.0f} MB/s {peak:5.0f} MB"
        )
        return True

    def _seconds_left(self) -> float | None:
        if not self.settings.minutes:
            return None
        return self.started + 60 * self.settings.minutes - time.monotonic()

    def _skip(self, name: str, corpus: Corpus, library: str, reason: str) -> None:
        self.skipped.append({"task": name, "corpus": corpus.name, "library": library, "reason": reason})
        _say(f"{name:13} {corpus.name:8} {library:10} {reason}")

    def check_whole_corpora(self) -> None:
        """Hold the ids of all runs with one text and one vocab against each other, and their number."""
        texts: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
        for run in self.runs:
            if "n_ids" in run:
                texts.setdefault((TASKS[run["task"]].vocab, run["corpus"], run["bytes"]), []).append(run)
        for (vocab, corpus, n_bytes), runs in texts.items():
            for library in dict.fromkeys(run["library"] for run in runs):
                compared = [run for run in runs if run["library"] in (library, "bpenb")]
                # A batch of documents has no special tokens: tasks may differ by those, libraries not.
                whole = [run for run in compared if TASKS[run["task"]].do != "warm"]
                parts = [run for run in compared if TASKS[run["task"]].do == "warm"]
                different = [
                    key
                    for key in ("digest", "n_ids")
                    if any(len({run[key] for run in some if key in run}) > 1 for some in (whole, parts))
                ]
                why = f"there are different results: {' and '.join(different)}" if different else ""
                result = f"ids, {vocab}, {n_bytes / 1e6:.1f} MB, all runs"
                self._gate(Gate(corpus, library, result, not why, why))


def encode_command(python: Path, library: str, tokenizer: Path, path: Path, out: Path) -> list[str]:
    """Return the command line that encodes a file into a file."""
    if library != "bpenb":
        return [str(python), "-m", f"benchmarks.encoders.{library}", str(tokenizer), str(path), str(out)]
    program = shutil.which("bpenb", path=str(python.parent))
    if program is None:
        raise SystemExit(f"there is no command bpenb beside {python}; install bpenb first (pip install .)")
    return [program, "encode", str(path), "-t", str(tokenizer), "-o", str(out), "--progress", "none"]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
