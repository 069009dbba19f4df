"""The public verbs on hard cases: training from text, files, iterators and counts."""

from __future__ import annotations

import inspect
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import bpenb
import pytest
from bpenb import WordCounts
from bpenb.errors import BpenbError, CorpusError, CountsError, PatternError, TrainingError


def merges_of(text: str, n_merges: int = 50, **options: object) -> list[str]:
    specials = options.setdefault("special_tokens", ())
    size = 256 + len(tuple(specials)) + n_merges  # type: ignore[arg-type]
    tokenizer = bpenb.train_from_iterator([text], vocab_size=size, **options)  # type: ignore[arg-type]
    return [f"{a.decode(errors='replace')}+{b.decode(errors='replace')}" for a, b in tokenizer.merges]


CASES = [
    ("aaaa", {}, ["a+a", "aa+aa"]),
    ("aaaaa", {}, ["a+a", "aa+aa", "aaaa+a"]),
    ("ababab", {}, ["a+b", "ab+ab", "abab+ab"]),
    ("bc a aaa", {}, ["a+a", "b+c", "aa+a", " +aaa", " +a"]),
    ("aaaa bc bc", {"n_merges": 1}, ["a+a"]),
    (" b ab", {"n_merges": 1}, ["a+b"]),
    ("x<|endoftext|>y", {"special_tokens": ["<|endoftext|>"]}, []),
    ("ab ab<s>ab ab", {"special_tokens": ["<s>"]}, ["a+b", " +ab"]),
    ("a.b", {"special_tokens": ["."]}, []),
    ("low low[END OF DOC]low low", {"special_tokens": ["[END OF DOC]"], "n_merges": 2}, ["o+w", "l+ow"]),
    ("aa(x)?aa", {"special_tokens": ["(x)?"]}, ["a+a"]),
]


@pytest.mark.parametrize(("text", "options", "expected"), CASES)
def test_training_cases(text: str, options: dict[str, object], expected: list[str]) -> None:
    assert merges_of(text, **options) == expected  # type: ignore[arg-type]


def test_sennrichs_example_split_on_whitespace() -> None:
    text = "low " * 5 + "lower " * 2 + "widest " * 3 + "newest " * 6
    assert merges_of(text, 12, pattern="whitespace") == [
        "s+t", "e+st", "o+w", "l+ow", "w+est", "n+e", "ne+west", "w+i", "wi+d", "wid+est", "low+e", "lowe+r",
    ]  # fmt: skip


def test_vocab_stops_when_pairs_run_out() -> None:
    tokenizer = bpenb.train_from_iterator(["ab"], vocab_size=300, special_tokens=())
    assert tokenizer.n_vocab == 257 and tokenizer.merges == [(b"a", b"b")]


