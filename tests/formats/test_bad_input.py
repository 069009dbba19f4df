"""Files that are no tokenizer, however large or strange: one error, soon, that names file, line or key."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from bpenb.errors import FormatError
from bpenb.formats import load_model
from bpenb.formats.hf_json import tokenizer_json
from tests.formats.models import EOT, trained

MEGA = 1 << 20
SECONDS = 20  # a hundred times what it takes


def refused(path: Path, message: str) -> None:
    started = time.perf_counter()
    with pytest.raises(FormatError, match=message) as caught:
        load_model(path, pattern="gpt2")
    assert time.perf_counter() - started < SECONDS
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < len(str(path)) + 400


def document() -> Any:
    return json.loads(tokenizer_json(trained("ab ab abc", 3, [EOT], pattern="cl100k")))


NONSENSE = {
    "zeros": bytes(100 * MEGA),
    "newlines": b"\n" * (100 * MEGA),
    "letters": b"a" * (100 * MEGA),
    "numbers": b"[" + b"1," * (50 * MEGA),
    "not UTF-8": b"\xff\xfe" * (50 * MEGA),
}


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json", "x.tiktoken"])
@pytest.mark.parametrize("kind", NONSENSE)
def test_100_megabytes_of_nonsense(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(NONSENSE[kind])
    refused(path, "line 1: |not a tokenizer's file: it has 104857600 lines; ids are")


def test_100_megabytes_of_merges(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    path = tmp_path / "merges.txt"
    for data, message in [
        (b"\n" * (100 * MEGA), "merges.txt: not a tokenizer's file: it has 104857600 lines"),
        (b"x" * (100 * MEGA), "merges.txt: line 1: must be two parts and a space between, not 'xxx"),
    ]:
        path.write_bytes(data)
        with pytest.raises(FormatError, match=message) as caught:
            load_model(tmp_path)
        assert len(str(caught.value)) < len(str(path)) + 200


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json", "bpenb.json"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deep_json(tmp_path: Path, name: str, opening: str, closing: str) -> None:
    path = tmp_path / name
    for depth in (20_000, 3_000_000):
        path.write_text(opening * depth + "1" + closing * depth)
        refused(path, "it is nested too deeply|line 1: not a tokenizer's JSON: it must begin with")


def test_deep_json_inside(tmp_path: Path) -> None:
    text = json.dumps(document()).replace(
        '"normalizer": null', '"normalizer": ' + "[" * 90_000 + "]" * 90_000
    )
    (tmp_path / "tokenizer.json").write_text(text)
    refused(tmp_path / "tokenizer.json", "it is nested too deeply")


def test_a_key_twice_among_many(tmp_path: Path) -> None:
    rows = [f'"k{i}": {i}' for i in range(300_000)]
    (tmp_path / "vocab.json").write_text("{" + ", ".join([*rows, '"k299999": 0']) + "}")
    refused(tmp_path / "vocab.json", "key 'k299999' stands twice in one object")


def test_folders_of_something_else(tmp_path: Path) -> None:
    refused(
        tmp_path, "holds no tokenizer: there is no bpenb.json, tokenizer.json, or vocab.json with merges.txt"
    )
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(FormatError, match=r"tokenizer.json: cannot be read"):
        load_model(tmp_path)
    (tmp_path / "notes.txt").write_text("no tokenizer")
    refused(tmp_path / "notes.txt", "not a tokenizer: must be a folder, a .json or a .tiktoken file")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    refused(tmp_path / "config.json", "not a tokenizer.json: it has no object `model`")
    (tmp_path / "model.json").write_text('{"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}')
    refused(tmp_path / "model.json", "model.type is 'Unigram'; only BPE is supported")


def test_merges_whose_parts_are_missing(tmp_path: Path) -> None:
    top = document()
    del top["model"]["vocab"]["b"]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(top))
    refused(path, r"merge of rank 0: b'a' \+ b'b': its part b'b' is not in the vocab")
    top = document()
    top["model"]["merges"].reverse()
    path.write_text(json.dumps(top))
    refused(path, "merge of rank 0: .* is made by no merge before it")


def test_ids_twice(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    top = document()
    top["model"]["vocab"]["ab"] = 99
    path.write_text(json.dumps(top))
    refused(path, "tokens 'c' and 'ab' have the same id 99")
    top = document()
    top["added_tokens"].append({"id": 256, "content": "<other>", "normalized": False})
    path.write_text(json.dumps(top))
    refused(path, r"special tokens '<\|endoftext\|>' and '<other>' have the same id 256")
    (tmp_path / "x.tiktoken").write_bytes(b"YQ== 0\nYg== 0\n")
    refused(tmp_path / "x.tiktoken", "line 2: rank 0 is that of line 1")
