"""`bpenb train --base`: what it gains is said, what cannot be is told before the work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bpenb
import pytest
from tests.cli.running import TEXT, Result

Cli = Callable[..., Result]
NEW = "Straßenbahnhaltestelle an der Straßenbahnlinie\n" * 50


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.txt"
    path.write_text(NEW, encoding="utf-8")
    return path


def test_a_base_goes_on_and_says_what_it_gained(
    cli: Cli, corpus: Path, new: Path, trained: Path, tmp_path: Path
) -> None:
    size = bpenb.Tokenizer.load(trained).n_vocab + 20
    options = ("--vocab-size", str(size), "--base", trained, "--eval", corpus, "--eval", new)
    result = cli("train", new, *options, "-o", "continued")
    assert (result.code, result.out) == (0, b"")
    before, after = bpenb.Tokenizer.load(trained), bpenb.Tokenizer.load(tmp_path / "continued")
    assert before.vocab.items() <= after.vocab.items()
    assert after.merges[: len(before.merges)] == before.merges
    assert after.n_vocab == size
    for name, text in (("the new corpus", NEW), (str(corpus), TEXT), (str(new), NEW)):
        rates = [len(text.encode()) / len(tokenizer.encode(text)) for tokenizer in (before, after)]
        assert f"{name}: {rates[0]:.3f} bytes per token with the base, {rates[1]:.3f} now (" in result.err
    report = json.loads((tmp_path / "continued" / "report.json").read_text())
    assert report["base"]["bytes_per_token_before"] < report["base"]["bytes_per_token_after"]
    assert cli("decode", "-t", "continued", "none.npy").code == 1  # it loads


def test_special_tokens_that_are_added(cli: Cli, new: Path, trained: Path, tmp_path: Path) -> None:
    added = ("--special-token", "<pad>", "--special-token", "<|endoftext|>")
    options = ("--vocab-size", "410", "--base", trained, *added, "--progress", "none")
    assert cli("train", new, *options).code == 0
    specials = bpenb.Tokenizer.load(tmp_path / "tokenizer").special_tokens
    assert specials == {"<|endoftext|>": 256, "<pad>": bpenb.Tokenizer.load(trained).n_vocab}


def test_a_tiktoken_file_as_a_base(cli: Cli, new: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "alone.tiktoken").write_bytes((trained / "tokenizer.tiktoken").read_bytes())
    options = ("--vocab-size", "410", "--base", "alone.tiktoken", "--eval", new, "--progress", "none")
    assert "pattern" in cli("train", new, *options).error_line
    assert cli("train", new, *options, "--pattern", "gpt2").code == 0


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        (["--eval", "new.txt"], 2, "--base"),
        (["--no-special-tokens", "--base", "BASE"], 2, "exclude"),
        (["--base", "BASE", "--vocab-size", "8k,9k"], 2, "--vocab-size"),
        (["--base", "missing"], 1, "missing"),
        (["--base", "new.txt"], 1, "new.txt"),
        (["--base", "BASE", "--vocab-size", "300"], 1, "vocab_size is 300"),
        (["--base", "BASE", "--ties", "rustbpe"], 1, "ties"),
        (["--base", "BASE", "--pattern", "cl100k"], 1, "pattern"),
        (["--base", "BASE", "--special-token", "e"], 1, "special token 'e'"),
        (["--base", "BASE", "--eval", "missing.txt"], 1, "missing.txt"),
        (["--base", "BASE", "--eval", "latin1.txt"], 1, "byte 3"),
        (["--base", "BASE", "--resume"], 2, "--checkpoint"),
    ],
)
def test_what_cannot_be(
    cli: Cli, new: Path, trained: Path, tmp_path: Path, options: list[str], code: int, hint: str
) -> None:
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    before = sorted(tmp_path.iterdir())
    arguments = [str(trained) if option == "BASE" else option for option in options]
    result = cli("train", new, *arguments, "--progress", "none")
    assert result.code == code
    assert hint in result.error_line
    assert sorted(tmp_path.iterdir()) == before