def test_special_tokens_in_vocab() -> None:
    tokenizer = bpenb.train_from_iterator(["ab"], vocab_size=258, special_tokens=["<s>", "</s>", "<s>"])
    assert tokenizer.vocab[256] == b"<s>" and tokenizer.vocab[257] == b"</s>" and tokenizer.n_vocab == 258
    assert bpenb.train_from_iterator(["a.b"], vocab_size=257, special_tokens=["."]).n_vocab == 257


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocab_size": 256}, TrainingError, "vocab_size is 256"),
        ({"vocab_size": -1}, TrainingError, "at least 0"),
        ({"vocab_size": True}, TypeError, "not bool"),
        ({"vocab_size": 300.0}, TypeError, "not float"),
        ({"ties": "no"}, TrainingError, "unknown ties"),
        ({"pattern": "gpt5"}, PatternError, "unknown pattern 'gpt5'"),
        ({"pattern": "(a"}, PatternError, "does not compile"),
        ({"pattern": 3}, TypeError, "pattern must be a str"),
        ({"special_tokens": [""]}, TrainingError, "must not be empty"),
        ({"special_tokens": "<s>"}, TypeError, "sequence of str"),
        ({"special_tokens": [1]}, TypeError, "must be a str"),
        ({"workers": 0}, TrainingError, "workers must be at least 1"),
        ({"workers": 1.5}, TypeError, "workers must be an int"),
        ({"min_frequency": -2}, TrainingError, "min_frequency is -2"),
        ({"max_token_length": 0}, TrainingError, "max_token_length is 0"),
        ({"errors": "ignore"}, BpenbError, "errors is 'ignore'"),
        ({"engine": "rust"}, BpenbError, "engine is 'rust'"),
        ({"progress": 3}, TypeError, "progress must be"),
    ],
)
def test_bad_options_before_any_work(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    def never() -> Iterator[str]:
        raise AssertionError("the documents were looked at")
        yield ""

    with pytest.raises(error, match=message):
        bpenb.train_from_iterator(never(), **options)  # type: ignore[arg-type]
    with pytest.raises(error, match=message):
        bpenb.train("no-such-file.txt", **options)  # type: ignore[arg-type]


def test_missing_and_wrong_inputs(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nothing\.txt"):
        bpenb.train(tmp_path / "nothing.txt")
    with pytest.raises(CorpusError, match="is a folder"):
        bpenb.train(tmp_path)
    with pytest.raises(CorpusError, match="no input files"):
        bpenb.count_words([])
    with pytest.raises(TypeError, match="put a single document into a list"):
        bpenb.count_words_from_iterator("text")
    with pytest.raises(TypeError, match="must be WordCounts"):
        bpenb.train_from_counts({"a": 1})  # type: ignore[arg-type]


def test_counts_train_as_the_text_they_were_made_of(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    choose = random.Random(4)
    path.write_text(" ".join(choose.choices(["the", "cat", "sat", "on", "mats", "<|endoftext|>"], k=3000)))
    counts = bpenb.count_words(path)
    counts.save(tmp_path / "counts.npz")
    direct = bpenb.train(path, vocab_size=280)
    assert (
        bpenb.train_from_counts(WordCounts.load(tmp_path / "counts.npz"), vocab_size=280).merges
        == direct.merges
    )
    assert bpenb.train_from_counts(counts, vocab_size=280, pattern="gpt2").vocab == direct.vocab
    with pytest.raises(CountsError, match="made with pattern"):
        bpenb.train_from_counts(counts, pattern="cl100k")
    with pytest.raises(CountsError, match="made with special tokens"):
        bpenb.train_from_counts(counts, special_tokens=["<s>"])


def test_counts_of_different_engines_are_not_merged() -> None:
    compiled = bpenb.count_words_from_iterator(["a b"])
    by_regex = bpenb.count_words_from_iterator(["a b"], engine="regex")
    assert compiled.engine == "compiled" and compiled.unicode_version == "16.0.0"
    assert compiled.to_dict() == by_regex.to_dict()
    with pytest.raises(CountsError, match="engine"):
        compiled.merge(by_regex)


def test_documents_are_never_looked_up_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("other words")
    counts = bpenb.count_words_from_iterator([str(path)])
    assert b"other" not in counts.to_dict()


def test_report_tells_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("low low lower " * 50)
    report = bpenb.train(path, vocab_size=262).report
    assert report is not None
    assert report["settings"]["vocab_size"] == 262 and report["settings"]["engine"] == "compiled"
    assert report["sizes"]["text_bytes"] == 14 * 50
    assert report["sizes"]["merges"] == 5
    assert {"count", "merge", "model"} <= set(report["seconds"])
    assert report["peak_memory_bytes"] > 50e6
    assert report["longest_tokens"][0] == max(report["longest_tokens"], key=len)


def test_progress_reports_each_phase(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("low low lower " * 50)
    seen: list[bpenb.Progress] = []
    bpenb.train(path, vocab_size=260, progress=seen.append)
    assert [p.phase for p in seen if p.done == p.total] == ["count", "merge"]


def test_signatures_are_those_that_were_promised() -> None:
    parameters = inspect.signature(bpenb.train).parameters
    assert list(parameters)[:9] == [
        "files", "vocab_size", "special_tokens", "pattern", "ties", "min_frequency", "max_token_length",
        "workers", "progress",
    ]  # fmt: skip
    assert parameters["vocab_size"].default == 32000 and parameters["special_tokens"].default == (
        "<|endoftext|>",
    )
    assert list(inspect.signature(bpenb.train_bpe).parameters)[:3] == [
        "input_path",
        "vocab_size",
        "special_tokens",
    ]


def test_importing_the_package_is_cheap() -> None:
    code = "import bpenb, sys; assert not {'numpy', 'numba', 'regex', 'rich'} & set(sys.modules); dir(bpenb)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        bpenb.trian  # noqa: B018


SCRIPT = """
import sys, bpenb
tokenizer = bpenb.train(sys.argv[1], vocab_size=270, engine=sys.argv[2], workers=2)
print(len(tokenizer.merges))
"""


@pytest.mark.parametrize("engine", ["compiled", "regex"])
def test_a_script_without_a_main_guard(engine: str, tmp_path: Path) -> None:
    script, corpus = tmp_path / "script.py", tmp_path / "corpus.txt"
    script.write_text(SCRIPT)
    corpus.write_text("low lower lowest\n" * 400_000)  # large enough for worker processes
    done = subprocess.run(
        [sys.executable, str(script), str(corpus), engine], capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr
