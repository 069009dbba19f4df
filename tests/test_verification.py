"""`bpenb.verify` and `verify=True`: what passes, what is refused, and that a wrong result is not given."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
import pytest
from bpenb.encoding.encoder import Encoder
from bpenb.errors import CountsError, ModelError, TrainingError, VerificationError
from bpenb.training import TIE_MODES
from bpenb.training.driver import MergeResult

TEXT = "the low lower lowest, the newer newest; aaaa aaa abab isn't 12345 été\n" * 30
SPECIALS = ("<|endoftext|>", "<|pad|>")


@pytest.fixture(scope="module")
def counts() -> bpenb.WordCounts:
    return bpenb.count_words_from_iterator([TEXT], special_tokens=SPECIALS)


@pytest.mark.parametrize("ties", TIE_MODES)
def test_what_was_trained_is_right_also_when_loaded(
    counts: bpenb.WordCounts, ties: str, tmp_path: Path
) -> None:
    trained = bpenb.train_from_counts(counts, vocab_size=290, ties=ties, verify=True)
    assert trained.report is not None
    told = trained.report["verification"]
    assert told["n_words"] == told["n_encoded_words"] == told["n_first_words"] == len(counts)
    assert told["n_merges"] == told["n_first_merges"] == len(trained.merges)
    trained.save(tmp_path / "tokenizer")
    checked = bpenb.verify(bpenb.Tokenizer.load(tmp_path / "tokenizer"), counts, vocab_size=290)
    assert checked[:5] == tuple(told.values())[:5]


@pytest.mark.parametrize("ties", TIE_MODES)
def test_a_special_token_that_is_a_byte(ties: str) -> None:
    """In huggingface mode it shares the byte's id, and such bytes are numbered first."""
    counts = bpenb.count_words_from_iterator([TEXT.replace(",", ".")], special_tokens=["<s>", "."])
    tokenizer = bpenb.train_from_counts(counts, vocab_size=290, ties=ties, verify=True)
    assert bpenb.verify(tokenizer, counts, vocab_size=290).n_merges == len(tokenizer.merges)


def test_every_door_verifies(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(TEXT, encoding="utf-8")
    by_file = bpenb.train(tmp_path / "corpus.txt", vocab_size=280, verify=True)
    by_text = bpenb.train_from_iterator([TEXT], vocab_size=280, verify=True)
    for tokenizer in (by_file, by_text):
        assert tokenizer.report is not None and tokenizer.report["verification"]["n_merges"] == 23
    unverified = bpenb.train_from_iterator([TEXT], vocab_size=280)
    assert unverified.report is not None and unverified.report["verification"] is None
    assert unverified.merges == by_text.merges


@pytest.mark.parametrize("mode", ["parts exchanged", "wrong count", "wrong tokens left"])
def test_a_trainer_that_errs_is_caught(
    counts: bpenb.WordCounts, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bpenb.api

    learn = bpenb.api.learn

    def wrong(*args: Any) -> MergeResult:
        result = learn(*args)
        if mode == "wrong count":
            return result._replace(merge_counts=result.merge_counts - 1)
        if mode == "wrong tokens left":
            return result._replace(n_tokens_left=result.n_tokens_left + 1)
        return result._replace(merges=result.merges[:, ::-1].copy())

    monkeypatch.setattr(bpenb.api, "learn", wrong)
    with pytest.raises(VerificationError) as caught:
        bpenb.train_from_counts(counts, vocab_size=280, verify=True)
    monkeypatch.undo()
    merges = bpenb.train_from_counts(counts, vocab_size=280).merges
    first = {
        "parts exchanged": next(rank for rank, (left, right) in enumerate(merges) if left != right),
        "wrong count": 0,
        "wrong tokens left": None,
    }
    assert caught.value.rank == first[mode]
    assert pickle.loads(pickle.dumps(caught.value)).rank == caught.value.rank


def test_an_encoder_that_errs_is_caught(counts: bpenb.WordCounts, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = bpenb.train_from_counts(counts, vocab_size=280)
    encode_words = Encoder.encode_words

    def wrong(self: Encoder, *words: Any) -> Any:
        ids, offsets = encode_words(self, *words)
        ids[np.flatnonzero(ids == 270)[:1]] = 271
        return ids, offsets

    monkeypatch.setattr(Encoder, "encode_words", wrong)
    with pytest.raises(VerificationError, match=r"the word b'.*' is encoded as \[.*271.*270"):
        bpenb.verify(tokenizer, counts)


def test_words_are_encoded_one_by_one(counts: bpenb.WordCounts) -> None:
    tokenizer = bpenb.train_from_counts(counts, vocab_size=300)
    ids, offsets = tokenizer.encoder.encode_words(counts.word_bytes, counts.word_offsets)
    for w, word in enumerate(counts.to_dict()):
        alone = tokenizer.encode_ordinary(word.decode())
        assert ids[offsets[w] : offsets[w + 1]].tolist() == alone


def test_limits_of_the_training_are_told(counts: bpenb.WordCounts) -> None:
    trained = bpenb.train_from_counts(counts, vocab_size=400, min_frequency=40, max_token_length=3)
    kept = {"vocab_size": 400, "min_frequency": 40, "max_token_length": 3}
    assert bpenb.verify(trained, counts, **kept).n_merges == len(trained.merges)
    with pytest.raises(VerificationError, match="is not that of exact BPE"):
        bpenb.verify(trained, counts, vocab_size=400, min_frequency=40)


def test_what_cannot_be_verified(counts: bpenb.WordCounts) -> None:
    tokenizer = bpenb.train_from_counts(counts, vocab_size=270)
    other_text = bpenb.count_words_from_iterator(["zebra zebra zebra"], special_tokens=SPECIALS)
    with pytest.raises(VerificationError, match="rank 0 "):
        bpenb.verify(tokenizer, other_text)
    for other in ({"pattern": "cl100k", "special_tokens": SPECIALS}, {"special_tokens": ["<s>"]}):
        with pytest.raises(CountsError, match="count the text again"):
            bpenb.verify(tokenizer, bpenb.count_words_from_iterator([TEXT], **other))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="WordCounts expected"):
        bpenb.verify(tokenizer, {"a": 1})  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="seed is -1"):
        bpenb.verify(tokenizer, counts, seed=-1)
    partial = bpenb.Tokenizer({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])
    with pytest.raises(ModelError, match="lacks the single byte 0"):
        bpenb.verify(partial, bpenb.WordCounts.from_dict({"ab": 1}))


def test_very_long_words_are_not_encoded_by_the_quadratic_rule() -> None:
    counts = bpenb.WordCounts.from_dict({"a" * 1001: 2, "b" * 1000: 3, "ab": 1})
    checked = bpenb.verify(bpenb.train_from_counts(counts, vocab_size=270), counts)
    assert (checked.n_words, checked.n_first_words, checked.n_encoded_words) == (3, 3, 2)


def test_nothing_to_learn_is_right() -> None:
    for words in ({}, {"a": 3}):
        counts = bpenb.WordCounts.from_dict(words)
        tokenizer = bpenb.train_from_counts(counts, vocab_size=300, verify=True)
        assert bpenb.verify(tokenizer, counts, vocab_size=300).n_merges == 0


def test_a_tokenizer_of_unknown_ties(counts: bpenb.WordCounts, tmp_path: Path) -> None:
    bpenb.train_from_counts(counts, vocab_size=270).save(tmp_path / "tokenizer")
    loaded = bpenb.Tokenizer.load(tmp_path / "tokenizer" / "tokenizer.json")
    with pytest.raises(ModelError, match="'unknown'"):
        bpenb.verify(loaded, counts)
