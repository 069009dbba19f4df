"""Plans, partitions and files of partial counts, without any engine."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from bpenb import WordCounts
from bpenb.cluster.partial_file import open_partial, write_partial
from bpenb.cluster.partitions import partitions_of, words_of_partition
from bpenb.cluster.plan import CountPlan, plan_counting
from bpenb.cluster.tasks import Stated, task_memory
from bpenb.cluster.work_folder import open_work_folder
from bpenb.counting import RunBlock, Shard, Words, WordTable, merge_blocks
from bpenb.errors import CountsError, OutputError, WorkerError

CORPUS = Shard("f3c0ffee", 10_000_000, 1, 1)
MADE_BY = WordCounts.from_dict({}).made_by
_MASK = 2**64 - 1


def some_counts(n_words: int, seed: int) -> WordCounts:
    chance = random.Random(seed)
    lengths = [chance.choice([1, 2, 5, 9, 40]) for _ in range(n_words)]
    return WordCounts.from_dict({chance.randbytes(length): 1 + chance.randrange(9) for length in lengths})


# --- partitions: the oracle takes one byte after the other ------------------------------------------


def slowly_mixed(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def slow_partition(word: bytes, n_partitions: int) -> int:
    total = sum(slowly_mixed(byte | place << 8) for place, byte in enumerate(word)) & _MASK
    return slowly_mixed(total) % n_partitions


@pytest.mark.parametrize("n_partitions", [1, 2, 7, 64])
@pytest.mark.parametrize("at_once", [1, 50, 1 << 20])
def test_partitions_are_those_of_the_slow_rule(
    n_partitions: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpenb.cluster.partitions._AT_ONCE", at_once)
    counts = some_counts(400, 1)
    found = partitions_of(counts, n_partitions)
    words = list(counts.to_dict())
    assert found.tolist() == [slow_partition(word, n_partitions) for word in words]
    together: dict[bytes, int] = {}
    for number in range(n_partitions):
        own: list[bytes] = []
        for word_bytes, word_offsets, word_counts in words_of_partition(counts, found, number):
            bounds = word_offsets.tolist()
            some = [word_bytes[a:b].tobytes() for a, b in itertools.pairwise(bounds)]
            own += some
            together |= dict(zip(some, word_counts.tolist(), strict=True))
        assert own == [word for word in words if slow_partition(word, n_partitions) == number]
    assert together == counts.to_dict()


def test_partitions_are_about_equal() -> None:
    counts = WordCounts.from_dict({f" word{n}": 1 for n in range(8_000)})
    sizes = np.bincount(partitions_of(counts, 8))
    assert sizes.min() > 800 and sizes.max() < 1_200


# --- files of partial counts ------------------------------------------------------------------------


def write(path: Path, counts: WordCounts, n_partitions: int) -> None:
    partitions = partitions_of(counts, n_partitions)
    with write_partial(path, "plan", (3, 5), {"n_bytes": 12}) as writer:
        for number in range(n_partitions):
            writer.add(number, words_of_partition(counts, partitions, number))


@pytest.mark.parametrize("in_memory", [1 << 24, 10])
def test_what_is_written_is_read(in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpenb.cluster.partial_file._IN_MEMORY", in_memory)
    monkeypatch.setattr("bpenb.cluster.partitions._AT_ONCE", 100)
    counts = some_counts(300, 2)
    write(tmp_path / "a", counts, 4)
    write(tmp_path / "b", counts, 4)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    partial = open_partial(tmp_path / "a")
    assert (partial.plan, partial.shards, partial.report) == ("plan", (3, 5), {"n_bytes": 12})
    blocks = [RunBlock(partial.partition(number), 64) for number in range(4)]
    assert read_all(merge_blocks(blocks, WordTable())) == counts.to_dict()
    with pytest.raises(CountsError, match="partition 4 is missing"):
        partial.partition(4)


def read_all(portions: Iterable[Words]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for word_bytes, offsets, counts in portions:
        for w, count in enumerate(counts.tolist()):
            found[word_bytes[offsets[w] : offsets[w + 1]].tobytes()] = count
    return found


def test_a_damaged_file_is_told_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "00001"
    write(path, some_counts(6, 3), 2)
    data = path.read_bytes()

    def read() -> None:
        partial = open_partial(path)
        for number in range(2):
            partial.partition(number)

    read()
    for at in range(len(data)):
        path.write_bytes(data[:at])
        with pytest.raises(CountsError, match=r"00001: .*damaged"):
            read()
    path.write_bytes(data)
    for at in range(sum(place.n_bytes + 16 * place.n_words for place in open_partial(path).places)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CountsError, match=r"00001: .*checksum .* --resume"):
            read()
    path.unlink()
    with pytest.raises(CountsError, match="00001: cannot be read"):
        read()


def test_a_file_that_is_broken_off_does_not_appear(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), write_partial(tmp_path / "a", "plan", (1, 1), {}):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


# --- plans ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_shards", [1, 2, 32, 33, 1024, 1025, 5_000])
def test_the_tree_has_every_shard_once_in_each_partition(n_shards: int) -> None:
    plan = CountPlan("plan", n_shards, 3)
    for partition in range(3):
        holds = {plan.partial(n): [n] for n in range(1, n_shards + 1)}
        for level in plan.levels():
            for merge in level:
                if merge.partition == partition:
                    assert len(merge.inputs) <= 32
                    shards = [n for name in merge.inputs for n in holds[name]]
                    assert merge.shards == (shards[0], shards[-1])
                    holds[merge.output] = shards
        assert holds[plan.results()[partition]] == list(range(1, n_shards + 1))
    outputs = [merge.output for level in plan.levels() for merge in level]
    assert len(outputs) == len(set(outputs))


def test_how_many_shards_and_partitions() -> None:
    def planned(total: int, n_threads: int, shard_bytes: int | None = None) -> tuple[int, int]:
        plan = plan_counting(CORPUS._replace(total_bytes=total), MADE_BY, n_threads, shard_bytes)
        return plan.n_shards, plan.n_partitions

    assert planned(0, 2) == (1, 1)
    assert planned(3_999_999, 2) == (1, 1)
    assert planned(80_000_000, 2) == (8, 4)
    assert planned(10**13, 100) == (19_532, 64)
    assert planned(100, 2, 7) == (15, 4)
    assert planned(10**9, 0) == planned(10**9, 8)
    names = {plan_counting(CORPUS, MADE_BY, n, None).name for n in (1, 2, 2)}
    assert len(names) == 2


def test_a_work_folder_is_new_or_of_the_same_work(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "work"
    plan = plan_counting(CORPUS, MADE_BY, 4, 1_000_000)

    def opened(corpus: Shard = CORPUS, *, resume: bool = False, force: bool = False) -> CountPlan:
        return open_work_folder(path, plan, corpus, MADE_BY, resume=resume, force=force).plan

    assert opened() == plan
    (path / plan.partial(2)).write_bytes(b"")
    with pytest.raises(OutputError, match=r"work holds an earlier run, 1 of 10 shards .*--resume.*--force"):
        opened()
    other = plan_counting(CORPUS, MADE_BY, 1, 5_000_000)
    resumed = open_work_folder(path, other, CORPUS, MADE_BY, resume=True, force=False)
    assert resumed.plan == plan and resumed.is_resumed
    with pytest.raises(OutputError, match="another corpus, or with other settings"):
        opened(CORPUS._replace(corpus="beef"), resume=True)
    assert opened(CORPUS, force=True) == plan
    assert not (path / plan.partial(2)).exists()
    assert opened(CORPUS, resume=True) == plan
    resumed.remove()
    assert not path.exists()
    assert opened(CORPUS, resume=True) == plan  # nothing to go on with: begun
    (path / "plan.json").write_text("{}")
    with pytest.raises(OutputError, match=r"plan\.json: is no plan"):
        opened(resume=True)
    (path / "plan.json").unlink()
    assert opened() == plan  # folders alone: of a run that was killed at its start
    (path / "plan.json").unlink()
    (path / "shards" / "00001").write_bytes(b"")
    with pytest.raises(OutputError, match="holds something else"):
        opened(force=True)
    with pytest.raises(OutputError, match="cannot be written"):
        open_work_folder(path / "shards/00001/w", plan, CORPUS, MADE_BY, resume=False, force=False)


def test_removing_leaves_what_is_not_ours(tmp_path: Path) -> None:
    folder = open_work_folder(
        tmp_path / "w", CountPlan("p", 1, 1), CORPUS, MADE_BY, resume=False, force=False
    )
    (tmp_path / "w" / "mine").write_bytes(b"")
    folder.remove()
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["mine"]


def test_memory_of_a_task() -> None:
    base = 200_000_000
    assert task_memory(Stated("a", None, 4), base) is None
    assert task_memory(Stated("a", 2_000_000_000, 1), base) == 1_300_000_000
    for n_threads in (1, 2, 8):
        budget = task_memory(Stated("a", 4_000_000_000, n_threads), base)
        assert budget is not None and base + n_threads * (budget - base) <= 0.65 * 4_000_000_000
    with pytest.raises(WorkerError, match=r"worker tcp://a states 300 MB for 1 threads.*at least 394 MB"):
        task_memory(Stated("tcp://a", 300_000_000, 1), base)
    task_memory(Stated("tcp://a", 395_000_000, 1), base)
