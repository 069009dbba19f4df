"""Before anything is timed: on the first documents of a corpus, equal text gives equal results.

Words and counts must be equal between all that count with one pattern. Merges must be equal
between a peer and bpenb in that peer's mode: its ties, and whole documents or lines, as it reads
them. A library that fails is not timed on that corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpora import SPECIAL
from benchmarks.measure import ChildError, run_child

VOCAB_SIZE = 4000


@dataclass(frozen=True)
class Gate:
    """Whether a library's result on a corpus is bpenb's; `why` says what differs, or what failed."""

    corpus: str
    library: str
    result: str
    equal: bool
    why: str = ""


def check_words(
    corpus: str, path: Path, pattern: str, libraries: Sequence[str], pythons: dict[str, Path]
) -> list[Gate]:
    """Compare the words of each library with those of bpenb."""
    result = f"words, {pattern}"
    request = {
        "do": "count",
        "path": str(path),
        "warm_path": str(path),
        "special": SPECIAL,
        "pattern": pattern,
    }
    try:
        ours = run_child(pythons["bpenb"], request | {"library": "bpenb"})
    except ChildError as error:
        return [Gate(corpus, "bpenb", result, False, str(error))]
    gates = []
    for library in libraries:
        try:
            theirs = run_child(pythons[library], request | {"library": library})
        except ChildError as error:
            gates.append(Gate(corpus, library, result, False, str(error)))
            continue
        gates.append(_compare(corpus, library, result, ours, theirs, "words"))
    return gates


def check_merges(corpus: str, path: Path, libraries: Sequence[str], pythons: dict[str, Path]) -> list[Gate]:
    """Compare the merges of each peer with those of bpenb in the peer's mode."""
    request = {"path": str(path), "warm_path": str(path), "special": SPECIAL, "vocab_size": VOCAB_SIZE}
    gates = []
    for library in libraries:
        result = "merges"
        try:
            theirs = run_child(pythons[library], request | {"library": library, "do": "train"})
            twin: dict[str, Any] = theirs["twin"]
            result = f"merges, {twin['ties']} ties, {twin['reads']}"
            ours = run_child(pythons["bpenb"], request | {"library": "bpenb", "do": "twin", "twin": twin})
        except ChildError as error:
            gates.append(Gate(corpus, library, result, False, str(error)))
            continue
        gates.append(_compare(corpus, library, result, ours, theirs, "merges"))
    return gates


def _compare(
    corpus: str, library: str, result: str, ours: dict[str, Any], theirs: dict[str, Any], unit: str
) -> Gate:
    equal = ours["digest"] == theirs["digest"]
    why = "" if equal else f"bpenb has {ours[unit]} {unit}, {library} {theirs[unit]}, and they differ"
    return Gate(corpus, library, result, equal, why)
