"""The driver with an engine that is this process: the counts are those of one machine, whatever happens."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import bpenb
import pytest
from bpenb.cluster import ClusterResult, Event, Task, count_with
from bpenb.corpus import InputOptions, Mixture
from bpenb.counting import CountSettings, count_files
from bpenb.errors import CorpusError, CountsError, InvalidUtf8Error, OutputError, WorkerError
from bpenb.patterns import resolve_pattern
from bpenb.progress import Progress, Reporter
from tests.cluster.corpora import HereEngine, sample_text, write_corpus
from tests.corpus.writing import write_rows, write_text

SPECIALS = ("<|endoftext|>",)


def settings(pattern: str = "gpt2", **more: Any) -> CountSettings:
    return CountSettings(resolve_pattern(pattern), SPECIALS, **more)


def count(
    files: Any,
    work: Path,
    engine: HereEngine | None = None,
    how: CountSettings | None = None,
    shard_bytes: int = 2_000,
    reporter: Reporter | None = None,
    **more: Any,
) -> ClusterResult:
    engine, reporter = engine or HereEngine(), reporter or Reporter(None)
    return count_with(engine.open, files, how or settings(), work, reporter, shard_bytes=shard_bytes, **more)


def saved(counts: bpenb.WordCounts, path: Path) -> bytes:
    counts.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("cluster") / "in", 1_200)


@pytest.mark.parametrize(
    ("how", "more", "shard_bytes"),
    [
        (settings(), {}, 1_000),
        (settings(), {}, 100_000_000),
        (settings("whitespace"), {"options": InputOptions(document_separator="\n\n")}, 3_000),
        (settings(engine="regex"), {}, 9_000),
        (settings(r"\w+|\W"), {}, 9_000),
        (settings(), {"mixture": Mixture(sample=0.3, seed=4)}, 3_000),
    ],
)
def test_the_counts_are_those_of_one_machine(
    how: CountSettings, more: dict[str, Any], shard_bytes: int, corpus: Path, tmp_path: Path
) -> None:
    whole = count_files(corpus, how, **more)
    done = count(corpus, tmp_path / "work", how=how, shard_bytes=shard_bytes, **more)
    assert saved(done.result.counts, tmp_path / "a") == saved(whole.counts, tmp_path / "b")
    if "mixture" not in more:  # a sample begins with a special token, or behind it
        assert done.result.n_bytes == whole.n_bytes
    assert done.result.inputs == whole.inputs and done.result.mixture == whole.mixture
    done.folder.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_weights_caps_and_bad_rows(tmp_path: Path) -> None:
    texts = [write_text(tmp_path, sample_text(900, n), ".txt", f"t{n}") for n in range(3)]
    rows = write_rows(tmp_path, [None, *(sample_text(9, n) for n in range(99)), None], ".jsonl")
    for files, more in (
        ({texts[0]: 3, texts[1]: 1, texts[2]: 1000}, {}),
        ({texts[0]: 1, texts[1]: 2, rows: 2}, {"options": InputOptions(skip_bad_rows=True)}),
        (texts, {"mixture": Mixture(max_bytes_per_source=5_000)}),
    ):
        whole = count_files(files, settings(), **more)
        done = count(files, tmp_path / "work", shard_bytes=700, **more)
        assert done.result.counts.equals(whole.counts)
        assert (done.result.inputs or {})["n_bad_rows"] == (whole.inputs or {})["n_bad_rows"]
        assert done.result.mixture == whole.mixture
        done.folder.remove()


def test_tasks_that_run_twice_change_nothing(corpus: Path, tmp_path: Path) -> None:
    done = count(corpus, tmp_path / "work", HereEngine(twice=True))
    assert done.result.counts.equals(count_files(corpus, settings()).counts)


@pytest.mark.parametrize("stop_after", [0, 1, 20, 36, 40])
def test_what_was_broken_off_goes_on(stop_after: int, corpus: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with pytest.raises(KeyboardInterrupt) as broken:
        count(corpus, work, HereEngine(stop_after))
    assert "--resume" in broken.value.__notes__[0] and str(work) in broken.value.__notes__[0]
    with pytest.raises(OutputError, match="holds an earlier run"):
        count(corpus, work)
    engine = HereEngine()
    done = count(corpus, work, engine, shard_bytes=50_000, resume=True)  # the shards stay those of the plan
    whole = count_files(corpus, settings())
    assert done.result.counts.equals(whole.counts) and done.result.n_bytes == whole.n_bytes
    all_of_it = HereEngine()
    count(corpus, tmp_path / "other", all_of_it)
    assert engine.performed + stop_after == all_of_it.performed
    assert done.report["resumed"]
    again = HereEngine()
    assert count(corpus, work, again, resume=True).result.counts.equals(whole.counts)
    assert again.performed == 0


def test_a_partial_that_is_damaged_is_counted_again(corpus: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    whole = count(corpus, work).result.counts
    cut, changed = work / "shards/00002", work / "shards/00003"
    cut.write_bytes(cut.read_bytes()[:-1])
    for path in (work / "merges").iterdir():
        path.unlink()
    engine = HereEngine()
    assert count(corpus, work, engine, resume=True).result.counts.equals(whole)
    n_merges = len(list((work / "merges").iterdir()))
    assert engine.performed == 1 + n_merges
    for path in (work / "merges").iterdir():
        path.unlink()
    data = changed.read_bytes()
    changed.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(CountsError, match=r"00003: .*checksum"):
        count(corpus, work, resume=True)
    changed.unlink()
    assert count(corpus, work, resume=True).result.counts.equals(whole)


class LateEngine(HereEngine):
    """When so many tasks are done, files of another plan arrive: of tasks that were given up too late.

    Args:
        late: where those files are.
        work: the work folder.
        after: tasks that are done then.
        overwrite: whether they replace what is there.
    """

    def __init__(self, late: Path, work: Path, after: int, *, overwrite: bool) -> None:
        super().__init__()
        self.late, self.work, self.after, self.overwrite = late, work, after, overwrite

    def run(self, tasks: Sequence[Task]) -> Generator[Event, None, None]:
        for event in super().run(tasks):
            if self.performed == self.after:
                for path in self.late.glob("*/*"):
                    place = self.work / path.relative_to(self.late)
                    if self.overwrite or not place.exists():
                        shutil.copyfile(path, place)
                self.after = -1
            yield event


@pytest.mark.parametrize("shard_bytes", [2_000, 100_000_000])
def test_files_of_another_plan_that_come_late_are_never_taken(
    shard_bytes: int, corpus: Path, tmp_path: Path
) -> None:
    text, late, work = corpus / "corpus.txt", tmp_path / "late", tmp_path / "work"
    count(text, late, how=settings("cl100k"), shard_bytes=shard_bytes)
    all_of_it = HereEngine()
    count(text, work, all_of_it, shard_bytes=shard_bytes)
    for after in {1, all_of_it.performed - 1, all_of_it.performed} - {0}:
        engine = LateEngine(late, work, after, overwrite=True)
        with pytest.raises(CountsError, match="belongs to another plan; remove this file, and resume"):
            count(text, work, engine, shard_bytes=shard_bytes, force=True)


def test_files_of_another_plan_that_come_before_their_tasks_are_replaced(
    corpus: Path, tmp_path: Path
) -> None:
    text, late, work = corpus / "corpus.txt", tmp_path / "late", tmp_path / "work"
    count(text, late, how=settings("cl100k"))
    shutil.rmtree(late / "merges")
    done = count(text, work, LateEngine(late, work, 1, overwrite=False))
    assert done.result.counts.equals(count_files(text, settings()).counts)


def test_another_corpus_or_pattern_is_not_gone_on_with(corpus: Path, tmp_path: Path) -> None:
    count(corpus, tmp_path / "work")
    for more in ({"how": settings("cl100k")}, {"mixture": Mixture(sample=0.5)}):
        with pytest.raises(OutputError, match="another corpus, or with other settings"):
            count(corpus, tmp_path / "work", resume=True, **more)
    with pytest.raises(OutputError, match="another corpus"):
        count(corpus / "corpus.txt", tmp_path / "work", resume=True)
    done = count(corpus / "corpus.txt", tmp_path / "work", force=True)
    assert done.result.counts.equals(count_files(corpus / "corpus.txt", settings()).counts)


def test_errors_name_the_file(tmp_path: Path) -> None:
    good = write_text(tmp_path, sample_text(900, 1), ".txt", "good")
    bad = write_text(tmp_path, sample_text(500, 2).encode() + b"\xff" + b" a" * 900, ".txt", "bad")
    with pytest.raises(InvalidUtf8Error, match=r"bad\.txt: byte \d+ ") as told:
        count([good, bad], tmp_path / "w1")
    with pytest.raises(InvalidUtf8Error) as alone:
        count_files(bad, settings())
    assert told.value.offset == alone.value.offset
    packed = write_text(tmp_path, sample_text(900, 1), ".txt.gz", "packed")
    packed.write_bytes(packed.read_bytes()[:-20])
    rows = write_rows(tmp_path, [sample_text(9, n) for n in range(99)] + [None], ".jsonl")
    for path, work in ((packed, "w2"), (rows, "w3")):
        with pytest.raises(CorpusError, match=path.name):
            count([good, path], tmp_path / work)
    with pytest.raises(CorpusError, match="cannot be cut into shards"):
        count("-", tmp_path / "w4")
    assert not (tmp_path / "w4").exists()


def test_workers_that_cannot_work_are_told(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = HereEngine()
    small.stated = small.stated._replace(memory=200_000_000)
    with pytest.raises(WorkerError, match="worker here states 200 MB"):
        count(corpus, tmp_path / "w1", small)
    monkeypatch.setattr("bpenb.cluster.tasks.PLAN", "elsewhere.json")
    with pytest.raises(OutputError, match="worker here does not see"):
        count(corpus, tmp_path / "w2")
    monkeypatch.undo()
    monkeypatch.setattr("bpenb.cluster.tasks.settle_shard", lambda *_: 1 // 0)
    with pytest.raises(WorkerError, match="worker here failed: ZeroDivisionError") as failed:
        count(corpus, tmp_path / "w3")
    assert any("settle_shard" in note for note in failed.value.__notes__)


def test_an_older_worker_is_told(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpenb, "__version__", "0.0.9")
    with pytest.raises(WorkerError, match=r"worker here has bpenb 0\.0\.9, this is bpenb"):
        count(corpus, tmp_path / "work")


def test_one_progress_of_all(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reporter, "INTERVAL", 0.0)
    told: list[Progress] = []
    done = count(corpus, tmp_path / "work", reporter=Reporter(told.append))
    phases = list(dict.fromkeys(progress.phase for progress in told))
    assert phases == ["plan", "count", "add up", "join"]
    last = {progress.phase: progress for progress in told if progress.finished}
    plan = last["plan"]
    assert plan.done == done.report["shards"] > 20
    total = sum(path.stat().st_size for path in corpus.iterdir())
    assert plan.details["bytes"] == total and plan.details["memory_per_worker"] == "4,000 MB"
    counting = [progress for progress in told if progress.phase == "count"]
    assert [progress.done for progress in counting] == sorted(progress.done for progress in counting)
    assert {progress.total for progress in counting} == {total}
    assert len({progress.done for progress in counting}) > 20
    assert last["count"].done == total


def test_an_empty_corpus(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    done = count(tmp_path / "empty.txt", tmp_path / "work")
    assert done.result.counts.equals(count_files(tmp_path / "empty.txt", settings()).counts)
