"""Every kind of file counts as its text does, with any engine, in threads and in processes."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpenb
import pytest
from bpenb import InputOptions, WordCounts
from bpenb.corpus import Mixture
from bpenb.counting import CountResult, CountSettings, Workforce, count_files, made_by
from bpenb.errors import CorpusError, CountsError, InvalidUtf8Error
from bpenb.patterns import resolve_pattern
from bpenb.progress import Progress, Reporter
from tests.corpus.writing import ROW_KINDS, TEXT_KINDS, write_rows, write_text
from tests.oracles.word_counter import count_words

SPECIALS = ("<s>", "<s><s>")
GPT2 = resolve_pattern("gpt2").regex
DOCUMENTS = [
    "The low tower isn't lower.\r\n\r\n  Zwölf Boxkämpfer<s>jagen\n",
    "",
    "\ufeff a BOM, and one within \ufeff",
    "下雨天留客天留我不留 🙂 \x00 \u3000 x",
    "word " * 400 + "<s><s>" + "x" * 300,
    "trailing space ",
    " leading space\n\n",
]
WAYS = [
    ("compiled", Workforce(1)),
    ("compiled", Workforce(2)),
    ("compiled", Workforce(2, "threads", task_bytes=40)),
    ("compiled", Workforce(1, "processes", task_bytes=40)),
    ("regex", Workforce(1)),
    ("regex", Workforce(1, task_bytes=40)),
    ("regex", Workforce(2, task_bytes=300, small_input=0)),
]
every_way = pytest.mark.parametrize(("engine", "workforce"), WAYS)


def count(
    files: Any, engine: str = "auto", workforce: Workforce | None = None, **options: Any
) -> CountResult:
    settings = CountSettings(resolve_pattern("gpt2"), SPECIALS, engine=engine)  # type: ignore[arg-type]
    return count_files(files, settings, workforce or Workforce(1), options=InputOptions(**options))


def oracle(documents: Sequence[str], specials: Sequence[str] = SPECIALS) -> dict[bytes, int]:
    return count_words([document.encode() for document in documents], GPT2, specials)


@every_way
def test_rows_of_every_kind_count_as_documents(engine: str, workforce: Workforce, tmp_path: Path) -> None:
    for ending in ROW_KINDS:
        result = count(write_rows(tmp_path, DOCUMENTS, ending), engine, workforce)
        assert result.counts.to_dict() == oracle(DOCUMENTS)
        assert result.n_bytes == sum(len(document.encode()) for document in DOCUMENTS)


@every_way
def test_text_of_every_kind_counts_as_one_document(engine: str, workforce: Workforce, tmp_path: Path) -> None:
    text = "".join(DOCUMENTS)
    for ending in TEXT_KINDS:
        result = count(write_text(tmp_path, text, ending), engine, workforce)
        assert result.counts.to_dict() == oracle([text])
        assert result.n_bytes == len(text.encode())


@every_way
def test_all_kinds_in_one_folder(engine: str, workforce: Workforce, tmp_path: Path) -> None:
    expected: list[str] = []
    for ending in (*ROW_KINDS, *TEXT_KINDS):
        if ending in ROW_KINDS:
            write_rows(tmp_path, DOCUMENTS, ending)
            write_rows(tmp_path, [], ending, "none")
            expected += DOCUMENTS
        else:
            write_text(tmp_path, "".join(DOCUMENTS), ending)
            write_text(tmp_path, "", ending, "empty")
            expected.append("".join(DOCUMENTS))
    assert count(tmp_path, engine, workforce).counts.to_dict() == oracle(expected)
    assert count(tmp_path / "*", engine, workforce).counts.to_dict() == oracle(expected)


@every_way
def test_standard_input(
    engine: str, workforce: Workforce, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "".join(DOCUMENTS)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    path = write_text(tmp_path, "low", ".txt")
    assert count(["-", path], engine, workforce).counts.to_dict() == oracle([text, "low"])


def test_standard_input_cannot_be_capped_or_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"low \xff")))
    with pytest.raises(CorpusError, match=r"standard input: has no size .*, so it cannot be capped"):
        bpenb.count_words("-", max_bytes_per_source=10)
    with pytest.raises(CorpusError, match=r"standard input: has no size .*, so it cannot be cut into shards"):
        bpenb.count_words("-", shard="1/2")
    with pytest.raises(InvalidUtf8Error, match="standard input: byte 4"):
        bpenb.count_words("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CorpusError, match="standard input: is closed"):
        bpenb.count_words("-")


# --- a separator of documents ---------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("separator", ["\n\n", "\r\n", " ", "wo", "<s>", "<", "no such"])
def test_a_separator_is_a_boundary_and_no_token(
    separator: str, engine: str, workforce: Workforce, tmp_path: Path
) -> None:
    text = "one\n\ntwo words\r\n \n\n\nthree<s>four\n\n" * 9
    expected = oracle([text], (*SPECIALS, separator))
    for ending in TEXT_KINDS:
        path = write_text(tmp_path, text, ending)
        counts = count(path, engine, workforce, document_separator=separator).counts
        assert counts.to_dict() == expected
        assert counts.special_tokens == SPECIALS
        assert counts.document_separator == (None if separator in SPECIALS else separator)


@every_way
def test_a_separator_means_nothing_to_rows(engine: str, workforce: Workforce, tmp_path: Path) -> None:
    text = "".join(DOCUMENTS)
    files = [write_rows(tmp_path, DOCUMENTS, ".jsonl"), write_text(tmp_path, text, ".txt")]
    files += [
        write_rows(tmp_path, DOCUMENTS, ".parquet"),
        write_rows(tmp_path, ["x" * 50 + "or x"] * 3, ".ndjson"),
    ]
    rows, apart = oracle([*DOCUMENTS * 2, *["x" * 50 + "or x"] * 3]), oracle([text], (*SPECIALS, "or"))
    expected = {word: rows.get(word, 0) + apart.get(word, 0) for word in sorted({*rows, *apart})}
    result = count(files, engine, workforce, document_separator="or")
    assert result.counts.to_dict() == expected
    assert result.mixture is None
    assert result.n_bytes == len(text.encode()) + 2 * sum(len(d.encode()) for d in DOCUMENTS) + 3 * 54
    assert count([files[0]], engine, workforce, document_separator="or").counts.document_separator == "or"


def test_a_separator_with_weights(tmp_path: Path) -> None:
    files = {write_rows(tmp_path, ["a or"], ".jsonl"): 2, write_text(tmp_path, "a or b", ".txt"): 2}
    result = count(files, document_separator=" or")
    assert result.counts.to_dict() == {b" b": 2, b" or": 2, b"a": 4}
    assert result.mixture is not None
    assert result.mixture["weights"] == [{"weight": 2, "n_files": 2, "text_bytes": 10}]


def test_counts_remember_their_separator(tmp_path: Path) -> None:
    path = write_text(tmp_path, "low\n\nlower\n\nlow", ".txt")
    plain, apart = count(path).counts, count(path, document_separator="\n\n").counts
    apart.save(tmp_path / "apart.npz")
    assert WordCounts.load(tmp_path / "apart.npz").equals(apart) and not plain.equals(apart)
    with pytest.raises(CountsError, match=r"document separator None in part 1, '\\n\\n' in part 2"):
        plain.merge(apart)
    assert apart.merge(apart).document_separator == "\n\n"
    assert apart.merge(apart).to_dict() == {b"low": 4, b"lower": 2}
    settings = CountSettings(resolve_pattern("gpt2"), SPECIALS)
    assert made_by(settings, InputOptions(document_separator="\n\n")) == apart.made_by
    assert made_by(settings) == plain.made_by


def test_counts_of_the_first_release_have_no_separator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = WordCounts.from_dict({"low": 2})
    old = {name: value for name, value in counts.made_by.items() if name != "document_separator"}
    with monkeypatch.context() as then:
        then.setattr(WordCounts, "made_by", old)
        counts.save(tmp_path / "old.npz")
    assert WordCounts.load(tmp_path / "old.npz").equals(counts)
    assert bpenb.merge_counts([tmp_path / "old.npz", counts]).to_dict() == {b"low": 4}


def test_models_know_no_separator(tmp_path: Path) -> None:
    path = write_text(tmp_path, "lowlow\n\nlowlow", ".txt")
    tokenizer = bpenb.train(path, vocab_size=300, inputs=InputOptions(document_separator="low\n\nlow"))
    assert tokenizer.merges == [(b"o", b"w"), (b"l", b"ow")]
    assert set(tokenizer.special_tokens) == {"<|endoftext|>"}
    assert tokenizer.report is not None
    assert tokenizer.report["inputs"]["document_separator"] == "low\n\nlow"


# --- bad rows -------------------------------------------------------------------------------------


@every_way
def test_bad_rows_are_an_error_or_told_of(engine: str, workforce: Workforce, tmp_path: Path) -> None:
    rows = [*DOCUMENTS, None, *DOCUMENTS, None]
    for ending, unit in zip(ROW_KINDS, ("line", "line", "line", "row"), strict=True):
        path = write_rows(tmp_path, rows, ending)
        with pytest.raises(CorpusError, match=rf"rows\{ending}, {unit} 8: the field 'text' is null"):
            count(path, engine, workforce)
        result = count(path, engine, workforce, skip_bad_rows=True)
        assert result.counts.to_dict() == oracle(DOCUMENTS * 2)
        assert result.inputs == {
            "field": "text",
            "document_separator": None,
            "skip_bad_rows": True,
            "n_bad_rows": 2,
            "first_bad_row": f"{path}, {unit} 8: the field 'text' is null",
        }


def test_reports_tell_of_bad_rows(tmp_path: Path) -> None:
    path = write_rows(tmp_path, ["low low", None, "low"], ".jsonl", field="content")
    inputs = InputOptions("content", skip_bad_rows=True)
    report = bpenb.count_to_file(path, tmp_path / "counts.npz", inputs=inputs)
    assert report["inputs"]["n_bad_rows"] == 1 and report["inputs"]["field"] == "content"
    tokenizer = bpenb.train(path, vocab_size=260, inputs=inputs)
    assert tokenizer.report is not None and tokenizer.report["inputs"] == report["inputs"]
    sweep = bpenb.train_sweep(path, [258, 260], eval_files=[path], inputs=inputs)
    assert sweep.tokenizers[260].report is not None
    assert sweep.tokenizers[260].report["inputs"] == report["inputs"]
    assert [fit.n_bytes for fit in sweep.rows[0].fits] == [10, 10]
    assert bpenb.count_words(path, inputs=inputs).to_dict() == {b" low": 1, b"low": 2}


# --- progress, samples, shards ----------------------------------------------------------------------


@every_way
def test_progress_counts_bytes_on_disk(engine: str, workforce: Workforce, tmp_path: Path) -> None:
    for ending in ROW_KINDS:
        write_rows(tmp_path, [*DOCUMENTS * 20, None], ending)
    for ending in TEXT_KINDS:
        write_text(tmp_path, "".join(DOCUMENTS) * 20, ending)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    for mixture in (Mixture(), Mixture(sample=0.3)):
        reports: list[Progress] = []
        reporter = Reporter(reports.append)
        reporter.INTERVAL = 0.0
        settings = CountSettings(resolve_pattern("gpt2"), SPECIALS, engine=engine)  # type: ignore[arg-type]
        options = InputOptions(skip_bad_rows=True)
        count_files(tmp_path, settings, workforce, reporter, mixture, options=options)
        assert {report.total for report in reports} == {size}
        done = [report.done for report in reports]
        assert done == sorted(done) and done[0] == 0 and done[-1] == size
        assert reports[-1].details["bad_rows"] == len(ROW_KINDS)
        assert reporter.more is None


@every_way
def test_samples_do_not_depend_on_who_counts(engine: str, workforce: Workforce, tmp_path: Path) -> None:
    for ending in ROW_KINDS:
        write_rows(tmp_path, [f"row{n}" for n in range(200)], ending)
    for ending in TEXT_KINDS:
        write_text(tmp_path, "".join(f"text{n}\n\n" for n in range(200)), ending)
    found = []
    for way, force in ((engine, workforce), ("compiled", Workforce(1))):
        settings = CountSettings(resolve_pattern("whitespace"), (), engine=way)  # type: ignore[arg-type]
        options, mixture = InputOptions(document_separator="\n\n"), Mixture(sample=0.2, seed=3)
        found.append(
            count_files(tmp_path, settings, force, mixture=mixture, options=options).counts.to_dict()
        )
    assert found[0] == found[1]
    assert 200 < sum(found[0].values()) < 360
    assert {word[:3] for word in found[0]} == {b"row", b"tex"}


def test_shards_have_rows_of_every_kind(tmp_path: Path) -> None:
    for ending in ROW_KINDS:
        for n in range(3):
            write_rows(tmp_path, DOCUMENTS * (n + 1), ending, f"rows{n}")
    for ending in TEXT_KINDS:
        write_text(tmp_path, "".join(DOCUMENTS) * 3, ending)
    whole = bpenb.count_words(tmp_path)
    for n_shards in (1, 2, 5, 30):
        shards = [bpenb.count_words(tmp_path, shard=f"{i}/{n_shards}") for i in range(1, n_shards + 1)]
        assert bpenb.merge_counts(shards).to_dict() == whole.to_dict()
        assert sum(len(shard) > 0 for shard in shards) > min(n_shards, 10) // 2


def test_shards_read_in_two_ways_do_not_merge(tmp_path: Path) -> None:
    path = write_rows(tmp_path, ["low"], ".jsonl")
    one = bpenb.count_words(path, shard="1/2")
    other = bpenb.count_words(path, shard="2/2", inputs=InputOptions(skip_bad_rows=True))
    assert one.shards[0].corpus != other.shards[0].corpus
    output = tmp_path / "counts.npz"
    inputs = InputOptions(document_separator="\n")
    assert bpenb.count_to_file(path, output, shard="1/1", inputs=inputs)["status"] == "counted"
    again = bpenb.count_to_file(path, output, shard="1/1", inputs=inputs)
    assert (again["status"], again["inputs"]) == ("complete", None)


@pytest.mark.parametrize("ending", [*ROW_KINDS, *TEXT_KINDS[1:]])
def test_caps_are_for_plain_text(ending: str, tmp_path: Path) -> None:
    write = write_rows if ending in ROW_KINDS else write_text
    path = write(tmp_path, ["low"] if ending in ROW_KINDS else "low", ending)  # type: ignore[operator]
    with pytest.raises(CorpusError, match=rf"\{ending}: max_bytes_per_source is for plain text"):
        bpenb.count_words(path, max_bytes_per_source="1MB")


def test_text_that_is_not_utf8_in_a_compressed_file(tmp_path: Path) -> None:
    data = b"low " * 3000 + b"\xff lower"
    for ending in TEXT_KINDS:
        path = write_text(tmp_path, data, ending)
        for engine, workforce in WAYS[:6]:
            with pytest.raises(InvalidUtf8Error, match=rf"corpus\{ending}: byte 12000 is not"):
                count(path, engine, workforce)


def test_a_row_larger_than_a_task_is_cut_safely(tmp_path: Path) -> None:
    text = "".join(f"word{n} isn't\r\n\n  {n} " for n in range(3000))
    for ending in ROW_KINDS:
        path = write_rows(tmp_path, ["low", text, "lower"], ending)
        for engine, workforce in WAYS:
            assert count(path, engine, workforce).counts.to_dict() == oracle(["low", text, "lower"])


def test_a_weight_of_a_folder_is_that_of_each_file(tmp_path: Path) -> None:
    write_rows(tmp_path, ["low"], ".jsonl")
    write_text(tmp_path, "low", ".txt.gz")
    assert bpenb.count_words({tmp_path: 3}).to_dict() == {b"low": 6}


def test_options_travel_as_json() -> None:
    """Reports are JSON."""
    assert json.loads(json.dumps(count(os.devnull).inputs)) == {
        "field": "text",
        "document_separator": None,
        "skip_bad_rows": False,
        "n_bad_rows": 0,
        "first_bad_row": None,
    }
