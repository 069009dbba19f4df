"""A sweep: each tokenizer is that of a training at its size, and every figure is what encoding gives."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
import pytest
from bpenb.errors import CorpusError, CountsError, OutputError, TrainingError, VerificationError
from bpenb.progress import Progress
from bpenb.training import TIE_MODES
from hypothesis import given, settings
from hypothesis import strategies as st

TEXT = (
    "The low tower is lower than the lowest tower, isn't it?<|endoftext|>\n"
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. aaaa aaaaa ababab\r\n\r\n"
) * 20
OTHER = "A newer tower.<|endoftext|><|pad|> aaaaaaa 下雨天 über über\n" * 3
SIZES = [300, 262, 340]
FILES = ("tokenizer.json", "vocab.json", "merges.txt", "bpenb.json")


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(TEXT, encoding="utf-8", newline="")
    Path("other.txt").write_text(OTHER, encoding="utf-8", newline="")
    return tmp_path


@pytest.mark.parametrize("specials", [("<|endoftext|>",), ("<|endoftext|>", "<|pad|>"), ()])
@pytest.mark.parametrize("ties", TIE_MODES)
def test_each_is_the_tokenizer_trained_at_its_size(texts: Path, ties: str, specials: tuple[str, ...]) -> None:
    sweep = bpenb.train_sweep("corpus.txt", SIZES, ties=ties, special_tokens=specials)
    sweep.save("sweep")
    assert [row.vocab_size for row in sweep.rows] == sorted(SIZES)
    for size in SIZES:
        alone = bpenb.train("corpus.txt", vocab_size=size, ties=ties, special_tokens=specials)
        alone.save("alone")
        for name in sorted(p.name for p in Path("alone").iterdir()):
            if name != "report.json":
                assert Path("alone", name).read_bytes() == Path("sweep", str(size), name).read_bytes(), name
        reports = [json.loads((folder / "report.json").read_text("utf-8")) for folder in
                   (Path("alone"), Path("sweep", str(size)))]  # fmt: skip
        for key in ("settings", "sizes", "longest_tokens"):
            assert reports[0][key] == reports[1][key], key


@pytest.mark.parametrize("ties", TIE_MODES)
def test_tokens_are_what_encoding_gives(texts: Path, ties: str) -> None:
    """Brute force: encode the texts, and leave the special tokens out."""
    sweep = bpenb.train_sweep(
        "corpus.txt",
        SIZES,
        eval_files=["other.txt"],
        ties=ties,
        special_tokens=["<|endoftext|>", "<|pad|>"],
    )
    for row in sweep.rows:
        tokenizer = sweep.tokenizers[row.vocab_size]
        special = list(tokenizer.special_tokens.values())
        for fit, text in zip(row.fits, (TEXT, OTHER), strict=True):
            ids = tokenizer.encode_to_numpy(text)
            ordinary = ids[~np.isin(ids, special)]
            assert fit.n_tokens == len(ordinary)
            assert fit.n_bytes == len(tokenizer.decode_bytes(ordinary))
            assert fit.bytes_per_token == fit.n_bytes / fit.n_tokens
    assert [fit.text for fit in sweep.rows[0].fits] == ["training words", "other.txt"]


@settings(max_examples=40, deadline=None)
@given(
    words=st.dictionaries(st.text("ab ", min_size=1, max_size=12), st.integers(1, 5), min_size=1, max_size=8),
    sizes=st.lists(st.integers(256, 290), min_size=1, max_size=4, unique=True),
    ties=st.sampled_from(sorted(TIE_MODES)),
)
def test_any_sizes_of_any_words(words: dict[str, int], sizes: list[int], ties: str) -> None:
    counts = bpenb.WordCounts.from_dict(words)
    sweep = bpenb.train_sweep(counts, sizes, ties=ties)
    reached = set()
    for size in sizes:
        alone = bpenb.train_from_counts(counts, vocab_size=size, ties=ties)
        same = sweep.tokenizers[alone.n_vocab]
        assert (same.vocab, same.merges) == (alone.vocab, alone.merges)
        assert (size in sweep.not_reached) == (alone.n_vocab < size)
        reached.add(alone.n_vocab)
        (row,) = (row for row in sweep.rows if row.vocab_size == alone.n_vocab)
        assert alone.report is not None and row.fits[0].n_tokens == alone.report["sizes"]["tokens"]
    assert set(sweep.tokenizers) == reached and len(sweep.rows) == len(reached)


def test_the_tables(texts: Path) -> None:
    Path("empty, really.txt").touch()
    sweep = bpenb.train_sweep("corpus.txt", SIZES, eval_files=["other.txt", "empty, really.txt"])
    sweep.save("sweep")
    with Path("sweep", "sweep.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(int(line["vocab_size"]), line["text"]) for line in lines] == [
        (size, text)
        for size in sorted(SIZES)
        for text in ("training words", "other.txt", "empty, really.txt")
    ]
    assert lines[2]["bytes_per_token"] == ""
    document = json.loads(Path("sweep", "sweep.json").read_text("utf-8"))
    assert document["not_reached"] == []
    for row, told in zip(sweep.rows, document["sizes"], strict=True):
        assert told["vocab_size"] == row.vocab_size and told["merges"] == row.n_merges
        assert [text["tokens"] for text in told["texts"]] == [fit.n_tokens for fit in row.fits]
        assert told["texts"][2]["bytes_per_token"] is None


def test_pairs_run_out(texts: Path) -> None:
    counts = bpenb.WordCounts.from_dict({"low": 5, "lower": 2})
    sweep = bpenb.train_sweep(counts, [258, 500, 300])
    assert [row.vocab_size for row in sweep.rows] == [258, 260]
    assert sweep.not_reached == (300, 500)
    sweep.save("sweep")
    assert sorted(p.name for p in Path("sweep").iterdir()) == ["258", "260", "sweep.csv", "sweep.json"]
    assert bpenb.Tokenizer.load("sweep/260").merges == bpenb.train_from_counts(counts, vocab_size=500).merges


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ([], TrainingError, "empty"),
        ([300, 300], TrainingError, "300 twice"),
        ([300, 256], TrainingError, "vocab_size is 256"),
        ([300, -1], TrainingError, "vocab_size is -1"),
        ([300, 300.5], TypeError, "vocab_size must be an int, not float"),
        ([300, True], TypeError, "vocab_size must be an int, not bool"),
        ("300", TypeError, "vocab_sizes must be a sequence of int, not str"),
        (300, TypeError, "vocab_sizes must be a sequence of int, not int"),
    ],
)
def test_sizes_that_cannot_be(texts: Path, sizes: Any, error: type[Exception], message: str) -> None:
    seen: list[Progress] = []
    with pytest.raises(error, match=message):
        bpenb.train_sweep("corpus.txt", sizes, progress=seen.append)
    assert not seen  # before any work


def test_texts_that_cannot_be(texts: Path) -> None:
    Path("latin1.txt").write_bytes(b"caf\xe9 au lait")
    seen: list[Progress] = []
    with pytest.raises(CorpusError, match=r"missing\.txt"):
        bpenb.train_sweep("corpus.txt", SIZES, eval_files="missing.txt", progress=seen.append)
    with pytest.raises(CorpusError, match=r"missing\.txt"):
        bpenb.train_sweep("missing.txt", SIZES, eval_files="other.txt", progress=seen.append)
    assert not seen
    with pytest.raises(CorpusError, match=r"latin1\.txt: byte 3"):
        bpenb.train_sweep("corpus.txt", SIZES, eval_files="latin1.txt", progress=seen.append)
    assert {p.phase for p in seen} == {"count"}
    replaced = bpenb.train_sweep("corpus.txt", SIZES, eval_files="latin1.txt", errors="replace")
    assert replaced.rows[0].fits[1].n_bytes == len("caf\ufffd au lait".encode())


def test_counts_made_otherwise(texts: Path) -> None:
    counts = bpenb.count_words("corpus.txt", pattern="cl100k")
    with pytest.raises(CountsError, match="pattern"):
        bpenb.train_sweep(counts, SIZES, pattern="gpt2")
    with pytest.raises(CountsError, match="special tokens"):
        bpenb.train_sweep(counts, SIZES, special_tokens=["<s>"])
    same = bpenb.train_sweep(counts, SIZES, pattern="cl100k", special_tokens=["<|endoftext|>"])
    by_file = bpenb.train_sweep("corpus.txt", SIZES, pattern="cl100k")
    assert same.rows == by_file.rows


def test_a_sweep_is_verified(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpenb.sweep

    sweep = bpenb.train_sweep("corpus.txt", SIZES, verify=True)
    assert all(
        t.report is not None and t.report["verification"]["n_merges"] == 83 for t in sweep.tokenizers.values()
    )
    learn = bpenb.sweep.learn
    monkeypatch.setattr(
        bpenb.sweep, "learn", lambda *a: (r := learn(*a))._replace(merge_counts=r.merge_counts + 1)
    )
    with pytest.raises(VerificationError):
        bpenb.train_sweep("corpus.txt", SIZES, verify=True)


# --- the folder -------------------------------------------------------------------------------------


@pytest.fixture
def sweep() -> bpenb.Sweep:
    return bpenb.train_sweep(bpenb.WordCounts.from_dict({"low": 5, "lower": 2}), [257, 259])


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))
    }


def test_an_old_sweep_is_replaced_only_by_force_and_as_a_whole(sweep: bpenb.Sweep, tmp_path: Path) -> None:
    target = tmp_path / "out" / "sweep"
    sweep.save(target)
    before = snapshot(tmp_path)
    later = bpenb.train_sweep(bpenb.WordCounts.from_dict({"abc": 1}), [258])
    with pytest.raises(OutputError, match="holds a tokenizer or a sweep already"):
        later.save(target)
    assert snapshot(tmp_path) == before
    later.save(target, force=True)
    assert sorted(p.name for p in target.iterdir()) == ["258", "sweep.csv", "sweep.json"]
    assert [p.name for p in target.parent.iterdir()] == ["sweep"]  # nothing is left beside it


def test_a_tokenizer_is_replaced_by_force(sweep: bpenb.Sweep, tmp_path: Path) -> None:
    sweep.tokenizers[259].save(tmp_path / "tokenizer")
    with pytest.raises(OutputError, match="--force"):
        sweep.save(tmp_path / "tokenizer")
    sweep.save(tmp_path / "tokenizer", force=True)
    assert sorted(p.name for p in (tmp_path / "tokenizer").iterdir()) == [
        "257", "259", "sweep.csv", "sweep.json"
    ]  # fmt: skip


@pytest.mark.parametrize("place", [".", "257", "no-sweep"])
@pytest.mark.parametrize("force", [False, True])
def test_other_files_are_never_touched(sweep: bpenb.Sweep, tmp_path: Path, place: str, force: bool) -> None:
    target = tmp_path / "sweep"
    if place != "no-sweep":
        sweep.save(target)
    (target / place).mkdir(parents=True, exist_ok=True)
    (target / place / "thesis.txt").write_text("precious")
    before = snapshot(tmp_path)
    with pytest.raises(OutputError, match="holds other files"):
        sweep.save(target, force=force)
    assert snapshot(tmp_path) == before


def test_a_file_and_the_current_folder_are_no_place(
    sweep: bpenb.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(OutputError, match="is a file"):
        sweep.save(tmp_path / "file", force=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (".", ".."):
        with pytest.raises(OutputError, match="current folder"):
            sweep.save(place, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "here"]


@pytest.mark.parametrize("at", ["write", "rename"])
def test_what_fails_half_way_leaves_the_old_sweep(
    sweep: bpenb.Sweep, tmp_path: Path, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "sweep"
    sweep.save(target)
    before = snapshot(tmp_path)
    if at == "write":
        monkeypatch.setattr(type(sweep), "to_csv", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sweep.save(target, force=True)
    else:
        rename = Path.rename

        def broken(self: Path, other: Path) -> Path:
            if self.name.endswith(".part"):
                raise PermissionError(13, "Permission denied", str(self))
            return rename(self, other)

        monkeypatch.setattr(Path, "rename", broken)
        with pytest.raises(OutputError, match="cannot be written"):
            sweep.save(target, force=True)
    assert snapshot(tmp_path) == before


def test_what_a_crash_left_beside_it_is_cleared(sweep: bpenb.Sweep, tmp_path: Path) -> None:
    """The run before ended between its two renames: the old sweep waits under another name."""
    sweep.save(tmp_path / ".sweep.old")
    sweep.save(tmp_path / "sweep")
    assert [p.name for p in tmp_path.iterdir()] == ["sweep"]
