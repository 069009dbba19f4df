"""count, merge-counts and train --from-counts: as commands, in this process where nothing else is tested."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bpenb
import pytest
from tests.cli.running import TEXT, Result

from bpenb_cli._mixture import read_weight, weighted_files
from bpenb_cli.main import run

Cli = Callable[..., Result]
QUIET = ("--progress", "none")
Quiet = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_bytes(TEXT.encode() * 3)
    (tmp_path / "more.txt").write_bytes(b"zebra zebras<|endoftext|>zebra " * 50)
    return tmp_path


@pytest.fixture
def quietly(folder: Path, capsys: pytest.CaptureFixture[str]) -> Quiet:
    """Run a command line that must end with this code; return what it says on stderr."""

    def call(*arguments: str, code: int = 0) -> str:
        assert run([*arguments, *QUIET]) == code, capsys.readouterr().err
        said = capsys.readouterr()
        assert said.out == ""
        return said.err

    return call


def load(name: str) -> bpenb.WordCounts:
    return bpenb.WordCounts.load(name)


def test_from_text_to_tokenizer_by_shards(quietly: Quiet) -> None:
    inputs = ("corpus.txt", "more.txt")
    for i in (1, 2, 3):
        quietly("count", *inputs, "--shard", f"{i}/3", "-o", f"{i}.npz")
    quietly("merge-counts", "2.npz", "3.npz", "1.npz", "-o", "all.npz")
    quietly("count", *inputs, "-o", "whole.npz")
    whole = bpenb.count_words(list(inputs))
    assert load("all.npz").equals(whole) and load("whole.npz").equals(whole)
    quietly("train", "--from-counts", "all.npz", "--vocab-size", "400", "-o", "from-counts")
    quietly("train", *inputs, "--vocab-size", "400", "-o", "from-text")
    models = [bpenb.Tokenizer.load(name) for name in ("from-counts", "from-text")]
    assert models[0].merges == models[1].merges and models[0].vocab == models[1].vocab


def test_options_of_count_reach_the_counting(quietly: Quiet) -> None:
    options = "--pattern cl100k --special-token <|endoftext|> --special-token \n\n --engine regex --workers 2"
    options += (
        " --pool processes --chunk-size 3000 --max-memory 2GB --errors replace --max-bytes-per-source 5kB"
    )
    options += " --sample 0.5 --seed 3 --shard 1/1"
    Path("latin1.txt").write_bytes(b"caf\xe9<|endoftext|>" * 30)
    quietly("count", "corpus.txt=3", "latin1.txt", *options.split(" "), "-o", "counts.npz")
    counts = load("counts.npz")
    expected = bpenb.count_words(
        {"corpus.txt": 3, "latin1.txt": 1},
        pattern="cl100k",
        special_tokens=["<|endoftext|>", "\n\n"],
        engine="regex",
        errors="replace",
        max_bytes_per_source=5_000,
        sample=0.5,
        seed=3,
    )
    assert counts.equals(expected) and b"caf\xef\xbf\xbd" not in counts.to_dict()
    assert b"caf" in counts.to_dict() and counts.engine == "regex"
    quietly("count", "corpus.txt", "--no-special-tokens", "-o", "none.npz")
    assert load("none.npz").special_tokens == ()


def test_options_of_mixtures_reach_the_training(quietly: Quiet) -> None:
    options = "--max-bytes-per-source 5kB --sample 0.7 --seed 3 --min-word-count 5 --vocab-size 300"
    quietly("train", "corpus.txt=3", "more.txt", *options.split())
    expected = bpenb.train(
        {"corpus.txt": 3, "more.txt": 1},
        vocab_size=300,
        max_bytes_per_source="5kB",
        sample=0.7,
        seed=3,
        min_word_count=5,
    )
    assert bpenb.Tokenizer.load("tokenizer").merges == expected.merges
    report = json.loads(Path("tokenizer/report.json").read_text("utf-8"))
    assert expected.report is not None
    assert report["mixture"] == expected.report["mixture"]
    assert [group["weight"] for group in report["mixture"]["weights"]] == [3, 1]
    assert report["dropped_words"]["min_word_count"] == 5
    assert report["dropped_words"] == expected.report["dropped_words"]


# --- what is there already ------------------------------------------------------------------------


def test_a_complete_shard_is_left_as_it_is(quietly: Quiet, capsys: pytest.CaptureFixture[str]) -> None:
    shard = ("count", "corpus.txt", "--shard", "2/2", "-o", "2.npz")
    quietly(*shard)
    made, content = Path("2.npz").stat().st_mtime_ns, Path("2.npz").read_bytes()
    assert run([*shard]) == 0
    assert "holds shard 2/2" in capsys.readouterr().err
    assert Path("2.npz").stat().st_mtime_ns == made
    quietly(*shard, "--force")
    assert Path("2.npz").stat().st_mtime_ns > made and Path("2.npz").read_bytes() == content
    for changes, hint in (
        (("--shard", "1/2"), "not shard 1/2"),
        (("--shard", "2/3"), "not shard 2/3"),
        (("--sample", "0.5"), "corpus"),
        (("--errors", "replace"), "corpus"),
        (("--pattern", "cl100k"), "pattern"),
        (("--engine", "regex"), "engine"),
        (("--special-token", "<s>"), "special tokens"),
    ):
        said = quietly(*shard, *changes, code=1)
        assert hint in said and "2.npz" in said and "--force" in said
    assert "whole corpus" in quietly("count", "corpus.txt", "-o", "2.npz", code=1)
    Path("corpus.txt").write_bytes(TEXT.encode() * 4)
    assert "not replaced" in quietly(*shard, code=1)
    assert Path("2.npz").read_bytes() == content
    quietly("count", "corpus.txt", "-o", "2.npz", "--force")
    assert load("2.npz").shards == ()


def test_a_damaged_shard_is_told_and_can_be_forced(quietly: Quiet) -> None:
    shard = ("count", "corpus.txt", "--shard", "1/2", "-o", "1.npz")
    quietly(*shard)
    content = Path("1.npz").read_bytes()
    at = content.index(b" tower")
    for damaged in (content[:-40], content[:at] + b"x" + content[at + 1 :], b""):
        Path("1.npz").write_bytes(damaged)
        assert "--force" in quietly(*shard, code=1)
        assert Path("1.npz").read_bytes() == damaged
        quietly(*shard, "--force")
        assert Path("1.npz").read_bytes() == content


@pytest.mark.parametrize("command", ["count corpus.txt", "merge-counts a.npz b.npz"])
def test_other_files_are_kept_unless_forced(quietly: Quiet, folder: Path, command: str) -> None:
    bpenb.WordCounts.from_dict({"a": 1}).save("a.npz")
    bpenb.WordCounts.from_dict({"b": 1}).save("b.npz")
    Path("thesis.txt").write_text("precious")
    Path("folder").mkdir()
    before = sorted(folder.iterdir())
    assert "no word counts" in quietly(*command.split(), "-o", "thesis.txt", code=1)
    assert Path("thesis.txt").read_text() == "precious"
    assert "is a folder" in quietly(*command.split(), "-o", "folder", "--force", code=1)
    assert "no folder" in quietly(*command.split(), "-o", "missing/counts.npz", code=1)
    assert sorted(folder.iterdir()) == before
    quietly(*command.split(), "-o", "thesis.txt", "--force")
    assert len(load("thesis.txt"))
    quietly(*command.split(), "-o", "thesis.txt")  # it is one of ours now


def test_a_merge_loses_no_shard(quietly: Quiet) -> None:
    for i in (1, 2, 3):
        quietly("count", "corpus.txt", "--shard", f"{i}/3", "-o", f"{i}.npz")
    two = ("merge-counts", "1.npz", "2.npz", "--allow-missing")
    said = quietly(*two, "-o", "3.npz", code=1)
    assert "3.npz holds shard 3/3" in said and "not among the parts" in said
    assert "one of the parts" in quietly(*two, "-o", "2.npz", code=1)
    said = quietly(*two, "-o", "all.npz")
    assert said.startswith("bpenb: warning: all.npz is not complete: shards 3 of 3")
    quietly("merge-counts", "all.npz", "3.npz", "-o", "whole.npz")
    quietly("merge-counts", "1.npz", "2.npz", "3.npz", "-o", "all.npz")
    assert load("all.npz").equals(load("whole.npz"))
    said = quietly("train", "--from-counts", "1.npz", "--vocab-size", "300")
    assert said.startswith("bpenb: warning: 1.npz is not complete: shards 2, 3 of 3")


# --- merging --------------------------------------------------------------------------------------


def test_weights_and_rare_words(quietly: Quiet, capsys: pytest.CaptureFixture[str]) -> None:
    bpenb.WordCounts.from_dict({"a": 2, "rare": 1}).save("a.npz")
    bpenb.WordCounts.from_dict({"a": 1, "b": 9}).save("b=3.npz")
    assert run(["merge-counts", "a.npz=5", "b=3.npz", "-o", "all.npz", "--min-word-count", "6"]) == 0
    assert load("all.npz").to_dict() == {b"a": 11, b"b": 9}
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "1 words of a count below 6 were left out, 50 % of the text (20 bytes)" in said
    quietly("merge-counts", "a.npz", "b=3.npz=2", "-o", "other.npz")
    assert load("other.npz").to_dict() == {b"a": 4, b"b": 18, b"rare": 1}


def test_json_tells_all_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        "count corpus.txt=2 -o counts.npz",
        "merge-counts counts.npz -o all.npz --min-word-count 999",
    ):
        assert run([*command.split(), "--progress", "json"]) == 0
        last = json.loads(capsys.readouterr().err.splitlines()[-1])
        assert last["event"] == "summary"
        counts = load(last["output"])
        assert (last["words"], last["pretokens"]) == (len(counts), counts.n_pretokens)
        if command.startswith("count"):
            assert last["text_bytes"] == len(TEXT.encode()) * 3 and last["seconds"]["count"] > 0
            assert last["mixture"]["weights"][0]["weight"] == 2
        else:
            assert last["dropped_words"]["n_words"] > 0


def test_the_table_of_a_count(cli: Cli, folder: Path) -> None:
    result = cli("count", "corpus.txt", "--shard", "1/2", "-o", "1.npz")
    assert (result.code, result.out) == (0, b"")
    for text in ("1.npz", "shard 1/2", "pretokens", "kB", "peak memory"):
        assert text in result.err


# --- the command line -----------------------------------------------------------------------------


def test_weights_of_paths(folder: Path) -> None:
    (folder / "x=2").touch()
    assert read_weight("corpus.txt=3") == (Path("corpus.txt"), 3)
    assert read_weight("x=2") == (Path("x=2"), 1)
    assert read_weight("x=2=4") == (Path("x=2"), 4)
    assert read_weight("a=b.txt") == (Path("a=b.txt"), 1)
    assert weighted_files(["a", "a"]) == [Path("a"), Path("a")]
    assert weighted_files(["a", "b=2", "a=4"]) == {Path("a"): 5, Path("b"): 2}


@pytest.mark.parametrize(
    ("command", "code", "hint"),
    [
        ("count", 2, "INPUT"),
        ("count missing.txt", 1, "missing.txt"),
        ("count corpus.txt=0", 2, "the weight is 0"),
        ("count corpus.txt=-1", 2, "positive integer"),
        ("count corpus.txt=1.5", 2, "positive integer"),
        ("count corpus.txt --shard 3/2", 1, "1 ≤ i ≤ n"),
        ("count corpus.txt --shard 2", 1, "i/n"),
        ("count corpus.txt --sample 1.5", 1, "sample is 1.5"),
        ("count corpus.txt --seed -1", 1, "seed is -1"),
        ("count corpus.txt --max-bytes-per-source many", 1, "max_bytes_per_source is 'many'"),
        ("count corpus.txt --max-bytes-per-source 1", 1, "no place to cut"),
        ("count corpus.txt --special-token <s> --no-special-tokens", 2, "exclude"),
        ("merge-counts", 2, "COUNTS"),
        ("merge-counts a.npz", 2, "--output"),
        ("merge-counts a.npz missing.npz -o all.npz", 1, "missing.npz: there is no such file"),
        ("merge-counts a.npz=0 -o all.npz", 2, "the weight is 0"),
        ("merge-counts a.npz a.npz -o all.npz", 1, "given twice"),
        ("merge-counts a.npz other.npz -o all.npz", 1, "pattern"),
        ("merge-counts corpus.txt -o all.npz", 1, "no word counts"),
        ("merge-counts a.npz -o all.npz --min-word-count 0", 1, "min_word_count is 0"),
        ("merge-counts a.npz=9999999999999999999 -o all.npz", 1, "weight"),
        ("train", 2, "INPUT"),
        ("train corpus.txt --from-counts a.npz", 2, "exclude"),
        ("train --from-counts missing.npz", 1, "missing.npz"),
        ("train --from-counts a.npz --pattern cl100k", 1, "pattern"),
        ("train --from-counts a.npz --special-token <s>", 1, "special tokens"),
        ("train --from-counts a.npz --no-special-tokens", 1, "special tokens"),
        ("train --from-counts a.npz --sample 0.5", 2, "--sample is for reading"),
        ("train --from-counts a.npz --max-memory 1GB", 2, "--max-memory is for reading"),
        ("train --from-counts a.npz --min-word-count 0", 1, "min_word_count is 0"),
        ("train corpus.txt --min-word-count -3", 1, "min_word_count is -3"),
    ],
)
def test_errors(quietly: Quiet, folder: Path, command: str, code: int, hint: str) -> None:
    bpenb.WordCounts.from_dict({"a": 1}, special_tokens=["<|endoftext|>"]).save("a.npz")
    bpenb.WordCounts.from_dict({"a": 1}, pattern="o200k").save("other.npz")
    before = sorted(folder.iterdir())
    said = quietly(*command.split(), code=code)
    assert said.startswith("bpenb: ") and said.count("\n") == 1
    assert hint in said
    assert sorted(folder.iterdir()) == before


def test_the_same_pattern_and_special_tokens_may_be_given(quietly: Quiet) -> None:
    quietly("count", "corpus.txt", "-o", "counts.npz")
    given = ("--pattern", "gpt2", "--special-token", "<|endoftext|>", "--vocab-size", "300")
    quietly("train", "--from-counts", "counts.npz", *given)
