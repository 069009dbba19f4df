"""Broken off anywhere and gone on from there, a run gives the bytes of one that nobody disturbed."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bpenb import Tokenizer
from bpenb.corpus import InputOptions
from bpenb.dataset import Manifest, verify_dataset
from bpenb.errors import BpenbError, CorpusError, OutputError
from bpenb.preparing import EncodeSettings, OutputSettings, encode_to_files
from bpenb.preparing.journal import Journal
from bpenb.preparing.run import DatasetRun
from tests.corpus.writing import write_rows
from tests.preparing.making import (
    Breaker,
    BrokenOff,
    busy_journal,
    contents,
    leave_all,
    sample_rows,
    sample_text,
    small_buffers,
    tokenizer,
    write_inputs,
)

SKIPPING = InputOptions(skip_bad_rows=True)


class Case(NamedTuple):
    name: str
    output: OutputSettings
    settings: EncodeSettings


CASES = [
    Case("npy", OutputSettings("npy"), EncodeSettings(SKIPPING)),
    Case("rows", OutputSettings("llmc", 64, 16), EncodeSettings(SKIPPING, append_eot=True)),
    Case("splits", OutputSettings("bin", 90), EncodeSettings(SKIPPING, append_eot=True, val_fraction=0.4)),
    Case("megatron", OutputSettings("megatron", 70), EncodeSettings(SKIPPING, shuffle=True, seed=3)),
    Case(
        "datatrove",
        OutputSettings("datatrove"),
        EncodeSettings(SKIPPING, prepend_eot=True, val_fraction=0.3, shuffle=True),
    ),
]
of_every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture(autouse=True)
def small_and_busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small buffers, a journal before each; the disk itself is not waited for, nobody takes its power."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr("bpenb.preparing.run.n_buckets_for", lambda id_bytes, max_memory: 4)
    with small_buffers(150), busy_journal():
        yield


@pytest.fixture(scope="module")
def made() -> Tokenizer:
    return tokenizer()


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """Text, packed text, JSON lines, packed ones, Parquet; bad rows among them, at ends and in a row."""
    folder = tmp_path / "in"
    found = write_inputs(folder, [sample_text(60, 1), sample_text(50, 2)], [0, 1])
    with_bad = [None, *sample_rows(12, 3), None, None, "low", None]
    found += [write_rows(folder, with_bad, kind, f"rows{n}") for n, kind in
              enumerate([".jsonl", ".jsonl.gz", ".parquet"])]  # fmt: skip
    return [*found, *write_inputs(folder, [sample_text(40, 9)], [2])]


def encode(made: Tokenizer, inputs: list[Path], out: Path, case: Case, **how: Any) -> Manifest:
    return encode_to_files(made, inputs, out, case.settings, case.output, **how)


def undisturbed(made: Tokenizer, inputs: list[Path], folder: Path, case: Case) -> dict[str, bytes]:
    folder.mkdir()
    encode(made, inputs, folder / "out", case)
    found = contents(folder)
    assert not [name for name in found if "/." in f"/{name}"]
    (manifest,) = [data for name, data in found.items() if "manifest" in name]
    assert json.loads(manifest)["settings"]["bad_rows"] == 12
    return found


def check(folder: Path, expected: dict[str, bytes], what: str) -> None:
    found = contents(folder)
    assert found.keys() == expected.keys(), what
    for name, data in expected.items():
        assert found[name] == data, f"{what}: {name}"


@of_every_case
@pytest.mark.parametrize("is_kill", [True, False], ids=["kill", "error"])
def test_broken_off_at_any_step(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Tokenizer,
    inputs: list[Path],
    case: Case,
    is_kill: bool,
) -> None:
    """Before and after each journal, block, file that is completed or renamed, manifest, and the end."""
    expected = undisturbed(made, inputs, tmp_path / "undisturbed", case)
    breaker = Breaker(monkeypatch)
    breaker.start(0)
    encode(made, inputs, tmp_path / "counted/out", case, workers=1)
    steps: dict[str, list[int]] = {}  # by name, the numbers of those that are called so
    for number, name in enumerate(breaker.names, 1):
        steps.setdefault(name, []).append(number)
    assert len(steps) >= 16
    if is_kill:
        monkeypatch.setattr(DatasetRun, "abandon", leave_all)
    for step, numbers in steps.items():
        n = numbers[-1] if is_kill else numbers[len(numbers) // 2]
        folder = tmp_path / "broken"
        folder.mkdir()
        breaker.start(n)
        with pytest.raises(BrokenOff, match=step):
            encode(made, inputs, folder / "out", case, workers=1)
        if any(name.endswith("manifest.json") for name in contents(folder)):  # the last of all
            assert any(last in step for last in ("Manifest.write", "clean_up", "Journal.remove"))
        breaker.start(0)
        encode(made, inputs, folder / "out", case, workers=2, resume=True)
        check(folder, expected, f"broken off at step {n}: {step}")
        shutil.rmtree(folder)


@of_every_case
def test_broken_off_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path], case: Case
) -> None:
    """Each run does a few steps only, of which the resumed ones are some."""
    expected = undisturbed(made, inputs, tmp_path / "undisturbed", case)
    breaker = Breaker(monkeypatch)
    monkeypatch.setattr(DatasetRun, "abandon", leave_all)
    (tmp_path / "broken").mkdir()
    n_runs, steps = 0, 9
    while True:
        n_runs += 1
        steps += n_runs % 5 == 0  # publishing begins anew each time, and has many steps
        assert n_runs < 1000
        breaker.start(steps)
        try:
            encode(made, inputs, tmp_path / "broken/out", case, workers=1 + n_runs % 3, resume=True)
            break
        except BrokenOff:
            pass
    assert n_runs > 8
    check(tmp_path / "broken", expected, "broken off again and again")


def break_off(monkeypatch: pytest.MonkeyPatch, at: int, run: Callable[[], object], kill: bool = True) -> None:
    """Run until a step."""
    with monkeypatch.context() as patch:
        breaker = Breaker(patch)
        if kill:
            patch.setattr(DatasetRun, "abandon", leave_all)
        breaker.start(at)
        with pytest.raises(BrokenOff):
            run()


# --- over an older dataset --------------------------------------------------------------------------


@of_every_case
def test_an_older_dataset_stays_until_the_new_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path], case: Case
) -> None:
    """With force, broken off anywhere, then gone on from, or started anew with force."""
    expected = undisturbed(made, inputs, tmp_path / "undisturbed", case)
    n_seen = 0
    for n in range(1, 10_000, 61):
        folder = tmp_path / "older"
        folder.mkdir()
        encode(made, inputs[:2], folder / "out", case._replace(output=case.output._replace(shard_tokens=(
            None if case.output.shard_tokens is None else 32))))  # fmt: skip
        older = contents(folder)
        try:
            run = functools.partial(encode, made, inputs, folder / "out", case, force=True)
            break_off(monkeypatch, n, run)
        except pytest.fail.Exception:
            shutil.rmtree(folder)
            break
        n_seen += 1
        found = contents(folder)
        manifests = [name for name in older if name.endswith("manifest.json")]
        if found.get(manifests[0]) == older[manifests[0]]:  # a manifest stands only beside its own files
            assert {name: found[name] for name in older} == older
        has_journal = any(name.endswith("resume.json") for name in found)
        encode(made, inputs, folder / "out", case, resume=n % 2 == 1, force=n % 2 == 0 or not has_journal)
        check(folder, expected, f"broken off at step {n}")
        shutil.rmtree(folder)
    assert n_seen > 2


# --- what is refused --------------------------------------------------------------------------------


def broken_run(
    monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path], out: Path, case: Case
) -> None:
    out.parent.mkdir(exist_ok=True)
    break_off(monkeypatch, 25, lambda: encode(made, inputs, out, case))
    assert [path for path in out.parent.rglob(".*") if path.name.endswith("resume.json")]


def test_without_resume_both_ways_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path]
) -> None:
    out = tmp_path / "data/out"
    broken_run(monkeypatch, made, inputs, out, CASES[2])
    before = contents(tmp_path / "data")
    with pytest.raises(OutputError, match=r"interrupted.*--resume.*--force"):
        encode(made, inputs, out, CASES[2])
    assert contents(tmp_path / "data") == before


@pytest.mark.parametrize("case", [CASES[2], CASES[4]], ids=["splits", "shuffled"])
def test_other_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path], case: Case
) -> None:
    """And what was done is kept: with the old settings it goes on."""
    expected = undisturbed(made, inputs, tmp_path / "undisturbed", case)
    out = tmp_path / "broken/out"
    broken_run(monkeypatch, made, inputs, out, case)
    before = contents(tmp_path / "broken")

    def refused(match: str, **changes: Any) -> None:
        arguments = {"tokenizer": made, "inputs": inputs, "out": out, "settings": case.settings,
                     "output": case.output, "resume": True} | changes  # fmt: skip
        with pytest.raises(BpenbError, match=match):
            encode_to_files(**arguments)
        assert contents(tmp_path / "broken") == before

    refused("other tokenizer; .*--force", tokenizer=tokenizer("cl100k"))
    refused("other settings", settings=EncodeSettings(SKIPPING, val_fraction=0.2))
    refused("other settings", settings=EncodeSettings(SKIPPING, val_fraction=0.4, seed=1))
    refused("other output", output=case.output._replace(shard_tokens=91))
    refused("other inputs", inputs=inputs[::-1])
    refused("other inputs", inputs=inputs[:-1])
    encode(made, inputs, out, case, resume=True)
    check(tmp_path / "broken", expected, "after refusals")


def test_an_input_that_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path]
) -> None:
    """Other bytes are told by their digest; what that does not see, by the time of the change."""
    case, out = CASES[2], tmp_path / "data/out"
    broken_run(monkeypatch, made, inputs, out, case)
    before, original = contents(tmp_path / "data"), inputs[0].read_bytes()
    times = inputs[0].stat()
    for changed in (original + b"x", b"X" + original[1:]):
        inputs[0].write_bytes(changed)
        with pytest.raises(OutputError, match=r"other inputs.*--force"):
            encode(made, inputs, out, case, resume=True)
    inputs[0].write_bytes(original)
    os.utime(inputs[0], ns=(times.st_atime_ns, times.st_mtime_ns + 1000))
    with pytest.raises(CorpusError, match=r"in0\.txt: was changed or removed since .*--force"):
        encode(made, inputs, out, case, resume=True)
    assert contents(tmp_path / "data") == before
    os.utime(inputs[0], ns=(times.st_atime_ns, times.st_mtime_ns))
    encode(made, inputs, out, case, resume=True)
    verify_dataset(out)


@of_every_case
def test_force_starts_anew_and_leaves_no_strays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path], case: Case
) -> None:
    """Even where a hidden file of the run is gone, or the journal is no JSON; other hidden files stay."""
    expected = undisturbed(made, inputs, tmp_path / "undisturbed", case)
    for number, harm in enumerate((None, "part", "journal", "journal is gone")):
        folder = tmp_path / f"broken{number}"
        broken_run(monkeypatch, made, inputs, folder / "out", case)
        parts = sorted(path for path in folder.rglob(".*.part"))
        parts = parts or sorted(path for path in folder.rglob("*.ids") if path.stat().st_size)
        assert parts
        journal = next(path for path in folder.rglob(".*resume.json"))
        if harm == "part":
            parts[0].unlink()
            with pytest.raises(OutputError, match=r"missing|shorter than it was"):
                encode(made, inputs, folder / "out", case, resume=True)
            assert journal.exists()
        elif harm == "journal":
            journal.write_bytes(b"{")
            with pytest.raises(OutputError, match=r"resume\.json: cannot be read.*--force"):
                encode(made, inputs, folder / "out", case, resume=True)
        elif harm:
            journal.unlink()
        somebodys = journal.with_name(".out.other.npy.0123abcd.part")
        somebodys.write_bytes(b"")
        encode(made, inputs, folder / "out", case, force=True)
        somebodys.unlink()
        check(folder, expected, str(harm))


def test_strays_of_a_kill_within_a_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path]
) -> None:
    """A file is written under a name of chance before it is renamed: going on removes it."""
    for case in CASES[:3]:
        expected = undisturbed(made, inputs, tmp_path / f"undisturbed_{case.name}", case)
        folder = tmp_path / case.name
        broken_run(monkeypatch, made, inputs, folder / "out", case)
        journal = next(path for path in folder.rglob(".*resume.json"))
        journal.with_name(f".{journal.name}.0123abcd.part").write_bytes(b"{")
        encode(made, inputs, folder / "out", case, resume=True)
        check(folder, expected, case.name)


@of_every_case
def test_resuming_what_is_finished_touches_nothing(
    tmp_path: Path, made: Tokenizer, inputs: list[Path], case: Case
) -> None:
    manifest = encode(made, inputs, tmp_path / "data/out", case)
    files = sorted(path for path in (tmp_path / "data").rglob("*"))
    stamps = [(path, path.stat().st_mtime_ns, path.stat().st_ino) for path in files]
    assert encode(made, inputs, tmp_path / "data/out", case, resume=True) == manifest
    assert [(path, path.stat().st_mtime_ns, path.stat().st_ino) for path in
            sorted((tmp_path / "data").rglob("*"))] == stamps  # fmt: skip


@pytest.mark.parametrize("changes", [{"shard_tokens": 33}, {"document_index": False}, {"format": "llmc"}])
def test_another_dataset_that_is_finished_is_not_this_one(
    tmp_path: Path, made: Tokenizer, inputs: list[Path], changes: dict[str, Any]
) -> None:
    case = CASES[2]
    encode(made, inputs, tmp_path / "out", case)
    before = contents(tmp_path)
    with pytest.raises(OutputError, match="holds a dataset"):
        other = case._replace(output=case.output._replace(**changes))
        encode(made, inputs, tmp_path / "out", other, resume=True)
    assert contents(tmp_path) == before


def test_an_error_of_a_short_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer, inputs: list[Path]
) -> None:
    """Before there is anything to go on from, all is removed."""
    monkeypatch.setattr("bpenb.preparing.run.JOURNAL_SECONDS", 10.0)
    for case in (CASES[1], CASES[3]):
        for at in (3, 9):
            folder = tmp_path / f"{case.name}{at}"
            folder.mkdir()
            run = functools.partial(encode, made, inputs, folder / "out", case)
            break_off(monkeypatch, at, run, kill=False)
            assert not contents(folder)


def test_a_kill_between_two_states_of_a_shuffle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Tokenizer
) -> None:
    """The buckets were brought to the disk, and the journal was not written any more."""
    inputs = write_inputs(tmp_path / "in", [" low" * 300, " lower 1" * 300])
    case = CASES[3]
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    encode(made, inputs, folder / "out", case)
    expected = contents(folder)
    save = Journal.save
    for n in range(2, 14, 3):
        left = iter(range(n - 1))

        def breaking(journal: Journal, state: Any, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise BrokenOff("before the journal")
            save(journal, state)

        folder = tmp_path / f"broken{n}"
        folder.mkdir()
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "save", breaking)
            patch.setattr(DatasetRun, "abandon", leave_all)
            with pytest.raises(BrokenOff):
                encode(made, inputs, folder / "out", case)
        encode(made, inputs, folder / "out", case, resume=True)
        check(folder, expected, f"before journal {n}")
