"""Keeping the merges of a training in a file, and going on from it: the result is the same."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
import pytest
from bpenb import Checkpoint, Progress, WordCounts
from bpenb.errors import BpenbError, FormatError, OutputError, TrainingError
from bpenb.progress import Reporter
from bpenb.training import at_work, driver
from bpenb.training.checkpoint_file import read_checkpoint


def _words(seed: int, n: int = 300) -> WordCounts:
    choose = random.Random(seed)
    words = {
        "".join(choose.choices("abcdeé", k=choose.randint(1, 9))): choose.randint(1, 40) for _ in range(n)
    }
    return WordCounts.from_dict(words)


class _StopError(Exception):
    pass


def _stop_at(n_merges: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[Progress], None]:
    """Return a progress callable that breaks a training off in the middle of merging."""
    monkeypatch.setattr(at_work, "SLICE_POSTINGS", 0)
    monkeypatch.setattr(Reporter, "INTERVAL", 0.0)

    def stop(progress: Progress) -> None:
        if progress.phase == "merge" and progress.done >= n_merges and not progress.finished:
            raise _StopError

    return stop


def _files(tokenizer: bpenb.Tokenizer, folder: Path) -> dict[str, bytes]:
    """Return the files of a tokenizer, without the report."""
    tokenizer.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "report.json"}


@pytest.mark.parametrize("ties", ["cs336", "huggingface", "rustbpe"])
@pytest.mark.parametrize("stop", [1, 60, 119])
def test_a_training_that_is_resumed_gives_the_same_files(
    ties: str, stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, kept = _words(1), tmp_path / "kept"
    whole = bpenb.train_from_counts(counts, vocab_size=256 + 120, ties=ties)
    options: dict[str, Any] = {"vocab_size": 256 + 120, "ties": ties, "checkpoint": kept}
    with pytest.raises(_StopError) as caught:
        bpenb.train_from_counts(counts, progress=_stop_at(stop, monkeypatch), **options)
    n_kept = read_checkpoint(kept).made.merges.shape[0]
    assert stop <= n_kept < 120
    (note,) = caught.value.__notes__
    assert note.startswith(f"{n_kept:,} merges are kept in {kept}; ") and "--resume (resume=True)" in note
    resumed = bpenb.train_from_counts(counts, resume=True, **options)
    assert _files(resumed, tmp_path / "resumed") == _files(whole, tmp_path / "whole")
    assert resumed.report is not None and whole.report is not None
    assert resumed.report["sizes"] == whole.report["sizes"]
    assert read_checkpoint(kept).made.merges.shape[0] == 120  # it stays, and holds all


def test_from_files_and_from_documents(tmp_path: Path) -> None:
    text = "low lower lowest<|endoftext|>newer wider été " * 30
    (tmp_path / "corpus.txt").write_text(text, encoding="utf-8")
    kept = tmp_path / "kept"
    small = bpenb.train(tmp_path / "corpus.txt", vocab_size=265, checkpoint=kept)
    assert small.n_vocab == 265
    large = bpenb.train_from_iterator([text], vocab_size=275, checkpoint=Checkpoint(kept), resume=True)
    assert large.vocab == bpenb.train_from_iterator([text], vocab_size=275).vocab
    again = bpenb.train(tmp_path / "corpus.txt", vocab_size=275, checkpoint=Checkpoint(kept, resume=True))
    assert again.vocab == large.vocab


def test_merges_are_kept_every_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a `kill -9` leaves: the file of a moment before."""
    monkeypatch.setattr(at_work, "SLICE_POSTINGS", 0)
    monkeypatch.setattr(driver, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(Reporter, "INTERVAL", 0.0)
    counts, kept, seen = _words(2), tmp_path / "kept", []

    def copy(progress: Progress) -> None:
        if progress.phase == "merge" and kept.exists():
            seen.append(kept.read_bytes())

    whole = bpenb.train_from_counts(counts, vocab_size=276, checkpoint=kept, progress=copy)
    assert len(seen) > 10
    for content in seen[:: len(seen) // 5]:
        kept.write_bytes(content)
        resumed = bpenb.train_from_counts(counts, vocab_size=276, checkpoint=kept, resume=True)
        assert resumed.vocab == whole.vocab and resumed.merges == whole.merges


# --- what is refused --------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The checkpoint of `_words(3)` with 20 merges."""
    bpenb.train_from_counts(_words(3), vocab_size=276, checkpoint=tmp_path / "kept")
    return tmp_path / "kept"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ties": "rustbpe"}, "ties 'cs336' there, 'rustbpe' here"),
        ({"min_frequency": 3}, "min_frequency 1 there, 3 here"),
        ({"min_word_count": 2}, "min_word_count 1 there, 2 here"),
        ({"max_token_length": 3}, "max_token_length None there, 3 here"),
        ({"ties": "huggingface", "min_frequency": 2}, "ties 'cs336' .* here; min_frequency 1 there, 2 here"),
        ({"vocab_size": 275}, "holds 20 merges; a vocab_size of 275 has room for 19 only: ask for 276"),
        ({"base": {"a": 3, "ab": 2}}, r"base \(SHA-256\) None there, [0-9a-f]{12}… here"),
    ],
)
def test_resuming_with_other_settings(kept: Path, changes: dict[str, Any], message: str) -> None:
    if "base" in changes:
        base = WordCounts.from_dict(changes["base"])
        changes = {"base": bpenb.train_from_counts(base, vocab_size=257)}
    before = kept.read_bytes()
    with pytest.raises(TrainingError, match=message):
        bpenb.train_from_counts(_words(3), **({"vocab_size": 300} | changes), checkpoint=kept, resume=True)
    assert kept.read_bytes() == before


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (_words(4), r"word counts \(SHA-256\) [0-9a-f]{12}… there, [0-9a-f]{12}… here"),
        (
            WordCounts.from_dict({"a": 1}, special_tokens=["<s>"]),
            r"special tokens \[\] there, \['<s>'\] here",
        ),
        (WordCounts.from_dict({"a": 1}, pattern="cl100k"), "pattern .*there, .*here"),
        (WordCounts.from_dict({"a": 1}, engine="regex"), "engine 'external' there, 'regex' here"),
        (WordCounts.from_dict({"a": 1}, unicode_version="18.0.0"), "Unicode version 'unknown' there"),
    ],
)
def test_resuming_with_another_corpus(kept: Path, counts: WordCounts, message: str) -> None:
    before = kept.read_bytes()
    with pytest.raises(TrainingError, match=message):
        bpenb.train_from_counts(counts, vocab_size=300, checkpoint=kept, resume=True)
    assert kept.read_bytes() == before


