"""Characters, and several merges per step, on the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import bpenb
import numpy as np
import pytest
from bpenb.classic import ClassicTokenizer, encode_classic, train_classic
from bpenb.errors import BpenbError, EncodingError, InvalidUtf8Error
from tests.cli.running import TEXT, Result

Cli = Callable[..., Result]
CHARACTERS = ("--alphabet", "characters", "--progress", "none")


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer on characters, saved."""
    folder = tmp_path_factory.mktemp("classic")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    train_classic(folder / "text.txt", n_merges=150).save(folder / "tokenizer")
    return folder / "tokenizer"


def test_train_encode_decode(here: Cli, corpus: Path, tmp_path: Path) -> None:
    options = ("--vocab-size", "80", "--end-of-word", "</w>", "--min-character-count", "41", "-o", "made")
    result = here("train", corpus, *CHARACTERS, *options)
    assert (result.code, result.out, result.err) == (0, b"", "")
    made = ClassicTokenizer.load(tmp_path / "made")
    assert made.n_vocab == 80 and "下" not in made.model.characters
    called = train_classic(corpus, vocab_size=80, min_character_count=41)
    assert (made.vocab, made.merges) == (called.vocab, called.merges)

    result = here("encode", corpus, "-t", "made")
    assert result.code == 0
    ids = np.load(io.BytesIO(result.out))
    assert ids.tolist() == made.encode(TEXT) and ids.dtype == np.uint16
    rare = made.unknown_characters(TEXT)
    assert str(rare) in result.err and rare.n_unknown > 40
    assert here("encode", corpus, "-t", "made", "-o", "ids.npy", "--progress", "json").code == 0
    result = here("decode", "ids.npy", "-t", "made", "--progress", "none")
    assert (result.code, result.out.decode(), result.err) == (0, made.decode(ids), "")
    assert "ids.npy exists" in here("encode", corpus, "-t", "made", "-o", "ids.npy").error_line
    assert here("encode", corpus, "-t", "made", "-o", "ids.npy", "--force", "--special", "none").code == 0
    assert np.load(tmp_path / "ids.npy").tolist() == made.encode_ordinary(TEXT)


def test_the_summary_tells_of_rare_characters(here: Cli, corpus: Path) -> None:
    result = here(
        "train", corpus, "--alphabet", "characters", "--vocab-size", "200", "--min-character-count", "41"
    )
    assert result.code == 0
    assert "rare ones are <unk>: " in result.err
    options = ("--progress", "json", "--vocab-size", "200", "-o", "other")
    result = here("train", corpus, "--alphabet", "characters", *options)
    summary = json.loads(result.err.splitlines()[-1])
    assert summary["event"] == "summary" and summary["characters"]["unknown"] == 0


def test_counts_are_trained_from(here: Cli, corpus: Path, tmp_path: Path) -> None:
    assert (
        here("count", corpus, "--pattern", r"[ \r\n]+|[^ \r\n]+", "-o", "c.npz", "--progress", "none").code
        == 0
    )
    assert here("train", "--from-counts", "c.npz", *CHARACTERS, "--vocab-size", "250", "-o", "made").code == 0
    assert ClassicTokenizer.load(tmp_path / "made").merges == train_classic(corpus, vocab_size=250).merges


def test_either_kind_replaces_the_other(here: Cli, corpus: Path) -> None:
    for size, options in (("190", CHARACTERS), ("300", ("--progress", "none")), ("190", CHARACTERS)):
        result = here("train", corpus, "--vocab-size", size, *options)
        assert (result.code, result.err) == (0, "")


def test_convert_both_ways(here: Cli, classic: Path, tmp_path: Path) -> None:
    made = ClassicTokenizer.load(classic)
    assert here("convert", classic, "--to", "subword-nmt", "-o", "codes").code == 0
    assert (tmp_path / "codes").read_bytes() == (classic / "codes.txt").read_bytes()
    with pytest.warns(UserWarning, match="codes hold no alphabet"):
        assert here("convert", "codes", "-o", "again").code == 0
    again = ClassicTokenizer.load(tmp_path / "again")
    assert again.merges == made.merges
    result = here("convert", classic, "--to", "hf", "-o", "hf")
    assert result.code == 0 and "hf: hf, " in result.err
    assert (tmp_path / "hf" / "tokenizer.json").read_bytes() == (classic / "tokenizer.json").read_bytes()
    assert (
        "tiktoken holds tokens of bytes only"
        in here("convert", classic, "--to", "tiktoken", "-o", "t").error_line
    )
    assert here("convert", classic, "--to", "hf", "-o", "p", "--pre", "gpt-2").code == 2


def test_bytes_are_no_codes(here: Cli, trained: Path) -> None:
    result = here("convert", trained, "--to", "subword-nmt", "-o", "codes")
    assert "subword-nmt holds tokens of characters" in result.error_line


