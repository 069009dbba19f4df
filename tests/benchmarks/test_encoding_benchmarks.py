"""The benchmarks of encoding: the plumbing on small texts, tables, floors, whole corpora against tiktoken."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from benchmarks.__main__ import main
from benchmarks.corpora import SPECIAL, CorpusMissingError, find_corpora
from benchmarks.encoding_child import DOES, SHORT_TEXT
from benchmarks.encoding_runner import CHILD, TASKS, EncodingRunner, EncodingSettings, encode_command
from benchmarks.encoding_tables import encoding_tables
from benchmarks.floors import Floor, floors
from benchmarks.measure import ROOT, ChildError, run_child
from benchmarks.peers import ENCODERS, versions
from benchmarks.readme_table import END, START, write_readme
from benchmarks.vocabs import VOCABS, find_vocab, vocabs_folder
from tests.encoding import published

from benchmarks import encoding_child, exact_encoding

DOCUMENTS = [f"low lower lowest {n} newer wider été 中文\n\n" * 20 for n in range(30)]
ENCODER_FILES = ROOT / "benchmarks" / "encoders"
DATA = Path(os.environ.get("BPENB_TEST_DATA", "missing"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="BPENB_TEST_DATA is not set")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "prose.txt"
    path.write_text(SPECIAL.join(DOCUMENTS), encoding="utf-8", newline="")
    return path


@pytest.fixture(scope="module")
def kept(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run of bpenb and tiktoken, both in the tests' environment."""
    if not DATA.is_dir():
        pytest.skip("BPENB_TEST_DATA is not set")
    out = tmp_path_factory.mktemp("results") / "encoding-1.json"
    only = [word for library in ("bpenb", "tiktoken") for word in ("--library", library)]
    chosen = [word for task in ("encode", "tokens", "memory-300MB") for word in ("--task", task)]
    where = ["--corpora", str(corpus.parent), "--vocabs", str(DATA), "--peer-python", sys.executable]
    options = ["--repeat", "1", "--scale", "0.0002", "--out", str(out)]
    assert main(["encoding", *where, "--corpus", "prose", *only, *chosen, *options]) == 0
    return out


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """GPT-2's vocab as `prepare` saves it."""
    encoder = importlib.import_module("benchmarks.encoders.bpenb")
    out = tmp_path_factory.mktemp("saved") / "gpt2"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding_child, "our_tokenizer", lambda name, folder: published.load(folder, name)[0])
        encoding_child.prepare(encoder, {"vocab": "gpt2", "vocabs": str(DATA), "out": str(out)})
    return out


# --- a run ----------------------------------------------------------------------------------------


def test_a_run_keeps_all_that_matters(kept: Path, corpus: Path) -> None:
    found = json.loads(kept.read_text("utf-8"))
    assert found["kind"] == "encoding" and not found["skipped"]
    runs = found["runs"]
    assert [(run["task"], run["library"]) for run in runs] == [
        ("encode", "bpenb"),
        ("encode", "tiktoken"),
        ("tokens", "bpenb"),
        ("memory-300MB", "bpenb"),
    ]
    n_bytes = corpus.stat().st_size
    for run in runs:
        assert run["seconds"] > 0
        if run["task"] != "memory-300MB":
            assert run["bytes"] == n_bytes
    of_memory = next(run for run in runs if run["task"] == "memory-300MB")
    assert 0.9 * 60_000 < of_memory["bytes"] <= 60_000 and of_memory["workers"] == 2
    ids = published.load(DATA, "gpt2")[1].encode(corpus.read_text("utf-8"), allowed_special="all")
    assert {run["n_ids"] for run in runs if run["task"] in ("encode", "tokens") and "n_ids" in run} == {
        len(ids)
    }
    digests = {run["digest"] for run in runs if run["task"] == "encode" and "digest" in run}
    assert digests == {encoding_child._digest(np.array(ids))["digest"]}
    assert [(gate["library"], gate["equal"]) for gate in found["gates"]] == [
        ("tiktoken", True),  # the first documents
        ("bpenb", True),  # the whole file
        ("bpenb", True),  # the file that was made
    ]


def test_the_tables_go_into_the_readme(kept: Path, tmp_path: Path) -> None:
    results = json.loads(kept.read_text("utf-8"))
    shown = encoding_tables(results)
    assert "| bpenb, `encode_to_files` |" in shown and f"| tiktoken {tiktoken.__version__}," in shown
    assert "| counting tokens (`count_tokens`) |" in shown and "| a file of 300 MB, two threads |" in shown
    assert "warm" not in shown.replace("the first call", "")  # what was not measured has no table
    readme, training = tmp_path / "README.md", tmp_path / "run-1.json"
    readme.write_text(f"# Title\n\n{START}\n{END}\n\nThe end.\n", encoding="utf-8")
    training.write_text(json.dumps(results | {"kind": "run", "runs": []}), encoding="utf-8")
    assert write_readme([training, kept], readme) and shown in readme.read_text("utf-8")
    assert not write_readme([training, kept], readme)


@needs_data
def test_every_measurement_runs(
    corpus: Path, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, in this process."""
    monkeypatch.setattr(encoding_child, "_SHORT_CALLS", 3)
    runner = EncodingRunner(EncodingSettings({"bpenb": Path(sys.executable)}, DATA), tmp_path)
    encoder = importlib.import_module("benchmarks.encoders.bpenb")
    ours, theirs = published.load(DATA, "gpt2")
    runner._prepared["bpenb", "gpt2"] = saved
    documents = [i for text in DOCUMENTS for i in theirs.encode_ordinary(text)]
    whole = ours.encode(SPECIAL.join(DOCUMENTS))
    expected = {"file": whole, "tokens": whole, "batch": documents, "warm": documents}
    prose = find_corpora(["prose"], corpus.parent)[0]
    for name in ("encode", "encode-warm", "tokens", "decode", "decode-text", "short", "load"):
        request = runner.request(name, prose, "bpenb", digest=True)
        line = DOES[request["do"]](encoder, request)
        assert line["seconds"] > 0
        if ids := expected.get(request["do"]):
            assert line["n_ids"] == len(ids)
            if request["do"] != "tokens":
                assert line["digest"] == encoding_child._digest(np.array(ids))["digest"]
    assert len(SHORT_TEXT) == 20
    assert {task.do for task in TASKS.values()} - {"shell"} <= DOES.keys()


def test_a_command_that_fails_is_left_out_and_told(corpus: Path, tmp_path: Path) -> None:
    runner = EncodingRunner(EncodingSettings({"bpenb": Path(sys.executable)}, tmp_path), tmp_path)
    runner._prepared["bpenb", "gpt2"] = tmp_path / "no-tokenizer"
    prose = find_corpora(["prose"], corpus.parent)[0]
    runner._take_turns("encode", prose, ["bpenb"])
    assert [skipped["library"] for skipped in runner.skipped] == ["bpenb"] and not runner.runs
    assert "no-tokenizer" in runner.skipped[0]["reason"]
    late = EncodingRunner(EncodingSettings({}, tmp_path, minutes=1e-9), tmp_path)
    late._take_turns("encode", prose, ["bpenb"])
    assert [skipped["reason"] for skipped in late.skipped] == ["not done in time"]


@needs_data
def test_a_library_whose_ids_differ_is_not_timed(corpus: Path, saved: Path, tmp_path: Path) -> None:
    """Here one that has another vocab."""
    settings = EncodingSettings(dict.fromkeys(("bpenb", "tiktoken"), Path(sys.executable)), DATA)
    runner = EncodingRunner(settings, tmp_path)
    runner._prepared["bpenb", "gpt2"] = saved
    runner._prepared["tiktoken", "gpt2"] = find_vocab("cl100k", DATA)
    prose = find_corpora(["prose"], corpus.parent)[0]
    runner._check(prose, ["tiktoken"])
    assert [(gate.library, gate.why) for gate in runner.gates] == [("tiktoken", "its ids are not bpenb's")]
    runner._take_turns("encode", prose, ["tiktoken"])
    assert runner.skipped[0]["reason"] == "its ids differ" and not runner.runs


def _run(task: str, library: str, seconds: float, **more: Any) -> dict[str, Any]:
    known = {"task": task, "library": library, "corpus": "prose", "seconds": seconds, "bytes": 10**9}
    return known | {"peak_rss_bytes": 10**8} | more


def test_results_that_differ_are_found(tmp_path: Path) -> None:
    runner = EncodingRunner(EncodingSettings({}, tmp_path), tmp_path)
    runner.runs = [
        _run("encode", "bpenb", 1.0, n_ids=5, digest="a"),
        _run("encode", "gigatoken", 1.0, n_ids=5, digest="b"),
        _run("encode-warm", "bpenb", 1.0, n_ids=4, digest="c"),
        _run("encode-warm", "gigatoken", 1.0, n_ids=4, digest="c"),
        _run("encode-o200k", "bpenb", 1.0, n_ids=3, digest="d"),
        _run("tokens", "bpenb", 1.0, n_ids=6, corpus="code"),
        _run("encode", "bpenb", 1.0, n_ids=7, corpus="code"),
    ]
    runner.check_whole_corpora()
    assert [(gate.corpus, gate.library, gate.equal) for gate in runner.gates] == [
        ("prose", "bpenb", True),
        ("prose", "gigatoken", False),
        ("prose", "bpenb", True),
        ("code", "bpenb", False),
    ]
    assert "digest" in runner.gates[1].why and "n_ids" in runner.gates[3].why


# --- floors ---------------------------------------------------------------------------------------


def test_floors() -> None:
    runs = [
        _run("encode", "bpenb", 4.0),
        _run("encode", "gigatoken", 5.0),
        _run("encode", "tiktoken", 40.0),
        _run("encode-warm", "bpenb", 2.0),
        _run("encode-warm", "gigatoken", 1.0),
        _run("encode-cl100k", "bpenb", 5.0),
        _run("encode-o200k", "bpenb", 8.0),
        _run("tokens", "bpenb", 2.0),
        _run("decode", "bpenb", 0.5),
        _run("decode", "bpenb", 2.0, corpus="multi"),
        _run("memory-300MB", "bpenb", 1.0),
        _run("memory-1GB", "bpenb", 1.0, peak_rss_bytes=120_000_000),
        _run("short", "bpenb", 12e-6),
        _run("load", "bpenb", 0.31),
    ]
    found = {floor.what: floor for floor in floors({"runs": runs, "corpora": {"multi": {}, "prose": {}}})}
    reached = {what: (floor.reached, floor.met) for what, floor in found.items()}
    assert reached == {
        "file to file, first call, prose": (0.8, True),
        "the whole process, prose": (None, None),
        "in memory, warm, prose": (2.0, False),
        "file to file, prose": (10.0, False),
        "cl100k, where it is slowest": (0.8, True),
        "o200k, where it is slowest": (0.5, False),
        "counting tokens, where it is slowest": (2.0, True),
        "decoding to bytes, where it is slowest": (0.5, False),
        "peak memory of a file of 1 GB, two threads": (120.0, True),
        "the same ÷ that of 300 MB": (1.2, False),
        "a string of 20 characters": (pytest.approx(12.0), True),
        "Tokenizer.load of GPT-2's vocab": (0.31, False),
        "a file of 1 kB from the shell": (None, None),
    }
    lines = [str(floor) for floor in found.values()]
    assert lines[0] == "met    file to file, first call, prose: 0.8 × gigatoken's time (floor ≤ 0.8 → 0.4)"
    assert lines[1] == "       the whole process, prose: not measured, × gigatoken's time (floor ≤ 1)"
    assert lines[3] == "MISSED file to file, prose: 10 × tiktoken's speed (floor ≥ 12 → 30)"
    assert Floor("more", 2, 2, "s", at_most=False).met


# --- libraries, vocabs, commands ------------------------------------------------------------------


def test_every_encoder_is_short_and_has_the_same_names() -> None:
    assert {path.stem for path in ENCODER_FILES.glob("*.py")} == {"__init__", *ENCODERS}
    for path in ENCODER_FILES.glob("[!_]*.py"):
        source = path.read_text("utf-8")
        assert len(source.splitlines()) <= 40, path.name
        for name in ("version", "load", "encode_file", "encode_batch", "flat"):
            assert f"def {name}(" in source or f"{name} = " in source, (path.name, name)
    assert {library for task in TASKS.values() for library in task.libraries} == set(ENCODERS)


def test_which_libraries_start() -> None:
    found, missing = versions(dict.fromkeys(("tiktoken", "nobody"), Path(sys.executable)), CHILD)
    assert found == {"tiktoken": tiktoken.__version__}
    assert "No module named 'benchmarks.encoders.nobody'" in missing["nobody"]
    with pytest.raises(ChildError):
        run_child(sys.executable, {"library": "bpenb", "do": "load", "tokenizer": "missing"}, module=CHILD)


def test_the_folder_of_the_vocabs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BPENB_BENCH_VOCABS", raising=False)
    assert vocabs_folder(None, tmp_path) == tmp_path
    monkeypatch.setenv("BPENB_BENCH_VOCABS", str(tmp_path / "e"))
    assert vocabs_folder(None, tmp_path) == tmp_path / "e"
    assert vocabs_folder(tmp_path / "o", tmp_path) == tmp_path / "o"
    with pytest.raises(CorpusMissingError, match=r"o200k_base\.tiktoken .*--vocabs"):
        find_vocab("o200k", tmp_path)


def test_the_command_of_a_whole_process(tmp_path: Path) -> None:
    paths = (tmp_path / "tokenizer", Path("corpus.txt"), tmp_path / "ids.npy")
    ours = encode_command(Path(sys.executable), "bpenb", *paths)
    assert ours[1:6] == ["encode", "corpus.txt", "-t", str(paths[0]), "-o"] and str(paths[2]) in ours
    theirs = encode_command(Path(sys.executable), "gigatoken", *paths)
    assert theirs[1:4] == ["-m", "benchmarks.encoders.gigatoken", str(paths[0])]


# --- whole corpora against tiktoken ---------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", VOCABS)
def test_whole_files_are_compared(name: str, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = published.load(DATA, name)
    monkeypatch.setattr(exact_encoding, "our_tokenizer", lambda *_: ours)
    found = exact_encoding.compare(corpus, name, DATA, 2, batch_bytes=1000)
    assert not found.differs
    text = corpus.read_bytes()
    ids = theirs.encode(text.decode(), allowed_special="all")
    assert (found.n_bytes, found.n_documents, found.n_ids) == (len(text), len(DOCUMENTS), len(ids))
    assert str(found).startswith("equal ")


@needs_data
def test_a_difference_is_found_and_told(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, known = published.load(DATA, "gpt2")
    other = tiktoken.Encoding(  # one pretoken is cut otherwise: the digits of the tenth document and on
        "other",
        pat_str=known._pat_str.replace(r" ?\p{N}++", r" ?\p{N}"),
        mergeable_ranks=known._mergeable_ranks,
        special_tokens=known._special_tokens,
    )
    monkeypatch.setattr(exact_encoding, "tiktoken_encoding", lambda *_: other)
    monkeypatch.setattr(exact_encoding, "our_tokenizer", lambda *_: ours)
    found = exact_encoding.compare(corpus, "gpt2", DATA, 1, batch_bytes=900)
    first = found.differs["batch"]
    assert found.differs["file"] == first and first.startswith("documents 10 to")
    options = [str(corpus), "--vocab", "gpt2", "--vocabs", str(DATA)]
    assert exact_encoding.main(options) == 1
    assert capsys.readouterr().out.startswith("DIFFERS")
    monkeypatch.undo()
    assert exact_encoding.main([*options, "--mb", "0.005"]) == 0
    assert capsys.readouterr().out.startswith("equal ")


def test_files_that_are_missing_are_told(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["no-such.txt"], [str(corpus), "--vocabs", "no-such-folder"]):
        with pytest.raises(SystemExit) as caught:
            exact_encoding.main(arguments)
        assert caught.value.code == 2 and "no-such" in capsys.readouterr().err
