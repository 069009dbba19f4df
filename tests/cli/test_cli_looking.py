"""`bpenb inspect`, `compare` and `tokens`: the figures of the Python API, printed; hostile text is shown."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import bpenb
import pytest
from tests.cli.running import TEXT, Result

from bpenb_cli._on_files import spread_on
from bpenb_cli._plain_tables import spelled_name

Cli = Callable[..., Result]
QUIET = ("--progress", "none")
HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold red]x[/] :smile: \x9b2J \u202eabc \x00\x7f\\n é中😀\n=1+1"
)
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other"
    bpenb.train_from_iterator([TEXT], vocab_size=300, pattern="cl100k").save(path)
    return path


def rows_of(result: Result) -> list[dict[str, str]]:
    assert (result.code, result.err) == (0, "")
    return list(csv.DictReader(io.StringIO(result.out.decode(), newline="")))


# --- inspect --------------------------------------------------------------------------------------


def test_inspect_without_texts(cli: Cli, trained: Path) -> None:
    found = bpenb.inspect_tokenizer(bpenb.Tokenizer.load(trained))
    result = cli("inspect", trained)
    assert (result.code, result.err) == (0, "")
    out = result.out.decode()
    assert "gpt2" in out and "cs336" in out and "'<|endoftext|>' 256" in out and "16.0.0" in out
    assert re.search(rf"whole words +│ {found.kinds['whole_words']} \(", out)
    assert "Texts" not in out
    assert json.loads(cli("inspect", trained, "--json").out) == found.to_json()
    rows = rows_of(cli("inspect", trained, "--csv"))
    assert len(rows) == len(found.tokens) and {row["count"] for row in rows} == {""}
    assert [bytes.fromhex(row["bytes"]) for row in rows] == list(bpenb.Tokenizer.load(trained).vocab.values())


def test_inspect_on_texts(cli: Cli, corpus: Path, tmp_path: Path, trained: Path) -> None:
    (tmp_path / "more.jsonl").write_text('{"body": "low unheard-of"}\n')
    tokenizer = bpenb.Tokenizer.load(trained)
    on = ("inspect", trained, "--on", "corpus.txt", "more.jsonl", "--field", "body")
    data = json.loads(cli(*on, "--json", "--top", "2", *QUIET).out)
    ids = tokenizer.encode(TEXT) + tokenizer.encode("low unheard-of")
    assert data["texts"]["tokens"] == len(ids)
    assert data["texts"]["files"] == ["corpus.txt", "more.jsonl"]
    assert len(data["texts"]["costly_pretokens"]) == len(data["longest"]) == 2
    rows = rows_of(cli(*on, "--csv", *QUIET))
    assert [int(row["count"]) for row in rows] == [ids.count(int(row["id"])) for row in rows]
    result = cli(*on)
    assert result.code == 0
    out = result.out.decode()
    assert f"│ {len(ids):,} " in out and "Most frequent tokens" in out and "Pretokens that cost" in out
    assert "encode:" in result.err and "count:" in result.err


def test_inspect_reads_standard_input(cli: Cli, trained: Path) -> None:
    result = cli("inspect", trained, "--on", "-", "--json", *QUIET, stdin=TEXT.encode())
    assert (result.code, result.err) == (0, "")
    data = json.loads(result.out)["texts"]
    assert data["files"] == ["standard input"] and data["bytes"] == len(TEXT.encode())


def test_special_tokens_as_text(cli: Cli, corpus: Path, trained: Path) -> None:
    result = cli("inspect", trained, "--on", corpus, "--special", "none", "--json", *QUIET)
    assert json.loads(result.out)["texts"]["token_counts"][256] == 0


def test_tables_do_not_obey_a_hostile_text(cli: Cli, tmp_path: Path) -> None:
    name = "a[red]\x1b[31m.txt" if os.name == "posix" else "a.txt"
    (tmp_path / name).write_text(HOSTILE * 3, encoding="utf-8", newline="")
    bpenb.train_from_iterator([HOSTILE * 3], vocab_size=280).save(tmp_path / "hostile")
    bpenb.train_from_iterator(
        ["x"], vocab_size=257, special_tokens=["\x1b[0m[bold]"], pattern="[^x]|x|\x1b\\d"
    ).save(tmp_path / "b")
    for line in (("inspect", "hostile"), ("compare", "hostile", "b"), ("inspect", "b")):
        result = cli(*line, "--on", name, *QUIET, COLUMNS="300")
        assert (result.code, result.err) == (0, "")
        assert not CONTROLS.search(result.out.decode())
        if os.name == "posix":
            assert r"a[red]\x1b[31m.txt" in result.out.decode() or line[0] == "compare"
    out = cli("inspect", "b").out.decode()
    assert r"'\x1b[0m[bold]'" in out and r"[^x]|x|\x1b\d" in out


def test_names_of_files() -> None:
    assert spelled_name("a b/é.txt") == "a b/é.txt"
    assert spelled_name("C:\\texts\\a.txt") == "C:\\texts\\a.txt"
    assert spelled_name("a\nb") == r"a\nb"


# --- compare --------------------------------------------------------------------------------------


def test_compare(cli: Cli, corpus: Path, tmp_path: Path, trained: Path, other: Path) -> None:
    (tmp_path / "more.txt").write_text("low lower")
    line = ("compare", trained, other / "tokenizer.json", "--on", "corpus.txt", "more.txt")
    named = {str(path): bpenb.Tokenizer.load(path) for path in (trained, other / "tokenizer.json")}
    found = bpenb.compare_tokenizers(named, [corpus, tmp_path / "more.txt"])
    data = json.loads(cli(*line, "--json", *QUIET).out)
    assert [one["tokens"] for one in data["tokenizers"]] == [one.total.tokens for one in found.tokenizers]
    assert data["differing_words"] == found.to_json()["differing_words"] != []
    assert data["shared_tokens"] == found.shared.tolist()
    rows = rows_of(cli(*line, "--csv", *QUIET))
    assert [row["file"] for row in rows] == ["corpus.txt", "more.txt", "total"] * 2
    assert [int(row["tokens"]) for row in rows[:2]] == [f.tokens for f in found.tokenizers[0].files]
    result = cli(*line, COLUMNS="200")
    assert result.code == 0
    out = result.out.decode()
    assert "MB/s" in out and "Bytes per token, by file" in out and "Where they differ most" in out
    assert f"{found.n_shared:,}" in out and "(cl100k)" in out


def test_a_pattern_for_tiktoken_files(
    cli: Cli, corpus: Path, tmp_path: Path, trained: Path, other: Path
) -> None:
    """It is for those alone: the folder has a pattern of its own."""
    alone = tmp_path / "alone"
    alone.mkdir()
    (file,) = other.glob("*.tiktoken")
    (alone / file.name).write_bytes(file.read_bytes())
    line = ("compare", alone / file.name, trained, "--on", corpus, "--json", *QUIET)
    assert "pattern" in cli(*line).error_line
    data = json.loads(cli(*line, "--pattern", "cl100k").out)
    assert [one["pattern"] for one in data["tokenizers"]] == ["cl100k", "gpt2"]
    expected = bpenb.Tokenizer.load(alone / file.name, pattern="cl100k").encode(TEXT)
    assert data["tokenizers"][0]["tokens"] == len(expected)


NONSENSE = pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (("inspect", "missing"), 1, "no such file"),
        (("inspect", "T", "--json", "--csv"), 2, "exclude each other"),
        (("inspect", "T", "--on", "missing.txt"), 1, "missing.txt"),
        (("inspect", "T", "--on"), 2, "--on"),
        (("inspect", "T", "--top", "-1"), 2, "--top"),
        (("compare", "T", "U"), 2, "--on FILE"),
        (("compare", "T", "--on", "corpus.txt"), 2, "two or more"),
        (("compare", "T", "T", "--on", "corpus.txt"), 2, "each once"),
        (("compare", "T", "missing", "--on", "corpus.txt"), 1, "missing"),
        (("compare", "T", "U", "--on", "bad.txt"), 1, "bad.txt: byte 1"),
        (("tokens", "a", "-t", "missing"), 1, "missing"),
    ],
)


@NONSENSE
def test_what_makes_no_sense(
    cli: Cli, corpus: Path, trained: Path, other: Path, line: tuple[str, ...], code: int, message: str
) -> None:
    corpus.with_name("bad.txt").write_bytes(b"a\xff")
    result = cli(*({"T": str(trained), "U": str(other)}.get(word, word) for word in line))
    assert (result.code, result.out) == (code, b"")
    assert message in result.error_line


@pytest.mark.parametrize(
    ("line", "spread"),
    [
        ("T --on a b --json c", "T --on a --on b --json c"),
        ("--on - b -- c d", "--on - --on b -- c d"),
        ("--on a --on b c", "--on a --on b --on c"),
        ("--on=a b", "--on=a b"),
        ("T U --on", "T U --on"),
        ("T -t x --on", "T -t x --on"),
    ],
)
def test_files_behind_on(line: str, spread: str) -> None:
    assert spread_on(line.split()) == spread.split()


# --- tokens ---------------------------------------------------------------------------------------


def lines_of(tokenizer: bpenb.Tokenizer, text: str) -> list[tuple[int, bytes]]:
    return [(i, tokenizer.token_bytes(i)) for i in tokenizer.encode(text)]


@pytest.mark.parametrize("text", ["The low tower", "", "<|endoftext|>x", HOSTILE, TEXT[:300]])
def test_tokens_line_by_line(cli: Cli, trained: Path, text: str) -> None:
    result = cli("tokens", "-", "-t", trained, stdin=text.encode())
    assert (result.code, result.err) == (0, "")
    out = result.out.decode()
    assert not CONTROLS.search(out)
    rows = [line.split("\t") for line in out.split("\n")[:-1]]
    tokenizer = bpenb.Tokenizer.load(trained)
    assert [(int(i), bytes.fromhex(token)) for i, token, _ in rows] == lines_of(tokenizer, text)


def test_tokens_of_an_argument(cli: Cli, trained: Path) -> None:
    assert (
        cli("tokens", "lower 下", BPENB_TOKENIZER=str(trained)).out.decode().splitlines()[-1].endswith("下")
    )
    result = cli("tokens", "<|endoftext|>", "-t", trained, "--special", "none")
    assert len(result.out.splitlines()) > 1
    assert cli("tokens", "<|endoftext|>", "-t", trained).out.startswith(b"256\t")
    assert "byte 2 is not valid UTF-8" in cli("tokens", "-", "-t", trained, stdin=b"ab\xff").error_line


def test_tokens_in_colours(cli: Cli, trained: Path) -> None:
    """What is seen is the text, then the ids; what is sent beside it are colours alone."""
    tokenizer = bpenb.Tokenizer.load(trained)
    text = HOSTILE + "<|endoftext|>" + "long line " * 40
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "40"}
    result = cli("tokens", "-", "-t", trained, stdin=text.encode(), **colours)
    assert (result.code, result.err) == (0, "")
    out = result.out.decode()
    coloured = re.findall(r"\x1b\[([0-9;]+)m([^\x1b]*)\x1b\[0m", out)
    n_ids = len(tokenizer.encode(text))
    assert len(coloured) == 2 * n_ids + 1
    shown, numbers = coloured[:n_ids], coloured[n_ids:-1]
    assert [int(number) for _, number in numbers] == tokenizer.encode(text)
    assert [style for style, _ in shown] == [style for style, _ in numbers]
    assert len({style for style, _ in shown}) >= 5
    assert all(one != two for (one, _), (two, _) in pairwise(shown))
    plain = cli("tokens", "-", "-t", trained, stdin=text.encode()).out.decode()
    assert [piece for _, piece in shown] == [line.split("\t")[2] for line in plain.split("\n")[:-1]]
    seen = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert not CONTROLS.search(seen)
    assert f"{n_ids:,} tokens, {len(text.encode()):,} bytes" in seen


def test_no_color(cli: Cli, trained: Path) -> None:
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    assert b"\x1b" in cli("tokens", "low", "-t", trained, **colours).out
    assert (
        cli("tokens", "low", "-t", trained, **colours, NO_COLOR="1").out
        == cli("tokens", "low", "-t", trained).out
    )


def test_a_terminal_without_utf8(cli: Cli, trained: Path) -> None:
    result = cli("tokens", "é下", "-t", trained, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (result.code, result.err) == (0, "")
    rows = rows_of(cli("inspect", trained, "--csv", PYTHONIOENCODING="ascii"))
    assert "下" in "".join(row["text"] for row in rows)
