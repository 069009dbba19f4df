"""The memory budget: how it is divided, what is refused at once, and that the measured peak keeps to it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import bpenb
import numpy as np
import pytest
from bpenb._memory import parse_memory, peak_rss_bytes, release_free_memory, rss_bytes
from bpenb.counting import CountSettings, Workforce, count_documents, two_ways
from bpenb.counting.memory_plan import plan_processes, plan_threads
from bpenb.errors import BpenbError, TrainingError
from bpenb.patterns import resolve_pattern
from bpenb.training import check_memory

MB = 1_000_000
linux_only = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="no system to ask for the peak"
)

# --- the option -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [(None, None), (256 * MB, 256 * MB), ("256MB", 256 * MB), ("2GB", 2_000 * MB), ("2 gb", 2_000 * MB),
     ("1.5G", 1_500 * MB), ("2GiB", 2 << 30), ("512 MiB", 512 << 20), ("300000000", 300 * MB),
     ("0.5TB", 500_000 * MB), (" 400000KB ", 400 * MB), ("300000000B", 300 * MB)],
)  # fmt: skip
def test_amounts_of_memory(given: int | str | None, n_bytes: int | None) -> None:
    assert parse_memory(given) == n_bytes


@pytest.mark.parametrize("given", ["", "much", "2XB", "-2GB", "GB", "1e9", "2 G B", "١GB"])
def test_what_is_no_amount_of_memory(given: str) -> None:
    with pytest.raises(TrainingError, match=r"it must be a number of bytes, or such as '512MB'"):
        parse_memory(given)


@pytest.mark.parametrize("given", [0, -1, 255_999_999, "255MB", "1"])
def test_too_little_memory_is_refused_before_any_work(given: int | str) -> None:
    def documents():  # type: ignore[no-untyped-def]
        raise AssertionError("nothing may be read")
        yield

    for work in (bpenb.count_words_from_iterator, bpenb.train_from_iterator):
        with pytest.raises(BpenbError, match=r"at least 256 MB.*leave it out"):
            work(documents(), max_memory=given)
    for of_files in (bpenb.count_words, bpenb.train):
        with pytest.raises(TrainingError, match=rf"max_memory is {given!r}"):
            of_files(__file__, max_memory=given)


@pytest.mark.parametrize("given", [True, 2.5e9, b"2GB"])
def test_memory_of_another_type(given: object) -> None:
    with pytest.raises(TypeError, match="max_memory must be an int, a str or None"):
        Workforce(max_memory=given)  # type: ignore[arg-type]


def test_resident_memory() -> None:
    release_free_memory()
    assert 20 * MB < rss_bytes() <= peak_rss_bytes()


# --- the plan -------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [256, 300, 512, 2_000, 64_000])
@pytest.mark.parametrize("workers", [1, 2, 8, 64])
def test_shares_add_up_to_the_budget(budget: int, workers: int) -> None:
    for plan in (
        plan_threads(budget * MB, 150 * MB, workers, 1 << 19),
        plan_processes(budget * MB, 150 * MB, workers, False, 1 << 20),
        plan_processes(budget * MB, 150 * MB, workers, True, 1 << 20),
    ):
        assert plan.base + plan.fixed + plan.for_words <= budget * MB
        assert 1 <= plan.workers <= workers
        assert min(plan.table, plan.sorting) >= 6 * MB
        assert f"{budget:,} MB = 150 MB base" in str(plan)
        assert "\n" not in str(plan)


def test_workers_that_do_not_fit_are_left_out() -> None:
    assert plan_threads(256 * MB, 150 * MB, 2, 1 << 19).workers == 2
    assert 2 <= plan_threads(256 * MB, 150 * MB, 64, 1 << 19).workers < 16
    assert plan_threads(2_000 * MB, 150 * MB, 32, 1 << 19).workers == 32
    assert plan_processes(256 * MB, 150 * MB, 2, False, 1 << 20).workers == 1
    assert plan_processes(1_000 * MB, 150 * MB, 2, False, 1 << 20).workers == 2
    assert plan_processes(400 * MB, 150 * MB, 2, True, 1 << 20).workers == 1


def test_a_process_that_is_full_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_ways, "rss_bytes", lambda: 290 * MB)
    for engine in ("compiled", "regex"):
        settings = CountSettings(resolve_pattern("gpt2"), (), engine=engine)  # type: ignore[arg-type]
        with pytest.raises(TrainingError, match=r"holds 290 MB already; counting needs [34]\d\d MB in all"):
            count_documents(["a"], settings, Workforce(1, max_memory="300MB"))


def test_learning_must_fit_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = bpenb.count_words_from_iterator(["some words"], max_memory="2GB")
    check_memory(counts, 2_000 * MB)
    with pytest.raises(TrainingError, match=r"learning from 2 of them takes about .* MB; raise max_memory"):
        check_memory(counts, 50 * MB)


def test_the_report_tells_of_the_budget() -> None:
    report = bpenb.train_from_iterator(["some words"], vocab_size=260, max_memory="2GB").report
    assert report is not None
    assert report["memory_plan"]["budget"] == 2_000 * MB
    assert report["n_spills"] == 0
    assert {"counting.read", "counting.scan", "counting.tally", "counting.gather"} <= set(report["seconds"])
    assert json.loads(json.dumps(report)) == report


# --- the measured peak ----------------------------------------------------------------------------

# Counts a file and says what it took. With budget ≤ 0 it counts without one.
CHILD = """
import hashlib, json, sys
from bpenb._memory import peak_rss_bytes, rss_bytes
from bpenb.counting import CountSettings, Workforce, count_documents, count_files
from bpenb.patterns import resolve_pattern

