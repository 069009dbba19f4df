"""Merge for merge and id for id against the live trainers and encoders of others."""

from __future__ import annotations

import functools
import hashlib
import random
import sysconfig
from pathlib import Path

import bpenb
import pytest
import rustbpe
import tokenizers
from bpenb.patterns import PATTERNS
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import models, pre_tokenizers, trainers

CORPUS_EN_DIGEST = "3c6c087bcc018a2a4b7cb99f5b68ec7331353704967d07ade329a474acc0ee0c"


def digest(merges: list[tuple[bytes, bytes]]) -> str:
    return hashlib.sha256("".join(f"{a.hex()} {b.hex()}\n" for a, b in merges).encode()).hexdigest()


@functools.cache
def library_text() -> tuple[str, ...]:
    """The standard library's own modules: real text that every machine has."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = []
    for path in sorted(folder.glob("*.py")) + sorted((folder / "email").glob("*.py")):
        try:
            texts.append(path.read_bytes().decode())
        except UnicodeDecodeError:
            continue
    return tuple(texts)


def hugging_face(documents: list[str], vocab_size: int, special_tokens: list[str]) -> HuggingFaceTokenizer:
    tokenizer = HuggingFaceTokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special_tokens,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=1,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def same_as_hugging_face(
    documents: list[str], vocab_size: int, folder: Path, special_tokens: list[str]
) -> None:
    theirs = hugging_face(documents, vocab_size, special_tokens)
    ours = bpenb.train_from_iterator(
        documents, vocab_size=vocab_size, special_tokens=special_tokens, ties="huggingface"
    )
    ours.save(folder / "ours")
    read_back = HuggingFaceTokenizer.from_file(str(folder / "ours" / "tokenizer.json"))
    assert read_back.get_vocab() == theirs.get_vocab()
    theirs.model.save(str(folder))
    their_merges = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")[1:]
    our_merges = (folder / "ours" / "merges.txt").read_text(encoding="utf-8").split("\n")[1:]
    assert our_merges == their_merges
    for text in documents[:3]:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids


def test_hugging_face_on_the_standard_library(tmp_path: Path) -> None:
    assert tokenizers.__version__ == "0.23.3"
    same_as_hugging_face(list(library_text()), 8000, tmp_path, ["<|endoftext|>"])


def random_documents(seed: int) -> list[str]:
    choose = random.Random(seed)
    alphabet = choose.choice(["ab", "abc ", "aé中 ", "ab'st 1\n", "xyz!? \t"])
    return ["".join(choose.choices(alphabet, k=choose.randint(0, 60))) for _ in range(choose.randint(1, 6))]


@pytest.mark.parametrize("seed", range(20))
def test_hugging_face_on_small_random_corpora(seed: int, tmp_path: Path) -> None:
    for case in range(50):
        documents = random_documents(1000 * seed + case)
        theirs = hugging_face(documents, 300, ["<s>"])
        ours = bpenb.train_from_iterator(
            documents, vocab_size=300, special_tokens=["<s>"], ties="huggingface"
        )
        theirs.model.save(str(tmp_path))
        expected = (tmp_path / "merges.txt").read_text(encoding="utf-8").split("\n")[1:-1]
        assert printable(ours) == expected, documents


def printable(tokenizer: bpenb.Tokenizer) -> list[str]:
    from bpenb.formats.byte_map import to_printable

    return [f"{to_printable(a)} {to_printable(b)}" for a, b in tokenizer.merges]


def rust_merges(documents: list[str], vocab_size: int) -> list[tuple[bytes, bytes]]:
    theirs = rustbpe.Tokenizer()
    theirs.train_from_iterator(iter(documents), vocab_size, pattern=PATTERNS["gpt2"])
    ranks = theirs.get_mergeable_ranks()
    token_bytes = {rank: bytes(data) for data, rank in ranks}
    return [token_bytes[i] for i in range(256, len(token_bytes))]  # type: ignore[misc]


def test_rustbpe_on_the_standard_library() -> None:
    documents = list(library_text())
    ours = bpenb.train_from_iterator(documents, vocab_size=8000, special_tokens=(), ties="rustbpe")
    theirs = rust_merges(documents, 8000)
    assert [a + b for a, b in ours.merges] == theirs
    assert [ours.token_bytes(i) for i in range(256, ours.n_vocab)] == theirs


@pytest.mark.parametrize("seed", range(20))
def test_rustbpe_on_small_random_corpora(seed: int) -> None:
    for case in range(50):
        documents = random_documents(7000 * seed + case)
        ours = bpenb.train_from_iterator(documents, vocab_size=280, special_tokens=(), ties="rustbpe")
        assert [a + b for a, b in ours.merges] == rust_merges(documents, 280), documents


def test_reference_merges_of_corpus_en(test_data: Path) -> None:
    vocab, merges = bpenb.train_bpe(test_data / "corpus.en", 500, ["<|endoftext|>"])
    assert len(merges) == 243
    assert digest(merges) == CORPUS_EN_DIGEST
    assert len(vocab) == 500 and vocab[256] == b"<|endoftext|>"
    from bpenb.formats.byte_map import from_printable

    lines = (
        (test_data / "train-bpe-reference-merges.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    )
    assert merges == [tuple(from_printable(part) for part in line.split(" ")) for line in lines]


@pytest.mark.parametrize("engine", ["compiled", "regex"])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_workers_never_change_a_merge(engine: str, workers: int, tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("<|endoftext|>".join(library_text()[:40]), encoding="utf-8", newline="")
    one = bpenb.train(path, vocab_size=2000, workers=1)
    assert bpenb.train(path, vocab_size=2000, workers=workers, engine=engine).merges == one.merges  # type: ignore[arg-type]


def test_round_trip_of_a_library(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("<|endoftext|>".join(library_text()), encoding="utf-8", newline="")
    bpenb.train(path, vocab_size=4000).save(tmp_path / "tokenizer")
    tokenizer = bpenb.Tokenizer.load(tmp_path / "tokenizer")
    text = path.read_bytes().decode()
    assert tokenizer.decode(tokenizer.encode(text)) == text