def test_settings_are_compared_before_a_word_is_counted(kept: Path) -> None:
    def never() -> Any:
        raise AssertionError("the documents were looked at")
        yield ""

    for options in ({"special_tokens": ["<s>"]}, {"pattern": "cl100k"}, {"ties": "rustbpe"}):
        with pytest.raises(TrainingError, match="another training"):
            bpenb.train_from_iterator(never(), checkpoint=kept, resume=True, **options)  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="is there already"):
        bpenb.train_from_iterator(never(), checkpoint=kept)


def test_a_file_that_is_there_is_replaced_only_if_forced(kept: Path, tmp_path: Path) -> None:
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("precious")
    for path in (kept, thesis):
        before = path.read_bytes()
        with pytest.raises(OutputError, match=r"--resume \(resume=True\), replace it with --force"):
            bpenb.train_from_counts(_words(4), vocab_size=270, checkpoint=path)
        assert path.read_bytes() == before
        bpenb.train_from_counts(_words(4), vocab_size=270, checkpoint=Checkpoint(path, force=True))
        assert read_checkpoint(path).made.merges.shape[0] == 14  # fewer than there were


def test_places_and_files_that_cannot_be(kept: Path, tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], type[BpenbError], str]] = [
        ({"resume": True}, TrainingError, "resume needs a checkpoint"),
        ({"checkpoint": tmp_path / "none", "resume": True}, FormatError, "there is no such checkpoint"),
        ({"checkpoint": tmp_path / "none" / "kept"}, OutputError, "cannot be written"),
        ({"checkpoint": tmp_path}, OutputError, "is a folder"),
    ]
    for options, error, message in cases:
        with pytest.raises(error, match=message):
            bpenb.train_from_counts(_words(3), vocab_size=300, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]


def _npz(path: Path, **arrays: Any) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _metadata(**changes: Any) -> np.ndarray[Any, Any]:
    document = {"format": "bpenb checkpoint", "version": 1, "training": {}} | changes
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)


