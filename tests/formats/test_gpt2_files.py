"""vocab.json and merges.txt: round trips, GPT-2's own, and every kind of damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bpenb.errors import FormatError, ModelError, OutputError
from bpenb.formats import load_vocab_merges
from bpenb.formats.gpt2_files import merges_txt, vocab_json
from bpenb.model import BPEModel
from hypothesis import given, settings
from tests.formats.models import BYTES, EOT, FROM_A_FILE, facts, models, trained

pytestmark = pytest.mark.filterwarnings("ignore:.*vocab lacks")

VOCAB = {"a": 0, "b": 1, "c": 2, "Ġ": 3, "ab": 4, "abc": 5, "#": 6, "##": 7}
MERGES = "#version: 0.2\na b\nab c\n# #\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    vocab.write_text(json.dumps(VOCAB), "utf-8")
    merges.write_bytes(MERGES.encode())
    return vocab, merges


def read(files: tuple[Path, Path], specials: Any = None) -> BPEModel:
    return load_vocab_merges(*files, specials, "gpt2")


@settings(max_examples=60, deadline=None)
@given(models())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, model: BPEModel) -> None:
    folder = tmp_path_factory.mktemp("gpt2")
    try:
        contents = vocab_json(model)
    except OutputError:
        assert any(s in ("Ġb ", "ab") or len(s) == 1 for s in model.special_tokens)
        return
    (folder / "v").write_bytes(contents)
    (folder / "m").write_bytes(merges_txt(model))
    assert b"\r" not in contents + merges_txt(model)
    read = load_vocab_merges(folder / "v", folder / "m", model.special_tokens, model.pattern)
    assert facts(read, *FROM_A_FILE) == facts(model, *FROM_A_FILE)


def test_layout_of_the_files() -> None:
    model = trained("ab ab# #", 1, [EOT, "x y"])
    strings = json.loads(vocab_json(model))
    assert strings["Ġ"] == 32
    assert (strings[EOT], strings["x y"], strings["ab"]) == (256, 257, 258)
    assert merges_txt(model) == b"#version: 0.2\na b\n"
    assert vocab_json(model).decode().startswith('{\n"Ā": 0,\n')


@pytest.mark.parametrize(
    "merges",
    ["a b\nab c\n# #", "a b\nab c\n# #\n", "\ufeff#version: 0.2\na b\nab c\n# #", "# #\na b\nab c\n"],
)
def test_header_and_final_newline_are_optional(files: tuple[Path, Path], merges: str) -> None:
    files[1].write_bytes(merges.encode())
    assert sorted(read(files).merge_pairs()) == [(b"#", b"#"), (b"a", b"b"), (b"ab", b"c")]


def test_empty_merges(files: tuple[Path, Path]) -> None:
    for empty in (b"", b"#version: 0.2", b"#version: 0.2\n"):
        files[1].write_bytes(empty)
        assert read(files).n_merges == 0


def test_only_newlines_end_lines(files: tuple[Path, Path]) -> None:
    # U+0127 is byte 0x85 in printable form; splitlines() would cut at the byte, and at U+0085
    files[0].write_text(json.dumps({"\u0127": 0, "a": 1, "a\u0127": 2}), "utf-8")
    files[1].write_bytes("a \u0127\n".encode())
    assert read(files).merge_pairs() == [(b"a", b"\x85")]
    for mark in ("\u0085", "\u2028", "\x0b", "\x1c"):
        files[1].write_bytes(f"a{mark}b c\n".encode())
        with pytest.raises(FormatError, match="stands for no byte"):
            read(files)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a", "must be two parts"),
        ("a b c", "must be two parts"),
        ("a  b", "must be two parts"),
        (" a", "must be two parts"),
        ("a ", "must be two parts"),
        ("", "must be two parts"),
        ("#version: 0.2", "is not in the vocab"),
        ("a b\r", "ends in CR LF"),
        ("a\tb c", r"token 'a\\tb': character '\\t' \(U\+0009\) stands for no byte"),
        ("a b", r"b'a' \+ b'b' is the merge of rank 0 once more"),
        ("a zz", "its part b'zz' is not in the vocab"),
        ("abc a", "its result b'abca' is not in the vocab"),
    ],
)
def test_a_bad_line_is_named(files: tuple[Path, Path], line: str, message: str) -> None:
    files[1].write_bytes(f"#version: 0.2\na b\nab c\n{line}\n# #\n".encode())
    with pytest.raises(FormatError, match=message) as caught:
        read(files)
    assert str(caught.value).startswith(f"{files[1]}: line 4: ")


def test_a_part_that_is_made_later(files: tuple[Path, Path]) -> None:
    files[1].write_bytes(b"ab c\na b\n")
    with pytest.raises(FormatError, match=r"merges.txt: line 1: .*b'ab' is made by no merge before it"):
        read(files)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 0, "b": 0}', "tokens 'a' and 'b' have the same id 0"),
        ('{"a": 0, "a": 1}', "key 'a' stands twice"),
        ('{"a": -1}', "the id of token 'a' must not be negative: -1"),
        ('{"a": 1.0}', "the id of token 'a' must be an integer, not 1.0"),
        ('{"a": true}', "must be an integer, not True"),
        ('{"a": "0"}', "must be an integer, not '0'"),
        ('{"a": null}', "must be an integer, not None"),
        ('{"a": 99999999999}', "has id 99999999999; ids are 0 to"),
        ('{"a": ' + "9" * 5000 + "}", "not a tokenizer's JSON"),
        ('{"": 0}', "holds an empty token"),
        ('{"a b": 0}', r"token 'a b': character ' ' \(U\+0020\) stands for no byte; if it is a spec"),
        (r'{"\ud800": 0}', r"character '\\ud800' \(U\+D800\)"),
        ("[]", "the file must be an object, not"),
        ("{}", "the vocab is empty"),
        ("", "line 1: not JSON"),
        ('{"a": 0,\n "b": }', "line 2: not JSON"),
        ('{"a": 0', "not JSON"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_a_bad_vocab_is_named(files: tuple[Path, Path], text: str, message: str) -> None:
    files[0].write_text(text, "utf-8")
    files[1].write_bytes(b"")
    with pytest.raises(FormatError, match=message) as caught:
        read(files)
    assert str(caught.value).startswith(f"{files[0]}: ")


def test_not_utf8_and_not_there(files: tuple[Path, Path]) -> None:
    files[1].write_bytes(b"a b\na\xff b\n")
    with pytest.raises(FormatError, match=r"merges.txt: line 2: not valid UTF-8"):
        read(files)
    files[1].unlink()
    with pytest.raises(FormatError, match=r"merges.txt: cannot be read: No such file"):
        read(files)
    with pytest.raises(FormatError, match="cannot be read"):
        load_vocab_merges(files[0].parent, files[1], None, "gpt2")


def test_special_tokens(files: tuple[Path, Path]) -> None:
    files[0].write_text("\ufeff" + json.dumps(VOCAB | {"<|a b|>": 50, "é": 51}), "utf-8")
    model = read(files, ["</s>", "<|a b|>", "é", "</s>", "abc"])
    assert model.special_tokens == {"</s>": 52, "<|a b|>": 50, "é": 51, "abc": 5}
    assert (model.vocab()[50], model.vocab()[51]) == (b"<|a b|>", "é".encode())  # not byte 0xE9
    with pytest.raises(ModelError, match="must not be empty"):
        read(files, [""])
    with pytest.raises(TypeError):
        read(files, "</s>")


def test_missing_bytes_are_a_warning(files: tuple[Path, Path]) -> None:
    with pytest.warns(UserWarning, match=r"vocab.json: the vocab lacks 251 of the 256 .* \(0x00, 0x01"):
        read(files)


# --- one string, two ids --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("special", "ids"),
    [(".", "46 and 256"), ("Ġ", "32 and 256"), ("é", "233 and 256"), ("ab", "256 and 257")],
)
def test_one_string_with_two_ids_is_refused(special: str, ids: str) -> None:
    if special == "ab":
        model = BPEModel.from_ids(BYTES | {256: b"ab"}, [(b"a", b"b")], {"ab": 257}, "gpt2")
    else:
        model = trained("", 0, [special])
    with pytest.raises(OutputError, match=rf"the string '{special}' stands for two tokens, ids {ids}"):
        vocab_json(model)


def test_one_id_with_two_strings(tmp_path: Path) -> None:
    model = BPEModel.from_vocab(BYTES | {256: b" b"}, [(b" ", b"b")], [" b", " "], "gpt2")
    strings = json.loads(vocab_json(model))
    assert [strings[s] for s in (" ", "Ġ", " b", "Ġb")] == [32, 32, 256, 256]
    (tmp_path / "v").write_bytes(vocab_json(model))
    (tmp_path / "m").write_bytes(merges_txt(model))
    again = load_vocab_merges(tmp_path / "v", tmp_path / "m", [" b", " "], "gpt2")
    assert facts(again, *FROM_A_FILE) == facts(model, *FROM_A_FILE)


# --- reference files ------------------------------------------------------------------------------


def test_gpt2(test_data: Path, tmp_path: Path) -> None:
    files = test_data / "gpt2_vocab.json", test_data / "gpt2_merges.txt"
    model = load_vocab_merges(*files, [EOT], "gpt2")
    assert (model.n_vocab, model.n_merges, model.special_tokens) == (50257, 50000, {EOT: 50256})
    assert model.merge_pairs()[:2] == [(b" ", b"t"), (b" ", b"a")]
    assert model.merge_ids.tolist() == list(range(256, 50256))
    assert sum(left.startswith(b"#") for left, _ in model.merge_pairs()) == 8
    assert json.loads(vocab_json(model)) == json.loads(files[0].read_text("utf-8"))
    assert merges_txt(model) == b"#version: 0.2\n" + files[1].read_bytes().rstrip(b"\n") + b"\n"


def test_cs336_reference(test_data: Path) -> None:
    files = test_data / "train-bpe-reference-vocab.json", test_data / "train-bpe-reference-merges.txt"
    model = load_vocab_merges(*files, [EOT], "gpt2")
    assert (model.n_vocab, model.n_merges, model.special_tokens) == (500, 243, {EOT: 0})
