"""What texts cost, against counting by hand; every kind of input."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
from collections import Counter
from pathlib import Path

import bpenb
import numpy as np
import pytest
from bpenb import BpenbError, EncodeSettings, InputOptions, Tokenizer
from bpenb.inspecting import CostlyWord, Inspection, inspect_tokenizer
from bpenb.patterns import PATTERNS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles.pretokenizer import pretokens

EOT = "<|endoftext|>"
TEXT = (
    f"The lower tower, isn't it?{EOT}\n\u3000low\u00a0low 中文字 12345  \r\n été 🙂 {EOT}{EOT}x<s>y\x1c z"
    "\u2028 unbelievable unbelievable [b]"
)


def trained(text: str = TEXT, specials: tuple[str, ...] = (EOT, "<s>"), pattern: str = "gpt2") -> Tokenizer:
    return bpenb.train_from_iterator([text], vocab_size=300, special_tokens=specials, pattern=pattern)


def check(tokenizer: Tokenizer, documents: list[str], found: Inspection) -> None:
    """Hold all figures against plain Python."""
    ids = [i for document in documents for i in tokenizer.encode(document)]
    specials = list(tokenizer.special_tokens)
    cut = re.compile("|".join(map(re.escape, sorted(specials, key=len, reverse=True)))) if specials else None
    stretches = [part for document in documents for part in (cut.split(document) if cut else [document])]
    words = Counter(p for stretch in stretches for p in pretokens(stretch, tokenizer.pattern.regex))
    n_tokens = {word: len(tokenizer.encode_ordinary(word)) for word in words}
    spaced = [p for stretch in stretches for p in pretokens(stretch, PATTERNS["whitespace"])]
    figures = found.texts
    assert figures is not None
    assert figures.n_tokens == len(ids)
    assert figures.token_counts.tolist() == np.bincount(ids, minlength=tokenizer.n_vocab).tolist()
    assert figures.n_bytes == sum(len(document.encode()) for document in documents)
    assert figures.n_characters == sum(map(len, documents))
    assert figures.n_pretokens == sum(words.values())
    assert figures.n_words == sum(re.match(r"[^\s\x1c-\x1f]|[\x1c-\x1f]", p) is not None for p in spaced)
    assert figures.n_whole == sum(n for word, n in words.items() if n_tokens[word] == 1)
    ordinary = tokenizer.model.ordinary_vocab()
    counts = Counter(ids)
    assert figures.unused.tolist() == [i for i in sorted(ordinary) if not counts[i]]
    rare = sorted((n, i) for i, n in counts.items() if n < 3)
    assert figures.rare(3).tolist() == [i for _, i in rare]
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    assert figures.most_frequent(7) == common[:7]
    costly = [CostlyWord(word.encode(), n, n_tokens[word]) for word, n in words.items() if n_tokens[word] > 1]
    costly.sort(key=lambda w: (-w.extra, w.word))
    assert list(figures.costly) == costly[:20]
    # What is left of the tokens when those of the words are taken away are the special tokens.
    assert len(ids) - sum(n * n_tokens[word] for word, n in words.items()) == sum(
        counts[i] for i in tokenizer.special_tokens.values()
    )


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "whitespace", r"[a-z]+|[^a-z]"])
def test_figures(tmp_path: Path, pattern: str) -> None:
    tokenizer = trained(TEXT[:60], pattern=pattern)
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    found = inspect_tokenizer(tokenizer, tmp_path / "a.txt", workers=2)
    check(tokenizer, [TEXT], found)
    data = json.loads(json.dumps(found.to_json()))["texts"]
    assert found.texts is not None
    assert data["bytes_per_token"] == round(len(TEXT.encode()) / found.texts.n_tokens, 6)
    assert data["token_counts"] == found.texts.token_counts.tolist()
    assert data["files"] == [str(tmp_path / "a.txt")]
    header, *rows = found.csv_rows()
    assert [row[-1] for row in rows] == [found.texts.token_counts[row[0]] for row in rows]
    assert header[-1] == "count"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("aé中 \n\u0085\u2029.1\x1d") | st.sampled_from([EOT, " low", "<s>"])).map("".join))
def test_random_texts(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode())
    check(TOKENIZER, [text], inspect_tokenizer(TOKENIZER, tmp_path / "a.txt"))


TOKENIZER = trained()


def test_every_kind_of_input(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"low low"))
    (tmp_path / "c.jsonl").write_bytes(b'{"text": "lower"}\n{"text": "tower ' + EOT.encode() + b'"}\n')
    found = inspect_tokenizer(TOKENIZER, tmp_path)
    check(TOKENIZER, [TEXT, "low low", "lower", f"tower {EOT}"], found)
    assert found.texts is not None
    assert [Path(name).name for name in found.texts.files] == ["a.txt", "b.txt.gz", "c.jsonl"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    row = json.dumps({"text": TEXT}).encode()
    writer = threading.Thread(target=pipe.write_bytes, args=(row,))
    writer.start()
    found = inspect_tokenizer(TOKENIZER, [pipe])
    writer.join()
    check(TOKENIZER, [TEXT], found)
    assert found.texts is not None and found.texts.files == (str(pipe),)


def test_settings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low<s>low--low caf\xe9")
    options = EncodeSettings(InputOptions(document_separator="--"), errors="replace", special="none")
    found = inspect_tokenizer(TOKENIZER, tmp_path / "a.txt", options, max_memory="64GB", top=1)
    assert found.texts is not None
    documents = ["low<s>low", "low caf\ufffd"]
    ids = [i for document in documents for i in TOKENIZER.encode_ordinary(document)]
    assert found.texts.token_counts.tolist() == np.bincount(ids, minlength=TOKENIZER.n_vocab).tolist()
    assert found.texts.n_bytes == sum(len(document.encode()) for document in documents)
    assert (found.texts.n_words, len(found.texts.costly)) == (3, 1)


def test_bad_rows_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "low"}\nnonsense\n')
    with pytest.raises(BpenbError, match="line 2"):
        inspect_tokenizer(TOKENIZER, tmp_path / "a.jsonl")
    options = EncodeSettings(InputOptions(skip_bad_rows=True))
    found = inspect_tokenizer(TOKENIZER, tmp_path / "a.jsonl", options)
    assert found.texts is not None and found.texts.n_bad_rows == 1


@pytest.mark.parametrize("text", [b"", b"   "])
def test_empty_texts(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(text)
    found = inspect_tokenizer(TOKENIZER, tmp_path / "a.txt")
    check(TOKENIZER, [text.decode()], found)
    data = found.to_json()["texts"]
    if not text:
        assert (data["bytes_per_token"], data["words_per_token"]) == (None, None)


def test_progress_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    seen: list[bpenb.Progress] = []
    inspect_tokenizer(TOKENIZER, tmp_path / "a.txt", progress=seen.append)
    assert [p.phase for p in seen if p.finished] == ["encode", "count", "count"]
    assert {p.done for p in seen if p.finished} == {len(TEXT.encode())}


def test_what_makes_no_sense(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"ok\xff")
    with pytest.raises(TypeError, match="Tokenizer"):
        inspect_tokenizer("tokenizer")  # type: ignore[arg-type]
    with pytest.raises(BpenbError, match="top is -1"):
        inspect_tokenizer(TOKENIZER, top=-1)
    with pytest.raises(TypeError, match="top"):
        inspect_tokenizer(TOKENIZER, top=True)
    with pytest.raises(BpenbError, match="append_eot"):
        inspect_tokenizer(TOKENIZER, settings=EncodeSettings(append_eot=True))
    with pytest.raises(BpenbError, match=r"bad\.txt: byte 2 is not valid UTF-8"):
        inspect_tokenizer(TOKENIZER, tmp_path / "bad.txt")
    with pytest.raises(BpenbError, match="missing"):
        inspect_tokenizer(TOKENIZER, tmp_path / "missing.txt")
