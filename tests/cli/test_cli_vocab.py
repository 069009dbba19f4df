"""Options of `bpenb train` for a vocab that is ready for a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bpenb
import pytest
from bpenb import Tokenizer, VocabOptions
from tests.cli.running import Result

Cli = Callable[..., Result]

OPTIONS = [
    *("--bos", "<s>", "--eos", "<|endoftext|>", "--pad", "<|pad|>", "--unk", "<unk>"),
    *("--reserve-special-tokens", "3", "--pad-vocab-to-multiple", "64"),
]
ROLES = {"bos": "<s>", "eos": "<|endoftext|>", "pad": "<|pad|>", "unk": "<unk>"}
ASKED = VocabOptions(3, 64, **ROLES)


def test_train_takes_them_as_the_python_api_does(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    result = cli("train", corpus, "--vocab-size", "330", *OPTIONS)
    assert result.code == 0, result.err
    assert "330 tokens" in result.err and "384 rows in a model" in result.err
    loaded = Tokenizer.load(tmp_path / "tokenizer")
    expected = bpenb.train(corpus, vocab_size=330, vocab_options=ASKED)
    assert (loaded.vocab, loaded.merges) == (expected.vocab, expected.merges)
    assert (loaded.special_tokens, loaded.roles) == (expected.special_tokens, ROLES)
    assert loaded.padded_vocab_size == 384
    config = json.loads((tmp_path / "tokenizer" / "tokenizer_config.json").read_text("utf-8"))
    assert {f"{role}_token": name for role, name in ROLES.items()}.items() <= config.items()
    report = json.loads((tmp_path / "tokenizer" / "report.json").read_text("utf-8"))
    assert report["sizes"]["padded_vocab_size"] == 384


def test_sweeps_counts_and_bases_take_them(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    assert cli("count", corpus, "-o", "counts.npz").code == 0
    for source in (["--from-counts", "counts.npz"], [str(corpus)]):
        assert cli("train", *source, "--vocab-size", "290,330", *OPTIONS, "-o", "sweep", "--force").code == 0
        for size, padded in ((290, 320), (330, 384)):
            loaded = Tokenizer.load(tmp_path / "sweep" / str(size))
            assert (loaded.n_vocab, loaded.padded_vocab_size, loaded.roles) == (size, padded, ROLES)
    more = ("--base", "sweep/330", "--vocab-size", "350", "--eos", "</s>", "-o", "more")
    assert cli("train", corpus, *more).code == 0
    loaded = Tokenizer.load(tmp_path / "more")
    assert (loaded.roles, loaded.special_tokens["</s>"]) == (ROLES | {"eos": "</s>"}, 330)
    assert loaded.padded_vocab_size == 384


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--reserve-special-tokens", "-1"], 1, "reserve_special_tokens is -1; it must be at least 0"),
        (["--pad-vocab-to-multiple", "0"], 1, "pad_vocab_to_multiple is 0; it must be from 1"),
        (["--eos", ""], 1, "a special token must not be empty"),
        (["--reserve-special-tokens", "many"], 2, "--reserve-special-tokens"),
    ],
)
def test_what_is_wrong_is_told_before_any_work(
    cli: Cli, options: list[str], code: int, message: str, tmp_path: Path, corpus: Path
) -> None:
    result = cli("train", corpus, *options)
    assert result.code == code and message in result.error_line
    assert not (tmp_path / "tokenizer").exists()
