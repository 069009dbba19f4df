"""Tokenizers side by side, against encoding each word by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from bpenb import BpenbError, EncodeSettings, Tokenizer, compare_tokenizers
from bpenb.inspecting import Comparison, DifferingWord
from bpenb.inspecting import words as of_words
from tests.inspecting.test_texts import EOT, TEXT, trained
from tests.oracles.pretokenizer import pretokens

BYTES = {i: bytes([i]) for i in range(256)}
TOKENIZERS = {
    "trained": trained(TEXT[:80]),
    "more": trained(TEXT, ()),
    "other": trained(TEXT, ("<s>",), "o200k"),
    "bytes": Tokenizer(BYTES, [], [EOT], r"(?s:.)"),
}


def slow_differing(tokenizers: list[Tokenizer], documents: list[str], top: int) -> list[DifferingWord]:
    stretches = [s for document in documents for part in document.split(EOT) for s in part.split("<s>")]
    words = Counter(p for stretch in stretches for p in pretokens(stretch, tokenizers[0].pattern.regex))
    found = []
    for word, n in words.items():
        row = tuple(len(tokenizer.encode_ordinary(word)) for tokenizer in tokenizers)
        if max(row) > min(row):
            found.append(DifferingWord(word.encode(), n, row))
    return sorted(found, key=lambda w: (-w.difference, w.word))[:top]


def check(found: Comparison, tokenizers: dict[str, Tokenizer], files: dict[Path, str]) -> None:
    for one, (name, tokenizer) in zip(found.tokenizers, tokenizers.items(), strict=True):
        assert (one.name, one.n_vocab, one.pattern) == (name, tokenizer.n_vocab, str(tokenizer.pattern))
        assert [f.path for f in one.files] == list(map(str, files))
        assert [f.tokens for f in one.files] == [len(tokenizer.encode(text)) for text in files.values()]
        assert [f.text_bytes for f in one.files] == [len(text.encode()) for text in files.values()]
        assert one.total.tokens == sum(f.tokens for f in one.files)
        assert one.seconds > 0 and one.mb_per_second is not None
    for i, one in enumerate(tokenizers.values()):
        for j, other in enumerate(tokenizers.values()):
            assert found.shared[i, j] == sum(
                token in other.vocab.values() for token in set(one.vocab.values())
            )
    some, *others = (set(one.vocab.values()) for one in tokenizers.values())
    assert found.n_shared == sum(all(token in vocab for vocab in others) for token in some)
    differing = slow_differing(list(tokenizers.values()), list(files.values()), 20)
    assert list(found.differing) == differing
    assert len(differing) > 5


@pytest.mark.parametrize("slice_bytes", [1 << 20, 9])
def test_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_bytes: int) -> None:
    monkeypatch.setattr(of_words, "_SLICE_BYTES", slice_bytes)
    files = {tmp_path / "a.txt": TEXT, tmp_path / "b.txt": "lower unbelievable" * 3}
    for path, text in files.items():
        path.write_bytes(text.encode())
    found = compare_tokenizers(TOKENIZERS, list(files))
    check(found, TOKENIZERS, files)
    turned = dict(reversed(TOKENIZERS.items()))
    check(compare_tokenizers(turned, tmp_path, workers=2), turned, files)
    data = json.loads(json.dumps(found.to_json()))
    assert data["tokenizers"][0]["tokens"] == found.tokenizers[0].total.tokens
    assert data["shared_tokens"] == found.shared.tolist()
    assert data["differing_words"][0]["difference"] == found.differing[0].difference
    header, *rows = found.csv_rows()
    assert len(rows) == 4 * 3 and all(len(row) == len(header) for row in rows)
    totals = [row for row in rows if row[1] == "total"]
    assert [row[header.index("tokens")] for row in totals] == [one.total.tokens for one in found.tokenizers]


def test_special_tokens_that_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(f"a{EOT}b<s>".encode())
    options = EncodeSettings(special="none")
    found = compare_tokenizers(TOKENIZERS, tmp_path / "a.txt", options)
    expected = [len(one.encode_ordinary(f"a{EOT}b<s>")) for one in TOKENIZERS.values()]
    assert [one.total.tokens for one in found.tokenizers] == expected
    assert any(b"endoftext" in word.word for word in found.differing)


def test_an_empty_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    found = compare_tokenizers(TOKENIZERS, tmp_path / "a.txt")
    assert found.differing == ()
    assert found.to_json()["tokenizers"][0]["bytes_per_token"] is None


def test_what_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(BpenbError, match="two or more"):
        compare_tokenizers({"one": TOKENIZERS["bytes"]}, tmp_path)
    with pytest.raises(TypeError, match="b must be a Tokenizer"):
        compare_tokenizers({"a": TOKENIZERS["bytes"], "b": "x"}, tmp_path)  # type: ignore[dict-item]
    with pytest.raises(BpenbError, match="top"):
        compare_tokenizers(TOKENIZERS, tmp_path, top=-2)
    with pytest.raises(BpenbError, match="without an input"):
        compare_tokenizers(TOKENIZERS, tmp_path)