@pytest.mark.parametrize(
    "options",
    [("--append-eot",), ("--count-only",), ("--count-only", "--json"), ("-o", "x", "--format", "bin"),
     ("-o", "x", "--shuffle"), ("--workers", "2"), ("--document-separator", "x"), ("-o", "x", "--resume")],
)  # fmt: skip
def test_what_encode_has_for_bytes_alone(
    here: Cli, classic: Path, corpus: Path, options: tuple[str, ...]
) -> None:
    result = here("encode", corpus, "-t", classic, *options)
    assert result.code == 2
    assert "is for tokenizers on bytes" in result.error_line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--alphabet", "characters", "--verify"), "--verify is for bytes"),
        (("--alphabet", "characters", "--eval", "corpus.txt", "--base", "b"), "--eval is for bytes"),
        (("--alphabet", "characters", "--max-token-length", "9"), "--max-token-length is for bytes"),
        (("--alphabet", "characters", "--vocab-size", "300,400"), "for one --vocab-size"),
        (("--end-of-word", "</w>"), "--end-of-word is for --alphabet characters"),
        (("--min-character-count", "2"), "--min-character-count is for --alphabet characters"),
        (("--merges-per-step", "4", "--verify"), "--verify is for exact BPE"),
        (("--merges-per-step", "4", "--checkpoint", "c"), "--checkpoint is for exact BPE"),
        (("--merges-per-step", "4", "--vocab-size", "300,400"), "for one --vocab-size"),
    ],
)
def test_options_that_exclude_each_other(
    here: Cli, corpus: Path, options: tuple[str, ...], message: str
) -> None:
    result = here("train", corpus, *options)
    assert result.code == 2
    assert message in result.error_line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--alphabet", "characters", "--pattern", "gpt2"), "not for characters"),
        (("--alphabet", "characters", "--ties", "cs336"), "not for characters"),
        (("--alphabet", "characters", "--vocab-size", "9"), "at least"),
        (("--ties", "subword-nmt"), "on characters"),
        (("--merges-per-step", "0"), "merges_per_step is 0"),
    ],
)
def test_what_the_doors_refuse(here: Cli, corpus: Path, options: tuple[str, ...], message: str) -> None:
    result = here("train", corpus, *options, "--progress", "none")
    assert result.code == 1
    assert message in result.error_line


def test_several_merges_per_step_are_compared(here: Cli, corpus: Path, tmp_path: Path) -> None:
    result = here("train", corpus, "--vocab-size", "330", "--merges-per-step", "8")
    assert result.code == 0 and "per step" in result.err and "Jaccard" in result.err
    report = json.loads((tmp_path / "tokenizer" / "report.json").read_text("utf-8"))
    steps, exact = report["steps"], bpenb.train(corpus, vocab_size=330)
    made = bpenb.Tokenizer.load(tmp_path / "tokenizer")
    same = [a == b for a, b in zip(made.merges, exact.merges, strict=True)]
    assert steps["first_difference"] == same.index(False)
    tokens, wanted = ({*one.vocab.values()} - {b"<|endoftext|>"} for one in (made, exact))
    assert steps["jaccard"] == len(tokens & wanted) / len(tokens | wanted) < 1
    assert steps["bytes_per_token"] == report["sizes"]["bytes_per_token"]
    assert exact.report is not None
    assert steps["bytes_per_token_exact"] == exact.report["sizes"]["bytes_per_token"]
    assert report["settings"]["merges_per_step"] == 8 and exact.report["steps"] is None
    assert report["seconds"]["exact"] == steps["seconds_exact"] > 0


def test_files_of_rows_and_of_wrong_bytes(classic: Path, tmp_path: Path) -> None:
    made = ClassicTokenizer.load(classic)
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "low tower"}\n{"x": 1}\n{"text": "the lowest"}\n', encoding="utf-8")
    options = bpenb.InputOptions(skip_bad_rows=True)
    told = encode_classic(made, rows, tmp_path / "ids.npy", options=options)
    assert np.load(tmp_path / "ids.npy").tolist() == made.encode("low tower") + made.encode("the lowest")
    assert (told.counted.documents, told.counted.n_bad_rows) == (2, 1)
    (tmp_path / "bad.txt").write_bytes(b"low \xff low")
    with pytest.raises(InvalidUtf8Error, match="byte 4 is not"):
        encode_classic(made, tmp_path / "bad.txt", tmp_path / "bad.npy")
    assert not (tmp_path / "bad.npy").exists()
    told = encode_classic(made, tmp_path / "bad.txt", tmp_path / "bad.npy", errors="replace")
    assert told.unknown.counts == {"\ufffd": 1}
    (tmp_path / "special.txt").write_text("low<|endoftext|>low", encoding="utf-8")
    with pytest.raises(EncodingError, match="disallowed"):
        encode_classic(made, tmp_path / "special.txt", tmp_path / "x.npy", special="error")
    with pytest.raises(EncodingError, match="document_separator"):
        encode_classic(made, rows, "-", options=bpenb.InputOptions(document_separator="x"))
    with pytest.raises(BpenbError, match="special is 'x'"):
        encode_classic(made, rows, "-", special="x")


def test_cuts_of_buffers_change_nothing(
    classic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpenb.classic.files.BUFFER_BYTES", 300)
    made, path = ClassicTokenizer.load(classic), tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    encode_classic(made, path, tmp_path / "ids.npy")
    assert np.load(tmp_path / "ids.npy").tolist() == made.encode(TEXT)


def test_decoding_in_blocks_is_decoding_at_once(classic: Path) -> None:
    from bpenb.classic import decode_classic
    from bpenb.errors import UnknownTokenError

    made = ClassicTokenizer.load(classic)
    ids = made.encode_to_numpy(TEXT)
    for n in (1, 7, 1000):
        blocks = [ids[i : i + n] for i in range(0, len(ids), n)]
        assert b"".join(decode_classic(made, [*blocks, ids[:0]])).decode() == made.decode(ids)
    with pytest.raises(UnknownTokenError, match=r"the ids: no token has the id 60000.*position 3"):
        list(decode_classic(made, [ids[:3], np.array([60000])]))
