"""The script that checks published merges: on a text that is at hand, and on one that differs."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.published import PUBLISHED, Published, main
from tests.oracles import trainer

from benchmarks import published

DATA = Path(os.environ.get("BPENB_TEST_DATA", "missing"))
TEXT = "low lower lowest newer newest wider widest " * 5


@pytest.mark.skipif(not (DATA / "corpus.en").exists(), reason="needs BPENB_TEST_DATA with corpus.en")
def test_corpus_en(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus.en", str(DATA / "corpus.en"), "--verify"]) == 0
    assert capsys.readouterr().out.startswith("equal    the first 243 merges: 3c6c087b")


def test_a_text_whose_merges_an_oracle_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    words = Counter(word.encode() for word in re.findall(r" ?[a-z]+|\s+(?!\S)|\s+", TEXT))
    merges, _ = trainer.train(words, 8)
    tokens = [bytes([byte]) for byte in range(256)]
    text = ""
    for left, right in merges:
        text += f"{tokens[left].hex()} {tokens[right].hex()}\n"
        tokens.append(tokens[left] + tokens[right])
    digests = {8: hashlib.sha256(text.encode()).hexdigest()}
    monkeypatch.setitem(PUBLISHED, "text", Published(digests, len(TEXT) + 1, len(words)))
    assert main(["text", str(tmp_path / "text.txt")]) == 0
    out = capsys.readouterr().out
    assert (
        "DIFFERS  bytes" in out and "equal    distinct words" in out and "equal    the first 8 merges" in out
    )
    monkeypatch.setitem(PUBLISHED, "text", Published({8: digests[8], 9: "0", 3000: "1"}))
    assert main(["text", str(tmp_path / "text.txt")]) == 1
    out = capsys.readouterr().out
    assert out.count("equal") == 1 and out.count("DIFFERS") == 2 and "there are" in out


def test_digests_are_whole_and_a_missing_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for known in published.PUBLISHED.values():
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in known.digests.values())
    with pytest.raises(SystemExit) as caught:
        main(["tinystories", "missing.txt"])
    assert caught.value.code == 2 and "missing.txt" in capsys.readouterr().err
