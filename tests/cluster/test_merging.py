"""Merges learned by workers that hold the words: the same as on one machine, whatever becomes of a worker."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpenb
import numpy as np
import pytest
from bpenb import Cluster, Tokenizer, WordCounts
from bpenb._arrays import ByteArray
from bpenb.cluster import Stated, merging
from bpenb.errors import BpenbError, OutputError, TrainingError, WorkerError
from bpenb.progress import Progress, Reporter
from bpenb.training import LearningOptions, ShardLostError, Shards, byte_order, learn
from bpenb.training.local_shards import LocalShards
from tests.cli.running import command, environment
from tests.cluster.corpora import sample_text
from tests.cluster.dask_processes import Running

from bpenb_cli.main import run as run_command


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> WordCounts:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(sample_text(60_000, 1), "utf-8")
    return bpenb.count_words(path)


# --- without an engine ------------------------------------------------------------------------------


def test_words_are_dealt_out(counts: WordCounts, tmp_path: Path) -> None:
    paths = merging.deal_words(counts, 3, tmp_path / "new" / "work")
    parts = [WordCounts.load(path) for path in paths]
    assert max(len(part) for part in parts) - min(len(part) for part in parts) <= 1
    together: dict[bytes, int] = {}
    for part in parts:
        together |= part.to_dict()
    assert together == counts.to_dict() and sum(map(len, parts)) == len(counts)


class Here:
    """Workers that are this process."""

    def __init__(self, memory: Sequence[int | None]) -> None:
        self._memory = memory
        self.paths: list[Path] = []

    def workers(self) -> list[Stated]:
        return [Stated(f"worker {n}", memory, 1) for n, memory in enumerate(self._memory)]

    def hold(self, paths: Sequence[Path], order: ByteArray, n_merges: int) -> AbstractContextManager[Shards]:
        self.paths = list(paths)
        words = [WordCounts.load(path) for path in paths]
        assert merging.build_shard(str(paths[0]), order, n_merges).first_pairs(256)[0].shape[0] > 0
        held = [(some.word_bytes, some.word_offsets, some.word_counts) for some in words]
        return nullcontext(LocalShards(held, order, n_merges))


def learn_here(engine: Here, counts: WordCounts, folder: Path, n_merges: int = 300) -> Any:
    options, order = LearningOptions(n_merges), byte_order("cs336", ())
    return merging.learn_with(lambda: nullcontext(engine), counts, options, order, folder, Reporter(None))


def test_each_worker_holds_a_shard(counts: WordCounts, tmp_path: Path) -> None:
    engine = Here([None, 10**9, 2 * 10**9])
    result = learn_here(engine, counts, tmp_path / "work")
    expected = learn(counts, LearningOptions(300))
    assert np.array_equal(result.merges, expected.merges)
    assert np.array_equal(result.merge_counts, expected.merge_counts)
    assert len(engine.paths) == 3 and list(tmp_path.iterdir()) == []


def test_files_of_others_stay_in_the_work_folder(counts: WordCounts, tmp_path: Path) -> None:
    for name in ("mine", "0001.npz", "words-0001.npz"):
        (tmp_path / name).write_bytes(b"mine")
    learn_here(Here([None]), counts, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("mine", "0001.npz", "words-0001.npz"), b"mine"
    )


def test_nothing_stays_of_words_that_were_not_all_dealt_out(
    counts: WordCounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(counts: WordCounts, path: Path) -> None:
        save(counts, path)
        if path.name == "0002.npz":
            raise KeyboardInterrupt

    save = WordCounts.save
    monkeypatch.setattr(WordCounts, "save", break_off)
    with pytest.raises(KeyboardInterrupt):
        learn_here(Here([None, None, None]), counts, tmp_path / "work")
    assert list(tmp_path.iterdir()) == []


def test_words_that_do_not_fit(counts: WordCounts, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"in each of 2 workers, of which one states 0 MB; take more"):
        learn_here(Here([10**9, 20_000]), counts, tmp_path / "work")
    with pytest.raises(WorkerError, match="has no worker; start some"):
        learn_here(Here([]), counts, tmp_path / "work")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        learn_here(Here([None]), counts, tmp_path / "file")


# --- with a scheduler and processes -----------------------------------------------------------------

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("scheduler")) as found:
        for _ in range(2):
            found.add_worker()
        yield found


def assert_same(here: Tokenizer, alone: Tokenizer) -> None:
    assert here.merges == alone.merges and here.vocab == alone.vocab
    assert here.report is not None and alone.report is not None
    for name in ("tokens", "bytes_per_token", "distinct_words", "last_merge_count"):
        assert here.report["sizes"][name] == alone.report["sizes"][name]


@pytest.mark.parametrize("ties", ["cs336", "huggingface"])
def test_a_training_on_workers(ties: str, counts: WordCounts, running: Running, tmp_path: Path) -> None:
    cluster = Cluster(running.address, work_folder=tmp_path / "work")
    options: dict[str, Any] = {"vocab_size": 1500, "ties": ties, "min_word_count": 2, "max_token_length": 9}
    told: list[Progress] = []
    here = bpenb.train_from_counts(counts, cluster=cluster, progress=told.append, **options)
    assert_same(here, bpenb.train_from_counts(counts, **options))
    assert here.report is not None and here.report["counters"]["shards"] == 2
    assert {report.phase for report in told} == {"merge"}
    assert list(tmp_path.iterdir()) == []


@contextmanager
def noticing(happened: Callable[[], None], at: int) -> Iterator[Callable[[Progress], None]]:
    """Give a progress that calls something once, when so many merges are made."""
    waiting = [happened]

    def show(progress: Progress) -> None:
        if progress.done >= at and waiting:
            waiting.pop()()

    yield show
    assert not waiting


def test_a_worker_is_killed_while_merging(
    counts: WordCounts, running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reporter, "INTERVAL", 0.0)
    victim = running.add_worker()
    cluster = Cluster(running.address, work_folder=tmp_path / "work")
    with noticing(lambda: victim.send_signal(signal.SIGKILL), 200) as show:
        here = bpenb.train_from_counts(counts, vocab_size=1500, cluster=cluster, progress=show)
    assert here.report is not None and here.report["counters"]["shards"] == 3
    assert_same(here, bpenb.train_from_counts(counts, vocab_size=1500))


def test_all_workers_are_gone(
    counts: WordCounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    from bpenb.cluster import actors

    monkeypatch.setattr(Reporter, "INTERVAL", 0.0)
    monkeypatch.setattr(actors, "_WAIT", 3.0)
    own = Running(tmp_path)
    request.addfinalizer(own.end)
    victim = own.add_worker()
    cluster = Cluster(own.address, work_folder=tmp_path / "work")
    with (
        noticing(lambda: victim.send_signal(signal.SIGKILL), 200) as show,
        pytest.raises(WorkerError, match="no worker left"),
    ):
        bpenb.train_from_counts(counts, vocab_size=1500, cluster=cluster, progress=show)
    assert not (tmp_path / "work").exists()


def test_the_scheduler_goes_away(
    counts: WordCounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(Reporter, "INTERVAL", 0.0)
    own = Running(tmp_path)
    request.addfinalizer(own.end)
    own.add_worker()
    cluster = Cluster(own.address, work_folder=tmp_path / "work")
    with (
        noticing(own.end, 200) as show,
        pytest.raises(WorkerError, match="the scheduler went away; its log tells why"),
    ):
        bpenb.train_from_counts(counts, vocab_size=1500, cluster=cluster, progress=show)
    assert not (tmp_path / "work").exists()


def test_an_actor_that_its_worker_does_not_know_is_lost() -> None:
    """A worker that was started again under its old address answers so, before the actor is there again."""
    from bpenb.cluster.actors import DaskShards

    class Answer:
        def __init__(self, error: Exception) -> None:
            self.error = error

        def result(self, timeout: float) -> None:
            raise self.error

    shards = DaskShards.__new__(DaskShards)
    shards._actors, shards._places, shards._futures = [1], ["tcp://a:1"], [SimpleNamespace(key="key of it")]
    with pytest.raises(ShardLostError, match="shard 0 of tcp://a:1"):
        shards._wait(0, "tcp://a:1", Answer(KeyError("key of it")))
    with pytest.raises(KeyError, match="another"):
        shards._wait(0, "tcp://a:1", Answer(KeyError("another")))


def test_a_damaged_file_of_words_is_told_by_name(
    counts: WordCounts, running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deal_and_damage(*arguments: Any) -> list[Path]:
        paths = deal_words(*arguments)
        paths[1].write_bytes(paths[1].read_bytes()[:-100])
        return paths

    deal_words = merging.deal_words
    monkeypatch.setattr(merging, "deal_words", deal_and_damage)
    cluster = Cluster(running.address, work_folder=tmp_path / "work")
    with pytest.raises(BpenbError, match=r"words-\w+.0002\.npz"):
        bpenb.train_from_counts(counts, vocab_size=300, cluster=cluster)


def test_bpenb_train_from_counts_on_local_workers(counts: WordCounts, tmp_path: Path) -> None:
    counts.save(tmp_path / "counts.npz")
    line = (
        "train",
        "--from-counts",
        "counts.npz",
        "--local-cluster",
        "2",
        "--vocab-size",
        "600",
        "-o",
        "out",
    )
    done = subprocess.run(
        command(*line, "--progress", "json"),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert Tokenizer.load(tmp_path / "out").merges == bpenb.train_from_counts(counts, vocab_size=600).merges
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.npz", "out"]


def test_what_does_not_go_together(counts: WordCounts, tmp_path: Path) -> None:
    cluster = Cluster(local_workers=1, work_folder=tmp_path / "work")
    base = bpenb.train_from_counts(counts, vocab_size=300)
    for name, value in (("base", base), ("checkpoint", tmp_path / "kept"), ("merges_per_step", 2)):
        with pytest.raises(TrainingError, match=f"{name} and cluster exclude each other"):
            bpenb.train_from_counts(counts, vocab_size=400, cluster=cluster, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(BpenbError, match="needs a work folder"):
        bpenb.train_from_counts(counts, vocab_size=400, cluster=replace(cluster, work_folder=None))
    with pytest.raises(TypeError, match="cluster must be a Cluster, not str"):
        bpenb.train_from_counts(counts, vocab_size=400, cluster="tcp://a:1")  # type: ignore[arg-type]
    assert sys.modules["bpenb.api_cluster"] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("--alphabet characters", "--alphabet characters"),
        ("--vocab-size 300,400", "several sizes (--vocab-size)"),
        ("--merges-per-step 2", "--merges-per-step"),
        ("--base b", "--base"),
        ("--checkpoint c", "--checkpoint"),
    ],
)
def test_what_the_command_line_refuses(
    counts: WordCounts,
    options: str,
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    counts.save("c.npz")
    assert run_command(["train", "--from-counts", "c.npz", "--local-cluster", "1", *options.split()]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{what} and a cluster exclude each other: leave the cluster out" in told
    assert [path.name for path in tmp_path.iterdir()] == ["c.npz"]
