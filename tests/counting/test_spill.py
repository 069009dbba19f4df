"""Spilling: whatever goes to disk and when, the words and counts are those of one table in memory."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bpenb._arrays import offsets_from_lengths
from bpenb.counting import CountSettings, WordTable, Workforce, count_documents, count_files, two_ways
from bpenb.counting import spill as spill_module
from bpenb.counting.memory_plan import MemoryPlan
from bpenb.counting.runs import Run, RunBlock, Words, merge_blocks
from bpenb.counting.spill import Spill
from bpenb.errors import CorpusError, CountsError, InvalidUtf8Error, OutputError
from bpenb.patterns import resolve_pattern
from bpenb.progress import Progress, Reporter
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.word_counter import count_words

MB = 1_000_000
# A share of nothing: a table is emptied whenever it asks for room.
TINY = MemoryPlan(1_000 * MB, 0, 0, 0, 1, 200 * MB, 2, 20 * MB)

# Short, about the 8 and 15 bytes at which the table's keys end, and longer than a block.
A_WORD = st.one_of(
    st.binary(min_size=1, max_size=3),
    st.sampled_from(
        [b"abcdefgh", b"abcdefghi", b"abcdefghijklmno", b"abcdefghijklmnop", b"abcdefghijklmnoq"]
    ),
    st.integers(1, 400).map(lambda n: b"x" * n),
)
PARTS = st.lists(st.dictionaries(A_WORD, st.integers(1, 1_000), max_size=12), max_size=9)


def to_words(part: dict[bytes, int]) -> Words:
    """The words of a mapping as arrays, ascending."""
    words = sorted(part)
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    counts = np.array([part[word] for word in words], dtype=np.int64)
    return np.frombuffer(b"".join(words), dtype=np.uint8), offsets_from_lengths(lengths), counts


def to_dict(words: Words) -> dict[bytes, int]:
    data, bounds = words[0].tobytes(), words[1].tolist()
    keys = [data[a:b] for a, b in pairwise(bounds)]
    assert all(a < b for a, b in pairwise(keys))
    return dict(zip(keys, words[2].tolist(), strict=True))


def total(parts: list[dict[bytes, int]]) -> dict[bytes, int]:
    return dict(sum((Counter(part) for part in parts), Counter()))


def folders(root: Path) -> list[Path]:
    return list(root.glob("bpenb-spill-*"))


@pytest.fixture(autouse=True)
def spill_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test spills to."""
    root = tmp_path / "spills"
    root.mkdir()
    monkeypatch.setenv("BPENB_TMPDIR", str(root))
    return root


def force(monkeypatch: pytest.MonkeyPatch, plan: MemoryPlan = TINY) -> None:
    """Let every count with a budget follow this plan."""
    monkeypatch.setattr(two_ways, "plan_threads", lambda *_: plan)
    monkeypatch.setattr(two_ways, "plan_processes", lambda *_: plan)


# --- runs -----------------------------------------------------------------------------------------