_MERGES: dict[str, Any] = {
    "merges": np.array([[97, 98]], dtype=np.int32),
    "merge_counts": np.array([1], dtype=np.int64),
}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "a file of something else"),
        ({"metadata": _metadata(format="bpenb word counts")}, "an .npz of something else"),
        ({"metadata": _metadata(version=2)}, "format version 2; this bpenb reads version 1"),
        ({"metadata": _metadata(training=[])}, "`training` is missing"),
        ({"metadata": np.arange(9, dtype=np.uint8)}, "damaged"),
        ({"metadata": _metadata(), "merges": _MERGES["merges"]}, "merge_counts"),
        ({"metadata": _metadata(), **_MERGES, "merges": np.zeros((2, 2), dtype=np.int32)}, r"int32\[2, 2\]"),
        ({"metadata": _metadata(), **_MERGES, "merges": np.zeros((1, 2))}, r"float64\[1, 2\]"),
        ({"metadata": _metadata(), **_MERGES, "merges": np.array([[97, 256]], np.int32)}, r"merges\[0\]"),
    ],
)
def test_a_file_of_something_else(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    _npz(tmp_path / "kept", **arrays)
    with pytest.raises(FormatError, match=rf"kept: .*{message}"):
        bpenb.train_from_counts(_words(3), checkpoint=tmp_path / "kept", resume=True)


def test_a_damaged_file(kept: Path) -> None:
    whole = kept.read_bytes()
    step = len(whole) // 40
    altered = [whole[:size] for size in range(0, len(whole), step)]
    altered += [
        whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in range(100, len(whole), step)
    ]
    refused = 0
    expected = bpenb.train_from_counts(_words(3), vocab_size=276).merges
    for content in altered:
        kept.write_bytes(content)
        try:
            tokenizer = bpenb.train_from_counts(_words(3), vocab_size=276, checkpoint=kept, resume=True)
        except BpenbError as error:
            refused += 1
            assert str(kept) in str(error)
            assert kept.read_bytes() == content
        else:
            assert tokenizer.merges == expected  # a byte that does not matter
    assert refused > 60


# --- what keeping does ------------------------------------------------------------------------------


def test_fewer_merges_never_replace_more(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here another process has gone further in the meantime."""
    counts = _words(3)
    first = kept.read_bytes()
    bpenb.train_from_counts(counts, vocab_size=330, checkpoint=kept, resume=True)
    further = kept.read_bytes()
    kept.write_bytes(first)
    stop = _stop_at(30, monkeypatch)

    def stop_late(progress: Progress) -> None:
        if progress.phase == "merge" and progress.done >= 30:
            kept.write_bytes(further)
        stop(progress)

    with pytest.raises(_StopError):
        bpenb.train_from_counts(counts, vocab_size=330, checkpoint=kept, resume=True, progress=stop_late)
    assert kept.read_bytes() == further


@pytest.mark.parametrize("foreign", [b"precious", None])
def test_what_another_writes_meanwhile_is_left_alone(
    kept: Path, foreign: bytes | None, tmp_path: Path
) -> None:
    if foreign is None:
        bpenb.train_from_counts(_words(5), vocab_size=260, checkpoint=tmp_path / "other")
        foreign = (tmp_path / "other").read_bytes()

    def write(progress: Progress) -> None:
        kept.write_bytes(foreign)

    with pytest.warns(UserWarning, match="the merges so far are not kept: .*left alone"):
        tokenizer = bpenb.train_from_counts(
            _words(3), vocab_size=300, checkpoint=kept, resume=True, progress=write
        )
    assert tokenizer.n_vocab == 300
    assert kept.read_bytes() == foreign


def test_a_disk_that_is_full_does_not_end_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(UserWarning, match="not kept: .*No space left"):
        tokenizer = bpenb.train_from_counts(_words(3), vocab_size=300, checkpoint=tmp_path / "kept")
    assert tokenizer.n_vocab == 300
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_said_where_nothing_is_kept(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(_StopError) as caught:
            bpenb.train_from_iterator(_break(), checkpoint=tmp_path / "kept")
    assert not hasattr(caught.value, "__notes__")
    assert list(tmp_path.iterdir()) == []


def _break() -> Any:
    yield "low low"
    raise _StopError
