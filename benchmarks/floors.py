"""What encoding is held to: for each figure a floor, what to reach for, and what a run reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.corpora import NAMES
from benchmarks.results import Median, Results, medians

Medians = dict[str, dict[str, Median]]

# The floors against peers are for these; the corpora that a caller brings count as well.
_LARGE = ("prose", "code", "stories")
_LARGER_THAN_GPT2 = ("cl100k", "o200k")


@dataclass(frozen=True)
class Floor:
    """One figure.

    Attributes:
        what: is measured.
        floor: it must not be worse than.
        reached: by this run; None: it was not measured.
        unit: as shown.
        at_most: less is better.
        reach_for: what would be good; None: the floor is enough.
    """

    what: str
    floor: float
    reached: float | None
    unit: str
    at_most: bool = True
    reach_for: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether it is met; None: it was not measured."""
        if self.reached is None:
            return None
        return self.reached <= self.floor if self.at_most else self.reached >= self.floor

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        wish = "" if self.reach_for is None else f" → {self.reach_for:g}"
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        figure = "not measured," if self.reached is None else f"{self.reached:.3g}"
        return f"{verdict:7}{self.what}: {figure} {self.unit} (floor {sign} {self.floor:g}{wish})"


def floors(results: Results) -> list[Floor]:
    """Return all floors and what a run of encoding reached."""
    return [*_against_peers(results), *_of_files(results), *_of_small_calls(results)]


def _against_peers(results: Results) -> Iterator[Floor]:
    encode, shell, warm = (medians(results, name) for name in ("encode", "encode-shell", "encode-warm"))
    corpora = [name for name in results["corpora"] if name in _LARGE or name not in NAMES]
    for corpus in corpora:
        for found, what, floor, wish in (
            (encode, "file to file, first call", 0.8, 0.4),
            (shell, "the whole process", 1.0, None),
            (warm, "in memory, warm", 1.0, 0.6),
        ):
            times = _ratio(_seconds(found, "bpenb", corpus), _seconds(found, "gigatoken", corpus))
            yield Floor(f"{what}, {corpus}", floor, times, "× gigatoken's time", True, wish)
        speed = _ratio(_seconds(encode, "tiktoken", corpus), _seconds(encode, "bpenb", corpus))
        yield Floor(f"file to file, {corpus}", 12, speed, "× tiktoken's speed", False, 30)


def _of_files(results: Results) -> Iterator[Floor]:
    gpt2 = medians(results, "encode")
    for vocab in _LARGER_THAN_GPT2:
        yield _worst_speed(results, f"encode-{vocab}", gpt2, 0.6, f"{vocab}, where it is slowest")
    yield _worst_speed(results, "tokens", gpt2, 1.0, "counting tokens, where it is slowest")
    decoded = medians(results, "decode").get("bpenb", {})
    sizes = {run["corpus"]: run["bytes"] for run in results["runs"] if run["task"] == "decode"}
    rates = [sizes[corpus] / found.seconds / 1e9 for corpus, found in decoded.items()]
    yield Floor("decoding to bytes, where it is slowest", 1.0, min(rates, default=None), "GB/s", False)
    peaks = [_peak(results, f"memory-{size}") for size in ("300MB", "1GB")]
    yield Floor("peak memory of a file of 1 GB, two threads", 350, _ratio(peaks[1], 1e6), "MB")
    yield Floor("the same ÷ that of 300 MB", 1.1, _ratio(peaks[1], peaks[0]), "×")


def _of_small_calls(results: Results) -> Iterator[Floor]:
    for name, what, floor, unit, scale, wish in (
        ("short", "a string of 20 characters", 15, "µs", 1e-6, 5),
        ("load", "Tokenizer.load of GPT-2's vocab", 0.3, "s", 1, None),
        ("small-shell", "a file of 1 kB from the shell", 1.2, "s", 1, 0.7),
    ):
        found = medians(results, name).get("bpenb", {})
        seconds = max((median.seconds for median in found.values()), default=None)
        yield Floor(what, floor, _ratio(seconds, scale), unit, True, wish)


def _worst_speed(results: Results, name: str, gpt2: Medians, floor: float, what: str) -> Floor:
    found = medians(results, name).get("bpenb", {})
    speeds = [_ratio(_seconds(gpt2, "bpenb", corpus), found[corpus].seconds) for corpus in found]
    worst = min((speed for speed in speeds if speed is not None), default=None)
    return Floor(what, floor, worst, "× the speed of writing GPT-2's ids", False)


def _seconds(found: Medians, library: str, corpus: str) -> float | None:
    row = found.get(library, {}).get(corpus)
    return None if row is None else row.seconds


def _peak(results: Results, name: str) -> float | None:
    found = medians(results, name).get("bpenb", {})
    return max((median.peak_rss_bytes for median in found.values()), default=None)


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b
