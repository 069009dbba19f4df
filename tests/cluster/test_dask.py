"""A real scheduler and real worker processes: killed, away, full of errors; the counts stay what they are."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpenb
import pytest
from bpenb import Cluster, Workforce
from bpenb.cluster import on_dask
from bpenb.errors import BpenbError, InvalidUtf8Error, WorkerError
from bpenb.progress import Progress, Reporter
from tests.cli.running import command, environment
from tests.cluster.corpora import sample_text, write_corpus
from tests.cluster.dask_processes import LIMIT, Running, wait_for
from tests.corpus.writing import write_text
from tests.serving import serving

from bpenb_cli.main import run as run_command

pytest.importorskip("distributed")
SMALL = Workforce(task_bytes=20_000)  # a shard
LETTERS = "abcdefghijklmnop"
FINE = Workforce(task_bytes=6_000)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A scheduler with two workers, one of which runs two tasks at once."""
    with Running(tmp_path_factory.mktemp("scheduler")) as found:
        found.add_worker()
        found.add_worker(2)
        yield found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("dask") / "in")


@pytest.fixture(scope="module")
def counted(corpus: Path) -> bytes:
    """What one machine makes of the corpus."""
    bpenb.count_to_file(corpus, corpus.parent / "whole.npz")
    return (corpus.parent / "whole.npz").read_bytes()


def test_counts_are_byte_for_byte_those_of_one_machine(
    running: Running, corpus: Path, counted: bytes, tmp_path: Path
) -> None:
    output = tmp_path / "counts.npz"
    for cluster, workers in ((Cluster(running.address), SMALL), (Cluster(scheduler_file=running.file), FINE)):
        report = bpenb.count_to_file(corpus, output, cluster=cluster, workers=workers)
        assert output.read_bytes() == counted
        assert report["cluster"]["workers"] == 2 and report["cluster"]["shards"] > 5
        assert report["text_bytes"] > 50_000
        assert 50_000_000 < report["cluster"]["worker_peak_memory_bytes"] < LIMIT
    assert [path.name for path in tmp_path.iterdir()] == ["counts.npz"]


def test_remote_files_are_counted_as_those_on_the_disk(
    running: Running, corpus: Path, counted: bytes, tmp_path: Path
) -> None:
    """Workers ask the server themselves, each for its ranges, groups of rows among them."""
    pytest.importorskip("aiohttp")
    files = {f"/{path.name}": path.read_bytes() for path in sorted(corpus.iterdir())}
    output = tmp_path / "counts.npz"
    with serving(files) as site:
        urls = [site.url(name) for name in files]
        for cluster in (Cluster(running.address), Cluster(local_workers=2)):
            report = bpenb.count_to_file(urls, output, cluster=cluster, workers=SMALL)
            assert output.read_bytes() == counted and report["cluster"]["shards"] > 5
        asked = {name for _, name, part in site.requests if part is not None}
        assert asked == set(files)
    assert [path.name for path in tmp_path.iterdir()] == ["counts.npz"]


@pytest.mark.parametrize("phase", ["shards", "merges"])
def test_a_worker_is_killed(
    phase: str, running: Running, corpus: Path, counted: bytes, tmp_path: Path
) -> None:
    victim = running.add_worker(4)
    output, work = tmp_path / "counts.npz", tmp_path / "work"
    left: list[int] = []

    def kill() -> None:
        wait_for(lambda: (work / phase).exists() and any((work / phase).iterdir()), phase)
        victim.send_signal(signal.SIGKILL)
        left.append(sum(1 for _ in (work / phase).glob("[0-9]*")))

    killer = threading.Thread(target=kill)
    killer.start()
    cluster = Cluster(running.address, work_folder=work)
    bpenb.count_to_file(corpus, output, cluster=cluster, workers=Workforce(task_bytes=2_000))
    killer.join()
    assert victim.wait() == -signal.SIGKILL
    n_files = {"shards": 80, "merges": 3 * 14 + 14}[phase]
    assert left[0] < n_files  # there was work left to do
    assert output.read_bytes() == counted