if __name__ == "__main__":
    path, engine, workers, more = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    settings = CountSettings(resolve_pattern("gpt2"), (), engine=engine)
    count_documents(["it's"], settings, Workforce(1))
    budget = max(256_000_000, rss_bytes() + more) if more > 0 else None
    result = count_files(path, settings, Workforce(workers, max_memory=budget))
    peak = peak_rss_bytes() + result.workers_peak_rss_bytes
    digest = hashlib.sha256(result.counts.word_bytes.data)
    digest.update(result.counts.word_counts.data)
    print(json.dumps({"budget": budget, "peak": peak, "spills": result.n_spills,
                      "words": len(result.counts), "sha256": digest.hexdigest()}))
"""


def run_child(path: Path, engine: str, workers: int, more: int) -> dict[str, int]:
    command = [sys.executable, "-c", CHILD, str(path), engine, str(workers), str(more)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, int] = json.loads(run.stdout)
    return found


@pytest.fixture(scope="module")
def distinct(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A file of 1,800,000 distinct words of 10 bytes, and a third of them again; and all of them."""
    numbers = np.arange(1_800_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)
    letters = np.empty((numbers.shape[0], 12), dtype=np.uint8)
    letters[:, 0] = ord(" ")
    for place in range(11):
        letters[:, place + 1] = ord("a") + (numbers >> np.uint64(4 * place) & np.uint64(15))
    words = np.random.default_rng(3).permutation(letters)
    words = np.concatenate([words, words[: len(words) // 3]])
    path = tmp_path_factory.mktemp("distinct") / "words.txt"
    words.tofile(path)
    return path, words.view("S12").ravel()


@linux_only
@pytest.mark.parametrize(("engine", "workers"), [("compiled", 1), ("compiled", 2), ("regex", 1)])
def test_distinct_words_far_beyond_the_budget(
    engine: str, workers: int, distinct: tuple[Path, np.ndarray]
) -> None:
    path, written = distinct
    run_child(Path(__file__), engine, 1, 0)  # so that nothing is compiled in the run that is measured
    found = run_child(path, engine, workers, 90 * MB)
    words, counts = np.unique(written, return_counts=True)
    digest = hashlib.sha256(words.tobytes())
    digest.update(counts.astype(np.int64).tobytes())
    assert found["words"] == len(words)
    assert found["sha256"] == digest.hexdigest()
    assert found["spills"] >= 4
    assert found["peak"] <= found["budget"]


@linux_only
def test_distinct_words_in_processes_within_the_budget(distinct: tuple[Path, np.ndarray]) -> None:
    found = run_child(distinct[0], "regex", 2, 350 * MB)
    helpers = 26 * MB  # fork server and resource tracker are not in the sum
    assert found["words"] == 1_800_000
    assert found["peak"] + helpers <= found["budget"]


@linux_only
def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    """100 MB of few words: at most 250 MB, and the words."""
    path = tmp_path / "large"
    line = " ".join(f"word{n * n}" for n in range(20_000)).encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(100 * MB // len(line)):
            file.write(line)
    run_child(Path(__file__), "compiled", 1, 0)
    found = run_child(path, "compiled", 2, 0)
    table = 2 * (2 * 100 * found["words"])  # two threads, each word in a slot and a half
    assert found["peak"] <= 250 * MB + table
