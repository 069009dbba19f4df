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
from bpenb.errors import BpenbError, CorpusError, CountsError, OutputError, PatternError, TrainingError


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
        ({"min_word_count": 0}, CountsError, "min_word_count is 0"),
        ({"min_word_count": 1.0}, TypeError, "min_word_count must be an int"),
        ({"sample": 2}, CorpusError, "sample is 2"),
        ({"seed": -1}, CorpusError, "seed is -1"),
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


def test_rare_words_are_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("low low low lower lower once")
    options = {"vocab_size": 300, "special_tokens": (), "min_word_count": 2}
    counts = bpenb.count_words(path, special_tokens=())
    kept, dropped = counts.drop_rare(2)
    assert kept.to_dict() == {b" low": 2, b" lower": 2}
    expected = bpenb.train_from_counts(kept, vocab_size=300)
    for tokenizer in (
        bpenb.train(path, **options),  # type: ignore[arg-type]
        bpenb.train_from_iterator([path.read_text()], **options),  # type: ignore[arg-type]
        bpenb.train_from_counts(counts, vocab_size=300, min_word_count=2),
    ):
        assert tokenizer.merges == expected.merges
        assert tokenizer.report is not None
        assert tokenizer.report["dropped_words"] == dropped._asdict()
        assert tokenizer.report["sizes"]["distinct_words"] == 2
    assert dropped == (2, 2, 2, 8, 8 / 28)


def test_mixtures_of_files(tmp_path: Path) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("low lower<|endoftext|>" * 40)
    b.write_text("zebra zebras<|endoftext|>" * 40)
    weighted = bpenb.train({a: 1, b: 5}, vocab_size=270)
    assert weighted.merges == bpenb.train([a, b, b, b, b, b], vocab_size=270).merges
    assert weighted.report is not None and weighted.report["mixture"]["weights"][1]["weight"] == 5
    sampled = [bpenb.count_words([a, b], sample=0.5, seed=1, workers=n) for n in (1, 3)]
    assert sampled[0].equals(sampled[1]) and 10 < sampled[0].to_dict()[b"low"] < 30
    capped = bpenb.count_words([a, b], max_bytes_per_source=101)
    assert capped.to_dict() == {b" lower": 5, b" zebras": 4, b"low": 5, b"zebra": 4}
    shards = [bpenb.count_words([a, b], shard=f"{i}/3") for i in (1, 2, 3)]
    assert bpenb.merge_counts(shards).equals(bpenb.count_words([a, b]))
    with pytest.raises(CountsError, match="shards 2 of 3"):
        bpenb.merge_counts([shards[0], shards[2]])
    with pytest.raises(CountsError, match="1 ≤ i ≤ n"):
        bpenb.count_words(a, shard="4/3")


def test_counts_to_files_and_together(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("low low lower " * 300)
    names = [tmp_path / f"{i}.npz" for i in (1, 2)]
    for i, name in enumerate(names, 1):
        report = bpenb.count_to_file(path, name, shard=f"{i}/2", workers=1)
        assert report["status"] == "counted" and report["seconds"]["count"] > 0
        assert (report["shard"]["number"], report["shard"]["n_shards"]) == (i, 2)
        assert bpenb.count_to_file(path, name, shard=f"{i}/2")["status"] == "complete"
    report = bpenb.merge_to_file(names, tmp_path / "all.npz")
    assert WordCounts.load(tmp_path / "all.npz").equals(bpenb.count_words(path))
    assert (report["words"], report["missing"], report["dropped_words"]["n_words"]) == (4, "", 0)
    with pytest.raises(OutputError, match="holds shard 1/2"):
        bpenb.count_to_file(path, names[0])


def test_an_empty_shard_is_complete_as_well(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("word")
    for _ in range(2):
        statuses = [
            bpenb.count_to_file(path, tmp_path / f"{i}.npz", shard=f"{i}/3")["status"] for i in (1, 2, 3)
        ]
    assert statuses == ["complete"] * 3
    assert bpenb.merge_counts([tmp_path / f"{i}.npz" for i in (1, 2, 3)]).to_dict() == {b"word": 1}


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