def test_an_error_of_a_worker_is_told_once_with_its_file(running: Running, tmp_path: Path) -> None:
    good = write_text(tmp_path, sample_text(2_000, 1), ".txt", "good")
    bad = write_text(tmp_path, sample_text(2_000, 2).encode() + b" \xff " * 9, ".txt", "bad")
    cluster = Cluster(running.address, work_folder=tmp_path / "work")
    with pytest.raises(InvalidUtf8Error, match=r"bad\.txt: byte \d+") as told:
        bpenb.count_words([good, bad], cluster=cluster, workers=FINE)
    assert any("--resume" in note for note in told.value.__notes__)
    packed = write_text(tmp_path, sample_text(2_000, 1), ".txt.gz", "packed")
    packed.write_bytes(packed.read_bytes()[:-30])
    cluster = Cluster(running.address, work_folder=tmp_path / "other")
    with pytest.raises(BpenbError, match=r"packed\.txt\.gz: is damaged or cut short"):
        bpenb.count_words([good, packed], cluster=cluster, workers=FINE)
    bad.write_bytes(bad.read_bytes().replace(b"\xff", b"f"))  # of one size: the plan holds
    with pytest.raises(BpenbError, match="another corpus"):  # for its last bytes are looked at
        bpenb.count_words([good, bad], cluster=Cluster(running.address, work_folder=tmp_path / "work",
                          resume=True), workers=FINE)  # fmt: skip


def test_broken_off_and_gone_on_with(
    running: Running, corpus: Path, counted: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reporter, "INTERVAL", 0.0)
    work = tmp_path / "work"

    def break_off(progress: Progress) -> None:
        if progress.phase == "count" and progress.done > 40_000:
            raise KeyboardInterrupt

    cluster = Cluster(running.address, work_folder=work)
    with pytest.raises(KeyboardInterrupt):
        bpenb.count_words(corpus, cluster=cluster, workers=FINE, progress=break_off)
    first: list[Progress] = []
    output = tmp_path / "counts.npz"
    assert any((work / "shards").iterdir())
    resumed = Cluster(running.address, work_folder=work, resume=True)
    report = bpenb.count_to_file(corpus, output, cluster=resumed, workers=FINE, progress=first.append)
    assert report["cluster"]["resumed"]
    assert next(p.done for p in first if p.phase == "count" and "workers" in p.details) > 30_000
    assert output.read_bytes() == counted


