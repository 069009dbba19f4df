"""The passage: the beginning of the texts, every character whole and in its place."""

from __future__ import annotations

import json
from pathlib import Path

import bpenb
import pytest
from bpenb.report_page.passage import group_tokens, take_passage
from hypothesis import given
from hypothesis import strategies as st

TEXT = "low lower été 中文 👩‍👩‍👧\n\n\tлес<|endoftext|>low " * 30


@pytest.fixture(scope="module")
def tokenizer() -> bpenb.Tokenizer:
    return bpenb.train_from_iterator([TEXT], vocab_size=290)


def take(tokenizer: bpenb.Tokenizer, path: Path, n: int, **settings: object):  # type: ignore[no-untyped-def]
    return take_passage(tokenizer, [path], bpenb.EncodeSettings(**settings), n)  # type: ignore[arg-type]


@given(st.text(max_size=30), st.lists(st.integers(1, 5)))
def test_groups_are_the_text_and_no_longer_than_needed(text: str, lengths: list[int]) -> None:
    data, tokens = text.encode(), []
    for length in [*lengths, *[1] * len(text.encode())]:
        if data:
            tokens.append(data[:length])
            data = data[length:]
    groups = group_tokens(tokens, range(len(tokens)))
    assert "".join(group.text for group in groups) == text
    assert [i for group in groups for i in group.ids] == list(range(len(tokens)))
    for group in groups:
        for end in range(1, len(group.ids)):
            with pytest.raises(UnicodeDecodeError):
                b"".join(tokens[group.ids[0] : group.ids[0] + end]).decode()


@pytest.mark.parametrize("n", [1, 2, 3, 17, 100, 250])
def test_it_is_the_beginning_of_the_text(tokenizer: bpenb.Tokenizer, tmp_path: Path, n: int) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8", newline="")
    passage = take(tokenizer, path, n)
    ids = tokenizer.encode(TEXT)
    assert n <= len(passage.ids) < n + 4
    assert passage.ids == ids[: len(passage.ids)] and not passage.is_whole
    assert TEXT.startswith(passage.text) and len(passage.documents) == 1


def test_all_of_a_short_text(tokenizer: bpenb.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8", newline="")
    ids = tokenizer.encode(TEXT)
    for more in (0, 1, 4, 1000):
        passage = take(tokenizer, path, len(ids) + more)
        assert passage.is_whole and passage.ids == ids and passage.text == TEXT
    assert not take(tokenizer, path, len(ids) - 8).is_whole


def test_rows_are_documents_of_their_own(tokenizer: bpenb.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = ["low", "", "été", "x<|endoftext|>y", "low lower"]
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    passage = take(tokenizer, path, 1000)
    assert ["".join(group.text for group in document) for document in passage.documents] == [
        row for row in rows if row
    ]
    assert passage.is_whole


def test_documents_between_separators(tokenizer: bpenb.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low--lower----été")
    passage = take(tokenizer, path, 1000, inputs=bpenb.InputOptions(document_separator="--"))
    assert ["".join(g.text for g in document) for document in passage.documents] == ["low", "lower", "été"]


def test_texts_one_after_the_other(tokenizer: bpenb.Tokenizer, tmp_path: Path) -> None:
    for name, text in (("a.txt", "low"), ("b.txt", ""), ("c.txt", "lower low")):
        (tmp_path / name).write_text(text)
    paths = [tmp_path / f"{name}.txt" for name in "abc"]
    passage = take_passage(tokenizer, paths, bpenb.EncodeSettings(), 1000)
    assert passage.ids == tokenizer.encode("low") + tokenizer.encode("lower low") and passage.is_whole
    assert len(passage.documents) == 2
