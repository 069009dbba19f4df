"""The whole pipeline against a slow one: documents, end-of-text tokens, every kind of input and output."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb import Tokenizer
from bpenb.corpus import InputOptions
from bpenb.dataset import TOKEN_FORMATS, open_dataset
from bpenb.errors import BpenbError, EncodingError, InvalidUtf8Error
from bpenb.preparing import (
    EncodeSettings,
    OutputSettings,
    count_tokens,
    encode_files,
    encode_to_arrays,
    encode_to_files,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import dataset as oracle
from tests.preparing.making import (
    CUSTOM,
    EOT,
    Input,
    rules_of,
    sample_rows,
    sample_text,
    small_buffers,
    tokenizer,
    write_inputs,
)

SNIPPETS = ["low", " lower", " the", "newest", "'s", " ", "\n", "\n\n", "\r\n", "1234", "é", " 下雨天", "🙂",
            EOT, "<s>", "<s", ">", "<s><s>", "<|endo", "aaaaaaaaaaaa", "!?/\n", "\u3000", "\x00"]  # fmt: skip
EVERY_PATTERN = ["gpt2", "cl100k", "qwen2", "nanochat", "o200k", "whitespace", CUSTOM]
BY_PATTERN = {pattern: tokenizer(pattern) for pattern in EVERY_PATTERN}

texts = st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join)
rows = st.lists(st.lists(st.sampled_from(SNIPPETS), max_size=8).map("".join), max_size=8)
inputs = st.lists(st.one_of(texts, rows), min_size=1, max_size=5)


def check_everywhere(folder: Path, made: Tokenizer, given_inputs: list[Input], kinds: list[int],
                     chosen: EncodeSettings) -> None:  # fmt: skip
    """Compare what the pipeline gives, for any number of workers, with the oracle."""
    rules = rules_of(
        made,
        separator=chosen.inputs.document_separator,
        special=chosen.special,
        append=chosen.append_eot,
        prepend=chosen.prepend_eot,
    )
    paths = write_inputs(folder, given_inputs, kinds)
    ids, offsets = oracle.flat(oracle.dataset(given_inputs, rules))
    for workers in (1, 2, 3):
        got = encode_to_arrays(made, paths, chosen, workers=workers)
        assert (got.ids.tolist(), got.document_offsets.tolist()) == (ids, offsets)
        assert got.ids.dtype == np.uint16
    if not (chosen.append_eot or chosen.prepend_eot):
        counts = count_tokens(made, paths, chosen, workers=2)
        for path, content, counted in zip(paths, given_inputs, counts.files, strict=True):
            documents = oracle.dataset([content], rules)
            n_bytes = sum(len(row.encode()) for row in ([content] if isinstance(content, str) else content))
            expected = (str(path), n_bytes, sum(map(len, documents)), len(documents))
            assert (counted.path, counted.text_bytes, counted.tokens, counted.documents) == expected
        assert (counts.total.tokens, counts.total.documents) == (len(ids), len(offsets) - 1)


@settings(max_examples=150)
@given(
    given_inputs=inputs,
    kinds=st.lists(st.integers(0, 11), min_size=5, max_size=5),
    pattern=st.sampled_from(EVERY_PATTERN),
    separator=st.sampled_from([None, "\n\n", " ", EOT, "<s>low", "\n"]),
    special=st.sampled_from(["all", "none"]),
    append=st.booleans(),
    prepend=st.booleans(),
    buffer_bytes=st.sampled_from([16, 64, 1000]),
)
def test_any_inputs(given_inputs: list[Input], kinds: list[int], pattern: str, separator: str | None,
                    special: Any, append: bool, prepend: bool, buffer_bytes: int) -> None:  # fmt: skip
    chosen = EncodeSettings(
        inputs=InputOptions(document_separator=separator),
        special=special,
        append_eot=append,
        prepend_eot=prepend,
    )
    with tempfile.TemporaryDirectory() as folder, small_buffers(buffer_bytes):
        check_everywhere(Path(folder), BY_PATTERN[pattern], given_inputs, kinds, chosen)


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
@pytest.mark.parametrize("append, prepend", [*itertools.product([False, True], repeat=2)])
def test_larger_inputs_of_all_kinds(tmp_path: Path, pattern: str, append: bool, prepend: bool) -> None:
    """Texts and rows by turns, empty ones among them, and a row larger than a buffer."""
    given_inputs: list[Input] = ["", sample_text(200, 1), sample_rows(20, 2), EOT, [],
                                 sample_text(150, 3),
                                 ["", ""], " low", EOT + "low" + EOT * 2, sample_rows(15, 4), ""]  # fmt: skip
    chosen = EncodeSettings(append_eot=append, prepend_eot=prepend)
    with small_buffers():
        check_everywhere(tmp_path, BY_PATTERN[pattern], given_inputs, [0] * 11, chosen)
    check_everywhere(tmp_path, BY_PATTERN[pattern], given_inputs, list(range(11)), chosen)


HAND_CASES: list[tuple[Input, dict[str, Any], list[str]]] = [
    ("", {}, []),
    (["", ""], {}, ["", ""]),
    (["", ""], {"append_eot": True, "prepend_eot": True}, ["E", "E"]),
    (["aE", "E", "Ea"], {"append_eot": True}, ["aE", "E", "EaE"]),
    (["aE", "E", "Ea"], {"prepend_eot": True}, ["EaE", "E", "Ea"]),
    (["aEb"], {"append_eot": True, "prepend_eot": True}, ["EaEbE"]),
    ("aEb", {}, ["aE", "b"]),
    ("aEEb", {}, ["aE", "E", "b"]),
    ("aEEb", {"append_eot": True}, ["aE", "E", "bE"]),
    ("EaEEbE", {"prepend_eot": True}, ["Ea", "Eb"]),
    ("aEb", {"append_eot": True, "prepend_eot": True}, ["EaE", "EbE"]),
    ("E", {"prepend_eot": True}, []),
    ("E", {}, ["E"]),
]


@pytest.mark.parametrize("content, options, expected", HAND_CASES)
@pytest.mark.parametrize("buffer_bytes", [16, 1000])
def test_hand_cases_of_end_of_text(
    tmp_path: Path, content: Input, options: dict[str, Any], expected: list[str], buffer_bytes: int
) -> None:
    """`E` stands for the end-of-text token: what the oracle says is what we mean."""
    made = tokenizer()

    def spelled(text: str) -> str:
        return text.replace("E", EOT)

    given_input = spelled(content) if isinstance(content, str) else list(map(spelled, content))
    rules = rules_of(made, append=options.get("append_eot", False), prepend=options.get("prepend_eot", False))
    documents = [made.encode(spelled(document)) for document in expected]
    assert oracle.dataset([given_input], rules) == documents
    with small_buffers(buffer_bytes):
        got = encode_to_arrays(made, write_inputs(tmp_path, [given_input]), EncodeSettings(**options))
    assert (got.ids.tolist(), got.document_offsets.tolist()) == oracle.flat(documents)


# --- files of every format ------------------------------------------------------------------------


def read_with_numpy(path: Path, form: str) -> list[int]:
    """The ids of one data file, by NumPy alone."""
    if form == "npy":
        return np.load(path).tolist()
    return np.fromfile(path, dtype="<u2", offset=1024 if form == "llmc" else 0).tolist()


@pytest.mark.parametrize("form", TOKEN_FORMATS)
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("shard_tokens", [None, 100])
def test_every_format(tmp_path: Path, form: str, workers: int, shard_tokens: int | None) -> None:
    made, given_inputs = tokenizer(), [sample_text(120, 5), sample_rows(20, 6), "", [""], sample_text(90, 7)]
    paths = write_inputs(tmp_path / "in", given_inputs)
    chosen = EncodeSettings(append_eot=True)
    with small_buffers():
        manifest = encode_to_files(made, paths, tmp_path / "out", chosen, OutputSettings(form, shard_tokens),
                                   workers=workers)  # fmt: skip
    documents = oracle.dataset(given_inputs, rules_of(made, append=True))
    ids, _ = oracle.flat(documents)
    suffix = TOKEN_FORMATS[form].suffix
    target = tmp_path / "out" if shard_tokens else tmp_path / f"out{suffix}"
    dataset = open_dataset(target)
    assert dataset.read(0, dataset.n_tokens).tolist() == ids
    assert [document.tolist() for document in dataset.documents()] == documents
    names = [record.name for record in manifest.splits["train"].data_files]
    folder = target if shard_tokens else tmp_path
    assert [i for name in names for i in read_with_numpy(folder / name, form)] == ids
    n_bytes = sum(len(row.encode()) for content in given_inputs
                  for row in ([content] if isinstance(content, str) else content))  # fmt: skip
    counted = (manifest.n_tokens, manifest.n_documents, manifest.text_bytes)
    assert counted == (len(ids), len(documents), n_bytes)
    assert not [path for path in tmp_path.rglob(".*")]


@pytest.mark.parametrize("form", ["npy", "bin", "llmc"])
def test_rows_of_tokens(tmp_path: Path, form: str) -> None:
    """--seq-len: the last row is filled up with end-of-text, and the documents are kept."""
    made, content = tokenizer(), sample_text(333, 8)
    (path,) = write_inputs(tmp_path / "in", [content])
    manifest = encode_to_files(made, path, tmp_path / "out", EncodeSettings(), OutputSettings(form, 70, 32))
    documents = oracle.dataset([content], rules_of(made))
    ids, _ = oracle.flat(documents)
    files = [tmp_path / "out" / record.name for record in manifest.splits["train"].data_files]
    written = [i for file in files for i in np.ravel(read_with_numpy(file, form)).tolist()]
    assert written == ids + [made.special_tokens[EOT]] * (-len(ids) % 32)
    assert [document.tolist() for document in open_dataset(tmp_path / "out").documents()] == documents


# --- special tokens and bytes that are not UTF-8 -----------------------------------------------------


@pytest.mark.parametrize("workers", [1, 3])
def test_special_tokens_as_an_error(tmp_path: Path, workers: int) -> None:
    made, chosen = tokenizer(), EncodeSettings(special="error")
    fine, wrong = write_inputs(tmp_path, [[" low"] * 50, "low " * 50 + "<s> low"], [0, 0])
    with small_buffers():
        assert len(encode_to_arrays(made, fine, chosen, workers=workers).document_offsets) == 51
        for call in (encode_to_arrays, count_tokens):
            with pytest.raises(EncodingError, match=r"in1\.txt: holds the special token '<s>'"):
                call(made, [fine, wrong], chosen, workers=workers)
        with pytest.raises(EncodingError, match="disallowed"):
            encode_to_files(made, [fine, wrong], tmp_path / "ids", chosen)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in0.jsonl", "in1.txt"]


@pytest.mark.parametrize("prepend", [False, True])
@pytest.mark.parametrize("content", ["a" + EOT + "b", ["a" + EOT]])
def test_end_of_text_is_an_error_too(tmp_path: Path, prepend: bool, content: Input) -> None:
    """Even where it would only separate."""
    paths = write_inputs(tmp_path, [content])
    with pytest.raises(EncodingError, match="endoftext"):
        encode_to_arrays(tokenizer(), paths, EncodeSettings(special="error", prepend_eot=prepend))


def test_a_separator_that_is_a_special_token_is_no_error(tmp_path: Path) -> None:
    paths = write_inputs(tmp_path, ["a" + EOT + "b"])
    chosen = EncodeSettings(special="error", inputs=InputOptions(document_separator=EOT))
    assert len(encode_to_arrays(tokenizer(), paths, chosen).document_offsets) == 3


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from([b"low", b" ", b"\xe2\x80", b"\xe3\x80\x80", b"\xff", b"\xc2", b"\x85", b"<s>", b"\n",
                         b"\xf0\x9f\x99", b"\x80", b"1", EOT.encode()]),
        max_size=40,
    ),
    st.sampled_from(["gpt2", "cl100k", CUSTOM]),
)  # fmt: skip
def test_replaced_bytes(parts: list[bytes], pattern: str) -> None:
    """`replace` gives the ids of the text as Python replaces it, wherever it is cut; `strict` raises."""
    made, data = BY_PATTERN[pattern], b"".join(parts)
    text = data.decode(errors="replace")
    with tempfile.TemporaryDirectory() as folder, small_buffers(16):
        path = Path(folder, "a.txt")
        path.write_bytes(data)
        for workers in (1, 3):
            got = encode_to_arrays(made, path, EncodeSettings(errors="replace"), workers=workers)
            expected = oracle.flat(oracle.dataset([text], rules_of(made)))
            assert (got.ids.tolist(), got.document_offsets.tolist()) == expected
        try:
            data.decode()
        except UnicodeDecodeError as error:
            with pytest.raises(InvalidUtf8Error) as info:
                encode_to_arrays(made, path)
            assert info.value.offset == error.start


# --- the doors -------------------------------------------------------------------------------------


def test_a_vocab_of_more_than_16_bits(tmp_path: Path) -> None:
    made = tokenizer(specials=[])
    wide = Tokenizer(made.vocab | {70_000: b"zzz"}, made.merges, [EOT])
    (path,) = write_inputs(tmp_path, ["low" + EOT])
    got = encode_to_arrays(wide, path)
    assert (got.ids.dtype, got.ids.tolist()) == (np.uint32, wide.encode("low" + EOT))
    assert got.ids[-1] == 70_001
    encode_to_files(wide, path, tmp_path / "ids.bin", None, OutputSettings("bin"))
    assert np.fromfile(tmp_path / "ids.bin", "<u4").tolist() == got.ids.tolist()


def test_two_hundred_tiny_files(tmp_path: Path) -> None:
    made = tokenizer()
    given_inputs: list[Input] = [sample_text(n % 7, n) if n % 3 else [" low" * (n % 5)] for n in range(200)]
    paths = write_inputs(tmp_path, given_inputs)
    expected = oracle.flat(oracle.dataset(given_inputs, rules_of(made)))
    for workers in (1, 4):
        got = encode_to_arrays(made, paths, workers=workers)
        assert (got.ids.tolist(), got.document_offsets.tolist()) == expected
    assert len(count_tokens(made, paths).files) == 200


def test_a_line_of_30_megabytes_without_a_cut(tmp_path: Path) -> None:
    made = tokenizer()
    (path,) = write_inputs(tmp_path, ["low1234" * (30_000_000 // 7)])
    once = made.encode("low1234")
    got = encode_to_arrays(made, path, workers=2)
    assert np.array_equal(got.ids.reshape(-1, len(once)), np.tile(once, (30_000_000 // 7, 1)))
    assert got.document_offsets.tolist() == [0, len(got.ids)]


def test_the_method_and_what_it_refuses(tmp_path: Path) -> None:
    made = tokenizer()
    (path,) = write_inputs(tmp_path, ["low" + EOT + " lower"])
    ids, offsets = encode_to_arrays(made, path, EncodeSettings(append_eot=True))
    got = made.encode_files(path, append_eot=True)
    assert (got.ids.tolist(), got.document_offsets.tolist()) == (ids.tolist(), offsets.tolist())
    made.encode_files(path, tmp_path / "ids.npy", append_eot=True)
    assert np.load(tmp_path / "ids.npy").tolist() == ids.tolist()
    with pytest.raises(TypeError, match="unknown option 'shards'"):
        encode_files(made, path, shards=3)
    with pytest.raises(TypeError, match="without out"):
        encode_files(made, path, shard_tokens=3)
    for wrong in ({"append_eot": True}, {"prepend_eot": True}, {"shuffle": True}, {"val_fraction": 0.5}):
        with pytest.raises(BpenbError, match="leave out"):
            count_tokens(made, path, EncodeSettings(**wrong))
    with pytest.raises(EncodingError, match="which special token ends a document"):
        encode_to_arrays(tokenizer(specials=["<a>", "<b>"]), path, EncodeSettings(append_eot=True))