def test_progress_of_running_tasks(running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that take a while tell how far they are."""
    path = write_text(tmp_path, sample_text(50_000, 3) * 60, ".txt")
    told: list[Progress] = []
    cluster = Cluster(running.address, work_folder=tmp_path / "work")
    bpenb.count_words(path, cluster=cluster, engine="regex", workers=Workforce(task_bytes=1 << 30),
                      progress=told.append)  # fmt: skip
    running_bytes = {p.done for p in told if p.phase == "count" and not p.finished} - {0}
    assert running_bytes and max(running_bytes) <= path.stat().st_size
    assert {p.details["workers"] for p in told if "workers" in p.details and p.phase == "count"} == {2}


def test_a_scheduler_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_dask._PATIENCE < 10
    path = write_text(tmp_path, "low", ".txt")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    clusters = [
        (Cluster(f"tcp://127.0.0.1:{port}"), "no scheduler answers at tcp://127"),
        (Cluster(scheduler_file=tmp_path / "none.json"), r"none\.json: there is no such file"),
    ]
    for cluster, told in clusters:
        started = time.monotonic()
        with pytest.raises(WorkerError, match=told):
            bpenb.count_to_file(path, tmp_path / "counts.npz", cluster=cluster)
        assert time.monotonic() - started < 120  # 8 s on a quiet machine
        monkeypatch.setattr(on_dask, "_PATIENCE", 0.5)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(WorkerError, match=r"broken\.json: is no file of a scheduler"):
        bpenb.count_to_file(
            path, tmp_path / "counts.npz", cluster=Cluster(scheduler_file=tmp_path / "broken.json")
        )
    assert not list(tmp_path.glob("counts*"))


def test_a_scheduler_that_goes_away(corpus: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    own = Running(tmp_path)
    request.addfinalizer(own.end)
    own.add_worker()
    work = tmp_path / "work"

    def kill() -> None:
        wait_for(lambda: (work / "shards").exists() and any((work / "shards").iterdir()), "a shard")
        own.end()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(WorkerError, match="the scheduler went away") as told:
        bpenb.count_words(corpus, cluster=Cluster(own.address, work_folder=work), workers=FINE)
    killer.join()
    assert any("--resume" in note for note in told.value.__notes__)


def test_workers_that_come_later(
    corpus: Path, counted: bytes, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    own = Running(tmp_path)
    request.addfinalizer(own.end)
    output, told = tmp_path / "counts.npz", []

    def come() -> None:
        wait_for((tmp_path / "counts.npz.work" / "plan.json").exists, "the plan")
        own.add_worker(1, 0)  # which states no limit of memory

    coming = threading.Thread(target=come)
    coming.start()
    cluster = Cluster(own.address)
    bpenb.count_to_file(corpus, output, cluster=cluster, workers=SMALL, progress=told.append)
    coming.join()
    assert output.read_bytes() == counted
    plan = next(progress for progress in told if progress.phase == "plan" and progress.finished)
    assert plan.details["workers"] == 0 and "memory_per_worker" not in plan.details


def test_memory_stays_below_what_the_worker_states(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Words that need far more than the worker may hold: they are counted, and it is not exceeded."""
    limit = 480_000_000
    own = Running(tmp_path)
    request.addfinalizer(own.end)
    own.add_worker(1, limit)
    path = tmp_path / "many.txt"
    with path.open("w") as file:
        for n in range(1_500_000):
            file.write(" " + "".join(LETTERS[n >> shift & 15] for shift in (8, 0, 20, 4, 16, 12)) * 2)
    output = tmp_path / "counts.npz"
    workers = Workforce(task_bytes=1 << 30)
    report = bpenb.count_to_file(path, output, cluster=Cluster(own.address), workers=workers)
    assert report["words"] == 1_500_000
    assert report["cluster"]["worker_peak_memory_bytes"] < limit


# --- on the command line ----------------------------------------------------------------------------


def test_bpenb_count_and_train_on_local_workers(corpus: Path, counted: bytes, tmp_path: Path) -> None:
    def run(*arguments: str | os.PathLike[str]) -> list[dict[str, Any]]:
        done = subprocess.run(
            command(*arguments, "--local-cluster", "2", "--chunk-size", "40000", "--progress", "json"),
            cwd=tmp_path, env=environment(), capture_output=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        return [json.loads(line) for line in done.stderr.splitlines()]

    events = run("count", corpus, "-o", "counts.npz")
    assert (tmp_path / "counts.npz").read_bytes() == counted
    finished = [event for event in events if event.get("finished")]
    assert [event["phase"] for event in finished] == ["plan", "count", "add up", "join"]
    assert finished[0]["details"]["workers"] == 2 and "MB" in finished[0]["details"]["memory_per_worker"]
    assert events[-1]["event"] == "summary" and events[-1]["cluster"]["shards"] == finished[0]["done"]
    run("train", corpus, "--vocab-size", "400", "-o", "tokenizer")
    bpenb.train(corpus, vocab_size=400).save(tmp_path / "alone")
    for name in ("vocab.json", "merges.txt"):
        if (tmp_path / "alone" / name).exists():
            assert (tmp_path / "tokenizer" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    here, alone = (bpenb.Tokenizer.load(tmp_path / name) for name in ("tokenizer", "alone"))
    assert here.encode("the low tower") == alone.encode("the low tower")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "counts.npz", "tokenizer"]


def test_training_on_characters_and_roles_from_what_local_workers_count(tmp_path: Path) -> None:
    """As of one machine: the words are those between spaces, and text like a role's token is one."""
    (tmp_path / "a.txt").write_text("low lower <s> lowest\nlow <s>low newer newest\n" * 3, encoding="utf-8")

    def run(*options: str, output: str) -> None:
        line = ("train", "a.txt", "--progress", "none", *options, "-o", output)
        done = subprocess.run(
            command(*line), cwd=tmp_path, env=environment(), capture_output=True, timeout=300
        )
        assert done.returncode == 0, done.stderr.decode()

    on_workers = ("--local-cluster", "1", "--resume")  # the first time there is nothing to go on from
    for name, options in (
        ("characters", ("--alphabet", "characters", "--vocab-size", "40")),
        ("roles", ("--bos", "<s>", "--vocab-size", "262")),
    ):
        run(*options, output=name)
        run(*options, *on_workers, output=f"{name}-2")
        for file in ("bpenb.json", "tokenizer.json"):
            assert (tmp_path / name / file).read_bytes() == (tmp_path / f"{name}-2" / file).read_bytes()
        one, other = (
            json.loads((tmp_path / folder / "report.json").read_text("utf-8"))
            for folder in (name, f"{name}-2")
        )
        assert one["sizes"]["distinct_words"] == other["sizes"]["distinct_words"]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
def test_ctrl_c_leaves_what_is_complete_and_says_how_to_go_on(
    corpus: Path, counted: bytes, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    line = ("count", corpus, "--local-cluster", "2", "--chunk-size", "6000", "-o", "counts.npz")
    process = subprocess.Popen(
        command(*line), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, start_new_session=True
    )
    request.addfinalizer(process.kill)  # if it did not end by itself
    shards = tmp_path / "counts.npz.work" / "shards"
    wait_for(lambda: shards.exists() and any(shards.iterdir()), "a shard")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130, told.decode()
    assert b"--resume" in told and b"Traceback" not in told and told.endswith(b"interrupted\n")
    done = subprocess.run(
        command(*line, "--resume"), cwd=tmp_path, env=environment(), capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "counts.npz").read_bytes() == counted
    assert [path.name for path in tmp_path.iterdir()] == ["counts.npz"]


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("count a.txt --local-cluster 2 --scheduler tcp://a:1", 1, "name exactly one"),
        ("count a.txt --local-cluster 0", 1, "at least 1"),
        ("count a.txt --local-cluster 2 --shard 1/2", 1, "shard and cluster exclude each other"),
        ("count a.txt --local-cluster 2 --workers 2", 1, "workers, pool and max_memory"),
        ("count a.txt --local-cluster 2 --max-memory 1GB", 1, "workers, pool and max_memory"),
        ("count a.txt --resume", 2, "--resume is for --scheduler"),
        ("count a.txt --work-folder w", 2, "--work-folder is for"),
        ("count a.txt --local-cluster 2 --work-folder s3://b/w", 1, "a work folder is a path"),
        ("train a.txt --local-cluster 2 --checkpoint c", 2, "--checkpoint and a cluster"),
        ("train a.txt --local-cluster 2 --alphabet characters --pattern gpt2", 1, "is not for characters"),
        ("train a.txt --local-cluster 2 --vocab-size 9", 1, "256 bytes and 1 special tokens need 257"),
        ("train a.txt --local-cluster 2 --vocab-size 9,300", 1, "256 bytes and 1 special tokens need 257"),
        ("train a.txt --local-cluster 2 --min-frequency -1", 1, "min_frequency is -1"),
        ("train a.txt --local-cluster 2 --alphabet characters --end-of-word x", 1, "end_of_word is 'x'"),
        ("train a.txt --resume", 2, "--resume needs --checkpoint"),
        ("train a.txt --resume --alphabet characters", 2, "--resume is for bytes"),
    ],
)
def test_what_does_not_go_together(
    line: str,
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low low")
    assert run_command(line.split()) == code
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_from_python_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_text(tmp_path, "low", ".txt")
    with pytest.raises(BpenbError, match="a cluster is nothing; name exactly one"):
        Cluster()
    with pytest.raises(BpenbError, match=r"needs a work folder: Cluster\(…, work_folder=…\)"):
        bpenb.count_words(path, cluster=Cluster(local_workers=1))
    for folder in ("s3://key:secret@bucket/work", Path("s3://bucket/work")):
        with pytest.raises(BpenbError, match=r"s3:/+bucket/work: a work folder is a path") as told:
            Cluster(local_workers=1, work_folder=folder)
        assert "secret" not in str(told.value)
    with pytest.raises(TypeError, match="cluster must be a Cluster, not str"):
        bpenb.count_words(path, cluster="tcp://a:1")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BpenbError, match=r"pip install 'bpenb\[dask\]'"):
        bpenb.count_words(path, cluster=Cluster(local_workers=1, work_folder=tmp_path / "work"))
