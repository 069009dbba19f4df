"""`bpenb convert`: from every kind to every kind, and what it says when it cannot."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from bpenb import Tokenizer
from tests.cli.running import TEXT, Result
from tokenizers import Tokenizer as Peer

Cli = Callable[..., Result]


def test_to_every_kind(cli: Cli, trained: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.load(trained)
    ids, n = tokenizer.encode(TEXT), tokenizer.n_vocab
    for kind in ("hf", "gpt2", "tiktoken", "bpenb"):
        result = cli("convert", trained, "--to", kind, "-o", kind)
        assert (result.code, result.out) == (0, b"")
        assert result.err == f"{kind}: {kind}, {n} tokens, 1 of them special, pattern gpt2\n"
    assert Peer.from_file(str(tmp_path / "hf" / "tokenizer.json")).encode(TEXT).ids == ids
    specials = ["<|endoftext|>"]
    files = Tokenizer.from_files(tmp_path / "gpt2/vocab.json", tmp_path / "gpt2/merges.txt", specials)
    assert files.encode(TEXT) == ids
    encoding = runpy.run_path(str(tmp_path / "tiktoken" / "tokenizer_tiktoken.py"))["encoding"]
    assert encoding.encode(TEXT, allowed_special="all") == ids
    assert Tokenizer.load(tmp_path / "bpenb").encode(TEXT) == ids


def test_a_gguf_file_by_its_name(cli: Cli, trained: Path, tmp_path: Path) -> None:
    from gguf import GGUFReader

    assert cli("convert", trained, "-o", "t.gguf", "--progress", "none").err == ""
    field = GGUFReader(tmp_path / "t.gguf").fields["tokenizer.ggml.pre"]
    assert field.contents() == "gpt-2"


def test_from_every_kind(cli: Cli, trained: Path, tmp_path: Path) -> None:
    original = Tokenizer.load(trained)
    for name in ("tokenizer.json", "vocab.json", "tokenizer.tiktoken"):
        result = cli("convert", trained / name, "-o", f"from-{name}")
        assert result.code == 0, result.err
        assert Tokenizer.load(tmp_path / f"from-{name}").encode(TEXT) == original.encode(TEXT)


def test_a_pattern_for_files_that_hold_none(cli: Cli, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "alone.tiktoken").write_bytes((trained / "tokenizer.tiktoken").read_bytes())
    result = cli("convert", "alone.tiktoken", "-o", "t")
    assert (result.code, "does not tell its split pattern" in result.error_line) == (1, True)
    assert "--pattern" in result.error_line
    result = cli("convert", "alone.tiktoken", "-o", "t", "--pattern", "qwen2")
    n = Tokenizer.load(trained).n_vocab - 1
    assert result.err == f"t: bpenb, {n} tokens, 0 of them special, pattern qwen2\n"
    assert Tokenizer.load(tmp_path / "t").pattern.name == "qwen2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", "-o", "t"], "nothing: there is no such file or folder"),
        (
            ["else", "-o", "t"],
            "else: holds no tokenizer: there is no bpenb.json, tokenizer.json, or vocab.json",
        ),
        (["bad.json", "-o", "t"], "bad.json: line 2: not JSON"),
        (["TRAINED", "-o", "else", "--to", "hf"], "is not empty and holds other files (notes.txt)"),
        (["TRAINED", "-o", "t", "--to", "hf", "--pre", "x"], "pre names the split pattern in a GGUF file"),
        (["TRAINED", "-o", "t", "--pattern", "qwen2"], "its split pattern is 'gpt2', not 'qwen2'"),
    ],
)
def test_errors(cli: Cli, trained: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "notes.txt").write_text("mine")
    (tmp_path / "bad.json").write_text('{"a":\n,')
    result = cli("convert", *(str(trained) if word == "TRAINED" else word for word in arguments))
    assert result.code == 1
    assert message in result.error_line
    assert not (tmp_path / "t").exists()


def test_what_a_kind_cannot_hold_is_said(cli: Cli, tmp_path: Path) -> None:
    import bpenb

    bpenb.train_from_iterator([TEXT], vocab_size=300, pattern="nanochat").save(tmp_path / "nano")
    result = cli("convert", "nano", "-o", "t.gguf")
    assert result.code == 1
    assert "'nanochat' has no name in llama.cpp" in result.error_line
    result = cli("convert", "nano", "-o", "t.gguf", "--pre", "my-own", "--progress", "json")
    assert result.code == 0
    events = [json.loads(line) for line in result.err.splitlines()]
    assert [event["event"] for event in events] == ["warning", "note"]
    assert (tmp_path / "t.gguf").exists()
    assert (
        "bpenb: warning: vocab.json and merges.txt hold no split"
        in cli("convert", "nano", "--to", "gpt2", "-o", "g").err
    )
