"""`bpenb train` with several sizes, with `--verify`, and what it says at its end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bpenb
import pytest
import typer
from tests.cli.running import TEXT, Result

from bpenb_cli._summary_rows import spell_tokens
from bpenb_cli._vocab_sizes import parse_vocab_sizes
from bpenb_cli.main import run

Cli = Callable[..., Result]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8k,16k,32k,64k", [8000, 16000, 32000, 64000]),
        ("8000", [8000]),
        ("1m", [1_000_000]),
        (" 1K, 300 ", [1000, 300]),
    ],
)
def test_sizes_are_read(text: str, sizes: list[int]) -> None:
    assert parse_vocab_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "8k,", ",", "8k;16k", "8kk", "k", "1.5k", "8 k", "0x10", "8k 16k", "٣"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="integer such as 32000, 32k or 1m"):
        parse_vocab_sizes(text)


def test_a_sweep_from_the_shell(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("lower tower 12345")
    arguments = ("train", "corpus.txt", "--vocab-size", "270,300", "--eval", "other.txt", "--eval", corpus)
    result = cli(*arguments, "-o", "sweep", "--verify")
    assert (result.code, result.out) == (0, b"")
    assert "bytes per token" in result.err and "verified in" in result.err
    assert all(column in result.err for column in ("training words", "other.txt", "270", "300"))
    for size in (270, 300):
        loaded = bpenb.Tokenizer.load(tmp_path / "sweep" / str(size))
        assert loaded.merges == bpenb.train(corpus, vocab_size=size).merges
    rows = json.loads((tmp_path / "sweep" / "sweep.json").read_text("utf-8"))["sizes"]
    assert [text["text"] for text in rows[0]["texts"]] == ["training words", "other.txt", str(corpus)]
    assert rows[1]["texts"][1]["tokens"] == len(loaded.encode("lower tower 12345"))
    again = cli(*arguments, "-o", "sweep", "--progress", "none")
    assert again.code == 1 and "--force" in again.error_line
    forced = cli(*arguments, "-o", "sweep", "--progress", "json", "--force", "--verify")
    assert forced.code == 0
    events = [json.loads(line) for line in forced.err.splitlines()]
    assert [row["vocab_size"] for row in events[-1]["sizes"]] == [270, 300]
    assert events[-1]["event"] == "summary" and events[-1]["verification"]["n_merges"] == 43
    assert events[-2]["event"] == "note" and "verified in" in events[-2]["text"]


def test_one_size_with_a_unit(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["train", "corpus.txt", "--vocab-size", "1k", "--progress", "none"]) == 0
    report = json.loads((tmp_path / "tokenizer" / "report.json").read_text("utf-8"))
    assert report["settings"]["vocab_size"] == 1000


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["--vocab-size", "8k,8000"], 2, "8000 twice"),
        (["--vocab-size", "8k,"], 2, "integer"),
        (["--vocab-size", "300", "--eval", "corpus.txt"], 2, "several sizes"),
        (["--vocab-size", "99999m"], 1, "16777216 tokens at most"),
        (["--vocab-size", "300,256"], 1, "vocab_size is 256"),
        (["--vocab-size", "300,400", "--eval", "missing.txt"], 1, "missing.txt"),
        (["--vocab-size", "300,400", "-o", "corpus.txt"], 1, "is a file"),
        (["--vocab-size", "300,400", "-o", ".", "--force"], 1, "current folder"),
    ],
)
def test_what_is_refused_before_any_work(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["train", "corpus.txt", *arguments, "--progress", "none"]) == code
    said = capsys.readouterr()
    assert hint in said.err and said.out == "" and len(said.err.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.txt"]


def test_sizes_that_are_not_reached_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("low low lower")
    assert run(["train", "corpus.txt", "--vocab-size", "258,1k,2k", "-o", "sweep", "--progress", "none"]) == 0
    said = capsys.readouterr().err
    assert "no pair was left" in said and "1,000, 2,000" in said
    n_vocab = bpenb.train("corpus.txt", vocab_size=1000).n_vocab
    assert sorted(p.name for p in Path("sweep").iterdir()) == ["258", str(n_vocab), "sweep.csv", "sweep.json"]


@pytest.mark.parametrize("sizes", ["300", "270,300"])
def test_a_wrong_training_is_not_saved(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sizes: str,
) -> None:
    import bpenb.going_on
    import bpenb.sweep

    monkeypatch.chdir(tmp_path)
    learn = bpenb.going_on.learn
    for module in (bpenb.going_on, bpenb.sweep):
        monkeypatch.setattr(
            module, "learn", lambda *a: (r := learn(*a))._replace(merges=r.merges[:, ::-1].copy())
        )
    assert run(["train", "corpus.txt", "--vocab-size", sizes, "--verify", "--progress", "none"]) == 1
    assert "the merge of rank 0" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.txt"]


def test_the_end_of_a_training_tells_its_figures(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    result = cli("train", corpus, "--vocab-size", "300", "--verify")
    report = json.loads((tmp_path / "tokenizer" / "report.json").read_text("utf-8"))
    sizes = report["sizes"]
    assert result.code == 0
    for figure in (
        f"{sizes['pretokens']:,} pretokens",
        f"{sizes['distinct_words']:,} distinct words",
        f"occurs {sizes['last_merge_count']:,} times",
        f"{sizes['bytes_per_token']:.3f} bytes per token",
        f"{report['merges_per_second']:,.0f} merges per second",
        "peak memory",
        "verified in",
        "no better pair at the first 43 (all words)",
    ):
        assert figure in result.err
    assert len(report["longest_tokens"]) == 10
    assert all(line in result.err for line in spell_tokens(report["longest_tokens"]).splitlines())
    assert sizes["bytes_per_token"] == sizes["word_bytes"] / sizes["tokens"]
    assert sizes["word_bytes"] == len(TEXT.replace("<|endoftext|>", "").encode())