@given(PARTS, st.sampled_from([1, 40, 300, 10_000]))
def test_merged_runs_equal_one_count(parts: list[dict[bytes, int]], block_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = [Run(Path(folder) / str(number)) for number in range(len(parts))]
        for run, part in zip(runs, parts, strict=True):
            run.append(to_words(part))
        merged = Run(Path(folder) / "merged")
        merged.append(to_words({}))
        for words in merge_blocks([RunBlock(run, block_bytes) for run in runs], WordTable()):
            merged.append(words)
        assert to_dict(merged.read()) == total(parts)
        assert merged.n_words == len(total(parts))
        assert merged.n_bytes == sum(map(len, total(parts)))
        for run in [*runs, merged]:
            run.remove()
        assert not list(Path(folder).iterdir())


@given(PARTS, st.integers(2, 4))
def test_spilled_tables_equal_one_count(parts: list[dict[bytes, int]], fan_in: int) -> None:
    with pytest.MonkeyPatch.context() as patch, Spill(TINY) as spill:
        patch.setattr(spill_module, "FAN_IN", fan_in)
        tables = [WordTable(), WordTable()]
        for number, part in enumerate(parts):
            table = tables[number % 2]
            spill.make_room(table, 10_000, 0)  # more than its share: it is emptied
            table.add(*to_words(part))
        assert to_dict(spill.finish(tables, 2)) == total(parts)
        assert spill.n_spills <= len(parts)


def test_runs_are_merged_level_by_level(spill_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill_module, "FAN_IN", 3)
    table = WordTable()
    with Spill(TINY) as spill:
        for number in range(30):
            table.add(*to_words({b"same": 2, b"word %d" % number: 1}))
            spill.make_room(table, 10_000, 0)
            assert len(list(spill_root.rglob("*.counts"))) <= 2 * 4  # two on each level
        words = to_dict(spill.finish([table], 1))
    assert words == {b"same": 60} | {b"word %d" % number: 1 for number in range(30)}
    assert spill.n_spills == 30


def test_what_fits_is_not_spilled(spill_root: Path) -> None:
    table = WordTable()
    plan = MemoryPlan(1_000 * MB, 0, 0, 10 * MB, 1, 100 * MB, 1, MB)
    with Spill(plan) as spill:
        spill.make_room(table, 100, 0)
        table.add(*to_words({b"a": 1}))
        assert to_dict(spill.finish([table], 1)) == {b"a": 1}
    assert spill.n_spills == 0
    assert not folders(spill_root)


def test_a_count_that_overflows_between_runs() -> None:
    table = WordTable()
    with Spill(TINY) as spill:
        for _ in range(2):
            table.add(*to_words({b"a": 2**62}))
            spill.make_room(table, 10_000, 0)
        with pytest.raises(CountsError, match=r"passes 2\*\*63"):
            spill.finish([table], 1)


# --- counting with it -----------------------------------------------------------------------------


def some_text(n_words: int) -> bytes:
    """Words of which most come once, some often, some are long."""
    choose = np.random.default_rng(7)
    numbers = choose.integers(0, n_words, n_words).tolist()
    words = [b"%x" % (n * 2_654_435_761 % 2**32) for n in numbers]
    return b" ".join(word + b"-" * (30 if number % 7 == 0 else 0) for number, word in enumerate(words))


@pytest.mark.parametrize(
    ("engine", "pool", "workers"),
    [("compiled", "threads", 1), ("compiled", "threads", 3), ("regex", "processes", 1),
     ("regex", "processes", 2), ("compiled", "processes", 2)],
)  # fmt: skip
def test_a_forced_budget_changes_nothing(
    engine: str, pool: str, workers: int, tmp_path: Path, spill_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text"
    path.write_bytes(some_text(40_000))
    settings = CountSettings(resolve_pattern("gpt2"), ("<s>",), engine=engine)  # type: ignore[arg-type]
    plain = count_files(path, settings, Workforce(1))
    force(monkeypatch, replace(TINY, workers=workers))
    workforce = Workforce(workers, pool, 20_000, small_input=0, max_memory="2GB")  # type: ignore[arg-type]
    result = count_files(path, settings, workforce)
    assert result.counts.equals(plain.counts)
    assert result.n_spills >= 3
    assert result.memory_plan is not None
    assert {"spill", "merge", "gather"} <= set(result.stage_seconds)
    assert count_documents([path.read_bytes()], settings, workforce).counts.equals(plain.counts)
    assert not folders(spill_root)


def test_text_without_a_cut_within_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"one two " + b"ACGT" * 60_000 + b" two " + b"TGCA" * 40_000 + b" " + some_text(3_000)
    path = tmp_path / "genome"
    path.write_bytes(text)
    force(monkeypatch)
    settings = CountSettings(resolve_pattern("gpt2"), ())
    workforce = Workforce(2, task_bytes=10_000, max_memory="1GB")
    expected = count_words([text], resolve_pattern("gpt2").regex, ())
    assert count_files(path, settings, workforce).counts.to_dict() == expected
    assert count_documents([text], settings, workforce).counts.to_dict() == expected


@pytest.mark.parametrize("engine", ["compiled", "regex"])
def test_text_without_a_cut_beyond_the_budget(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"one " + b"ACGT" * 60_000
    path = tmp_path / "genome"
    path.write_bytes(text)
    force(monkeypatch, MemoryPlan(1_000 * MB, 0, 0, 0, 1, 200 * MB, 1, 50_000))
    settings = CountSettings(resolve_pattern("gpt2"), (), engine=engine)  # type: ignore[arg-type]
    workforce = Workforce(1, task_bytes=10_000, max_memory="1GB")
    with pytest.raises(CorpusError, match=r"genome.*no place to cut for .*max_memory"):
        count_files(path, settings, workforce)
    with pytest.raises(CorpusError, match=r"document 0.*no place to cut for .*max_memory"):
        count_documents([text], settings, workforce)


def test_words_that_do_not_fit_say_how_much_they_need(
    spill_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, MemoryPlan(300 * MB, 280 * MB, 0, 0, 1, 10_100_000, 1, MB))
    settings = CountSettings(resolve_pattern("gpt2"), ())
    match = (
        r"[\d,]+ distinct words with [\d,]+ bytes do not fit into max_memory of 300 MB: 30\d MB are needed"
    )
    with pytest.raises(CountsError, match=match):
        count_documents([some_text(100_000)], settings, Workforce(1, max_memory="300MB"))
    assert not folders(spill_root)


# --- nothing stays behind -------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, LookupError])
def test_the_folder_is_removed_when_the_work_is_broken_off(
    error: type[BaseException], workers: int, spill_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch)
    seen = False

    def told(progress: Progress) -> None:
        nonlocal seen
        if folders(spill_root):
            seen = True
            raise error

    reporter = Reporter(told)
    reporter.INTERVAL = 0.0
    workforce = Workforce(workers, task_bytes=20_000, max_memory="1GB")
    with pytest.raises(error):
        count_documents([some_text(60_000)], CountSettings(resolve_pattern("gpt2"), ()), workforce, reporter)
    assert seen
    assert not folders(spill_root)


def test_the_folder_is_removed_after_an_error_in_a_thread(
    spill_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch)
    path = tmp_path / "bad"
    path.write_bytes(some_text(60_000) + b" \xff")
    workforce = Workforce(2, task_bytes=20_000, max_memory="1GB")
    with pytest.raises(InvalidUtf8Error):
        count_files(path, CountSettings(resolve_pattern("gpt2"), ()), workforce)
    assert not folders(spill_root)


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    force(monkeypatch)
    monkeypatch.setenv("BPENB_TMPDIR", str(tmp_path / "missing"))
    settings = CountSettings(resolve_pattern("gpt2"), ())
    with pytest.raises(OutputError, match=r"missing: cannot be written: .*set BPENB_TMPDIR"):
        count_documents([some_text(20_000)], settings, Workforce(1, max_memory="1GB"))


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, spill_root: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    force(monkeypatch)
    monkeypatch.setattr(Run, "append", full)
    settings = CountSettings(resolve_pattern("gpt2"), ())
    with pytest.raises(OutputError, match=r"bpenb-spill-.*No space left.*raise max_memory"):
        count_documents([some_text(20_000)], settings, Workforce(2, max_memory="1GB"))
    assert not folders(spill_root)
