"""train → encode → decode, by files and by pipes."""

from __future__ import annotations

import json
import pstats
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import bpenb
import numpy as np
import pytest
from tests.cli.running import TEXT, Result, command, environment

Cli = Callable[..., Result]
QUIET = ("--progress", "none")


def test_the_three_commands_as_they_stand(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    assert cli("train", "corpus.txt", "--vocab-size", "400").code == 0
    encoded = cli("encode", "corpus.txt")
    assert encoded.code == 0
    (tmp_path / "ids.npy").write_bytes(encoded.out)
    decoded = cli("decode", "ids.npy")
    assert decoded.code == 0
    assert decoded.out == corpus.read_bytes()


def test_the_ids_are_those_of_the_python_api(cli: Cli, corpus: Path, tmp_path: Path, trained: Path) -> None:
    (tmp_path / "ids.npy").write_bytes(cli("encode", corpus, "-t", trained, *QUIET).out)
    ids = np.load(tmp_path / "ids.npy")
    assert ids.dtype == np.uint16
    assert ids.tolist() == bpenb.Tokenizer.load(trained).encode(TEXT)


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_redirected_to_a_file(corpus: Path, tmp_path: Path, trained: Path, mode: str) -> None:
    """`> ids.npy` is patched in place, `>> ids.npy` is written at once: both load."""
    with (tmp_path / "ids.npy").open(mode) as target:
        run = [*command("encode", corpus, "-t", trained, *QUIET)]
        subprocess.run(run, stdout=target, env=environment(), check=True, timeout=120)
    assert np.load(tmp_path / "ids.npy").tolist() == bpenb.Tokenizer.load(trained).encode(TEXT)


def test_through_pipes(cli: Cli, trained: Path) -> None:
    text = TEXT.encode()
    encoded = cli("encode", "-", "-t", trained, *QUIET, stdin=text)
    assert cli("decode", "-", "-t", trained, *QUIET, stdin=encoded.out).out == text


@pytest.mark.parametrize("text", [b"", b" ", b"\x00", b"\xef\xbb\xbfhi\r\n", "été".encode()])
def test_small_texts_come_back(cli: Cli, trained: Path, text: bytes) -> None:
    encoded = cli("encode", "-", "-t", trained, *QUIET, stdin=text)
    assert cli("decode", "-", "-t", trained, *QUIET, stdin=encoded.out).out == text


def test_errors_replace(cli: Cli, tmp_path: Path, trained: Path) -> None:
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9 low low")
    small = ("train", "latin1.txt", "--vocab-size", "258", *QUIET)
    assert cli(*small, "--errors", "replace").code == 0
    encoded = cli("encode", "latin1.txt", "-t", trained, "--errors", "replace", *QUIET)
    assert cli("decode", "-", "-t", trained, *QUIET, stdin=encoded.out).out == "caf\ufffd low low".encode()


def test_the_tokenizer_of_the_environment(cli: Cli, corpus: Path, tmp_path: Path, trained: Path) -> None:
    chosen = cli("encode", corpus, "-t", trained, *QUIET).out
    assert cli("encode", corpus, *QUIET, BPENB_TOKENIZER=str(trained)).out == chosen
    shutil.copytree(trained, tmp_path / "tokenizer")
    assert cli("encode", corpus, *QUIET).out == chosen
    assert cli("encode", corpus, *QUIET, BPENB_TOKENIZER=str(tmp_path / "missing")).code == 1


def test_one_file_is_a_tokenizer_too(cli: Cli, corpus: Path, trained: Path) -> None:
    chosen = cli("encode", corpus, "-t", trained, *QUIET).out
    assert cli("encode", corpus, "-t", trained / "tokenizer.json", *QUIET).out == chosen


def test_options_of_train_reach_the_training(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    options = {
        "--vocab-size": "300",
        "--special-token": "<|endoftext|>",
        "--pattern": "cl100k",
        "--ties": "huggingface",
        "--min-frequency": "3",
        "--max-token-length": "5",
        "--workers": "1",
        "--engine": "regex",
        "--pool": "processes",
        "--chunk-size": "4096",
        "--max-memory": "2GB",
        "-o": "other",
        "--profile": "train.prof",
    }
    flat = [word for pair in options.items() for word in pair]
    assert cli("train", corpus, *flat, "--special-token", "<s>", *QUIET).code == 0
    got = bpenb.Tokenizer.load(tmp_path / "other")
    expected = bpenb.train(
        corpus,
        vocab_size=300,
        special_tokens=["<|endoftext|>", "<s>"],
        pattern="cl100k",
        ties="huggingface",
        min_frequency=3,
        max_token_length=5,
    )
    assert (got.vocab, got.merges) == (expected.vocab, expected.merges)
    assert got.special_tokens == {"<|endoftext|>": 0, "<s>": 1}
    assert got.model.engine == "regex"
    settings = json.loads((tmp_path / "other" / "report.json").read_text("utf-8"))["settings"]
    assert (settings["workers"], settings["ties"], settings["min_frequency"]) == (1, "huggingface", 3)
    functions = pstats.Stats(str(tmp_path / "train.prof")).stats  # type: ignore[attr-defined]
    assert any(name == "learn_from_words" for _, _, name in functions)


def test_no_special_tokens(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    assert cli("train", corpus, "--vocab-size", "300", "--no-special-tokens", *QUIET).code == 0
    assert bpenb.Tokenizer.load(tmp_path / "tokenizer").special_tokens == {}


def test_several_inputs(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("zebra zebra zebra")
    assert cli("train", corpus, "more.txt", "--vocab-size", "350", *QUIET).code == 0
    both = bpenb.train([corpus, tmp_path / "more.txt"], vocab_size=350)
    assert bpenb.Tokenizer.load(tmp_path / "tokenizer").merges == both.merges


def test_warmup_then_a_training_compiles_nothing(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    cache = {"BPENB_CACHE_DIR": str(tmp_path / "cache")}
    small = ("train", corpus, "--vocab-size", "300")
    first = cli("warmup", **cache)
    assert first.code == 0
    assert b"compiled" in first.out
    compiled = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert compiled
    again = cli("warmup", **cache)
    assert b"found on disk" in again.out
    assert "compiling" not in again.err
    trained = cli(*small, **cache)
    assert trained.code == 0
    assert "compiling" not in trained.err
    for options in ([], ["-o", "data", "--val-fraction", "0.5", "--shuffle"], ["--count-only"]):
        encoded = cli("encode", corpus, *options, **cache)
        assert encoded.code == 0
        assert "compiling" not in encoded.err
    assert sorted((tmp_path / "cache").rglob("*.nbc")) == compiled


def test_a_first_run_says_that_it_compiles(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    result = cli("train", corpus, "--vocab-size", "300", BPENB_CACHE_DIR=str(tmp_path / "cache"))
    assert result.code == 0
    assert result.err.count("first run: compiling kernels, up to") == 1
    again = cli("train", corpus, "--vocab-size", "300", BPENB_CACHE_DIR=str(tmp_path / "cache"))
    assert "compiling" not in again.err
