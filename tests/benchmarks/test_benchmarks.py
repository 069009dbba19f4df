"""The plumbing of the benchmarks, on a small corpus and with libraries that the tests have anyway."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from benchmarks.__main__ import main
from benchmarks.corpora import SPECIAL, CorpusMissingError, find_corpora, head
from benchmarks.digests import merges_digest, words_digest
from benchmarks.documents import plan_ranges, read_documents, read_range
from benchmarks.gates import check_words
from benchmarks.measure import ROOT, ChildError, run_child
from benchmarks.peers import OURS, PEERS, requirements
from benchmarks.readme_table import END, START, table, write_readme
from benchmarks.results import medians, ratio
from benchmarks.runner import TASKS, Runner, Settings, shell_command

from benchmarks import noise

PYTHONS = {library: Path(sys.executable) for library in OURS}
DOCUMENTS = [f"low lower lowest {n} newer wider été\n\n" * 20 for n in range(30)]
ADAPTERS = ROOT / "benchmarks" / "adapters"
README = f"# Title\n\n{START}\n{END}\n\nThe end.\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "prose.txt"
    path.write_text(SPECIAL.join(DOCUMENTS), encoding="utf-8", newline="")
    return path


@pytest.fixture(scope="module")
def kept(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a whole run: gates, turns, file."""
    out = tmp_path_factory.mktemp("results") / "run-1.json"
    only = [word for library in ("bpenb", "regex_counter") for word in ("--library", library)]
    folder = ["--corpora", str(corpus.parent), "--corpus", "prose"]
    assert main([*folder, "--task", "count", "--repeat", "2", *only, "--out", str(out)]) == 0
    return out


def test_a_run_keeps_all_that_matters(kept: Path, corpus: Path) -> None:
    found = json.loads(kept.read_text("utf-8"))
    assert found["corpora"]["prose"]["bytes"] == corpus.stat().st_size
    assert len(found["corpora"]["prose"]["sha256"]) == 64
    assert found["machine"]["processors"] >= 1 and found["versions"]["bpenb"]
    assert [run["library"] for run in found["runs"]] == ["bpenb", "bpenb", "regex_counter", "regex_counter"]
    for run in found["runs"]:
        assert run["seconds"] > 0 and run["peak_rss_bytes"] > 5e6 and run["version"]
        assert run["bytes"] == corpus.stat().st_size and run["digest_of"] == "words"
    assert len({run["digest"] for run in found["runs"]}) == 1
    assert found["gates"] and all(gate["equal"] for gate in found["gates"])
    assert not found["skipped"]


def test_the_readme_table_is_written_once_and_again_the_same(kept: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(README, encoding="utf-8")
    assert write_readme([kept], readme)
    first = readme.read_text("utf-8")
    assert not write_readme([kept], readme)
    assert readme.read_text("utf-8") == first
    assert first.startswith("# Title\n") and first.endswith("\n\nThe end.\n")
    assert "| bpenb |" in first and "| `regex` + `Counter` " in first and "| prose |" in first


def test_the_readme_table_needs_its_marks_and_results(kept: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("no marks", encoding="utf-8")
    with pytest.raises(SystemExit, match="must have one line"):
        write_readme([kept], readme)
    assert readme.read_text("utf-8") == "no marks"
    with pytest.raises(SystemExit, match="no results"):
        write_readme([], readme)


def _run(library: str, seconds: float) -> dict[str, Any]:
    return {
        "library": library,
        "task": "train",
        "corpus": "code",
        "seconds": seconds,
        "peak_rss_bytes": 10**8,
    }


def test_medians_and_ratio() -> None:
    runs = [_run("bpenb", s) for s in (1.0, 9.0, 2.0)] + [_run("gigabpe", 4.0), _run("rustbpe", 8.0)]
    found = medians({"runs": runs}, "train")
    assert found["bpenb"]["code"] == (2.0, 10**8, 3)
    assert ratio(found, "code") == 0.5
    assert ratio(found, "prose") is None
    versions = dict.fromkeys(("bpenb", *PEERS), "1.0")
    shown = table({"runs": runs, "corpora": {"code": {}}, "versions": versions}, "train")
    assert shown.splitlines()[4:] == [
        "| bpenb | 2.0 s, 100 MB |",
        "| gigabpe 1.0 | 4.0 s, 100 MB |",
        "| rustbpe 1.0 | 8.0 s, 100 MB |",
        "| **bpenb's time ÷ that of the fastest peer** | **0.5 ×** |",
    ]


def test_scaling_makes_a_row_for_each_number_of_workers(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.scaling.TASKS", ("train",))
    out = tmp_path / "scaling-1.json"
    options = ["--corpus", str(corpus), "--workers", "1,2", "--repeat", "1", "--out", str(out)]
    assert main(["scaling", *options]) == 0
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert [(row["task"], row["workers"]) for row in rows] == [("train", 1), ("train", 2)]
    assert rows[0]["speedup"] == 1 and rows[0]["peak_rss_bytes"] > 5e6


def test_a_peer_s_twin_reads_lines_or_documents(corpus: Path) -> None:
    request = {"library": "bpenb", "do": "twin", "path": str(corpus), "special": SPECIAL, "vocab_size": 280}
    twins = [{"ties": "huggingface", "reads": reads, "gives": "pairs"} for reads in ("lines", "documents")]
    lines, documents = (run_child(sys.executable, request | {"twin": twin}) for twin in twins)
    assert lines["merges"] == documents["merges"] == 23
    assert lines["digest"] != documents["digest"]  # a line ends at its newline, a document goes on


def test_a_child_that_fails_or_takes_too_long() -> None:
    with pytest.raises(ChildError, match=r"No module named 'benchmarks\.adapters\.nobody'"):
        run_child(sys.executable, {"library": "nobody", "do": "version"})
    started = time.monotonic()
    with pytest.raises(ChildError, match="not done in time"):
        run_child(sys.executable, {"library": "bpenb", "do": "version"}, timeout=0.01)
    assert time.monotonic() - started < 5


def test_a_gate_says_what_failed(corpus: Path) -> None:
    gates = check_words("prose", corpus, "nobodys", ["regex_counter"], PYTHONS)
    assert [gate.equal for gate in gates] == [False]
    assert gates[0].library == "bpenb" and "nobodys" in gates[0].why


def test_what_differs_or_does_not_fit_in_the_time_is_left_out(corpus: Path, tmp_path: Path) -> None:
    prose = find_corpora(["prose"], corpus.parent)[0]
    runner = Runner(Settings(PYTHONS, minutes=1e-9), tmp_path)
    runner._take_turns("count", prose, ["bpenb"])
    assert [skipped["reason"] for skipped in runner.skipped] == ["not done in time"]
    runner = Runner(Settings(PYTHONS, skip_above=5), tmp_path)
    runner.runs.append({"task": "count", "library": "bpenb", "bytes": prose.n_bytes / 10, "seconds": 1.0})
    runner._take_turns("count", prose, ["bpenb"])
    assert [skipped["reason"] for skipped in runner.skipped] == ["would take about 10 s"]


def test_results_that_change_from_run_to_run_are_found(tmp_path: Path) -> None:
    runner = Runner(Settings(PYTHONS), tmp_path)
    for digest in "ab":
        runner.runs.append(_run("bpenb", 1.0) | {"digest": digest, "digest_of": "merges"})
    runner.check_whole_corpora()
    assert [(gate.library, gate.equal) for gate in runner.gates] == [("bpenb", False)]


def test_every_adapter_is_short_and_has_the_same_names() -> None:
    assert {path.stem for path in ADAPTERS.glob("*.py")} == {"__init__", *OURS, *PEERS}
    for path in ADAPTERS.glob("[!_]*.py"):
        source = path.read_text("utf-8")
        assert len(source.splitlines()) <= 40, path.name
        for name in ("version", "count", "train", "TWIN"):
            assert f"def {name}(" in source or f"{name} = " in source, (path.name, name)
    for library in OURS:
        assert importlib.import_module(f"benchmarks.adapters.{library}").version()
    assert {name for task in TASKS.values() for name in task.libraries + task.more} == {*OURS, *PEERS}


def test_peers_are_pinned_and_not_needed_by_the_tests() -> None:
    names = {line.split("==")[0] for line in requirements()}
    assert names == {"tokenizers", "tiktoken", "rustbpe", "gigabpe", "gigatoken"}


def test_corpora(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [c.name for c in find_corpora([], corpus.parent)] == ["prose"]
    assert find_corpora([str(corpus)], tmp_path)[0].name == "prose"
    with pytest.raises(CorpusMissingError, match=r"code\.txt"):
        find_corpora(["code"], tmp_path)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "library"))
    (tmp_path / "library" / "site-packages").mkdir(parents=True)
    for name in ("b.py", "a.txt", "c.so", "site-packages/d.py"):
        (tmp_path / "library" / name).write_text(name, encoding="utf-8")
    (tmp_path / "library" / "latin.py").write_bytes(b"\xe9")
    assert find_corpora(["stdlib"], tmp_path)[0].path.read_bytes() == f"a.txt{SPECIAL}\nb.py".encode()


def test_slices_are_whole_documents(corpus: Path, tmp_path: Path) -> None:
    text = corpus.read_bytes()
    part = head(corpus, 5000, tmp_path / "part.txt").read_bytes()
    assert text.startswith(part + SPECIAL.encode()) and 0 < len(part) < 5000
    assert head(corpus, len(text) + 1, tmp_path / "part.txt").read_bytes() == text


def test_documents(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.documents._BLOCK_BYTES", 7)
    assert list(read_documents(str(corpus), SPECIAL)) == DOCUMENTS
    monkeypatch.setattr("benchmarks.documents._RANGE_BYTES", 100)
    ranges = [read_range(str(corpus), *ends) for ends in plan_ranges(str(corpus), SPECIAL)]
    assert "".join(ranges) == SPECIAL.join(DOCUMENTS) and len(ranges) == len(DOCUMENTS)


def test_digests() -> None:
    assert words_digest({b"a": 1, b"bc": 2}) == words_digest({b"bc": 2, b"a": 1})
    different = [{b"a": 1, b"bc": 2}, {b"a": 2, b"bc": 1}, {b"ab": 1, b"c": 2}, {b"a": 1}, {}]
    assert len({words_digest(counts) for counts in different}) == len(different)
    assert merges_digest([(b"a", b"bc")]) != merges_digest([(b"ab", b"c")]) != merges_digest([(b"abc",)])


def test_the_peak_without_psutil(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.measure.psutil", None)
    request = {"do": "count", "library": "regex_counter", "path": str(corpus), "warm_path": str(corpus)}
    line = run_child(sys.executable, request | {"special": SPECIAL, "pattern": "gpt2"})
    assert line["peak_rss_bytes"] > 5e6 and not line["peak_of_tree"]


def test_the_command_of_a_whole_process(tmp_path: Path) -> None:
    python = Path(sys.executable)
    ours = shell_command(python, "bpenb", Path("corpus.txt"), 300, tmp_path / "out")
    assert ours[1:3] == ["train", "corpus.txt"] and ours[-1] == str(tmp_path / "out")
    theirs = shell_command(python, "gigabpe", Path("corpus.txt"), 300, tmp_path / "out")
    assert theirs[1:4] == ["-m", "benchmarks.adapters.gigabpe", "corpus.txt"]


def test_noise_changes_letters_and_nothing_else(corpus: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The same seed gives the same bytes; separators, line ends and UTF-8 stay."""
    made = []
    for seed in ("1", "1", "2"):
        out = tmp_path / f"{len(made)}.txt"
        arguments = [
            "noise",
            str(out),
            "--gb",
            "0.00005",
            "--corpora",
            str(corpus.parent),
            "--corpus",
            "prose",
        ]
        monkeypatch.setattr(sys, "argv", [*arguments, "--rate", "0.05", "--seed", seed])
        noise.main()
        made.append(out.read_bytes())
    assert made[0] == made[1] != made[2]
    text = (corpus.read_bytes() * 3)[: len(made[0])]
    assert 49_000 < len(text) <= 50_000 and text != made[0]
    assert made[0].decode().split(SPECIAL)[0].isprintable() is False  # line ends are there
    assert made[0].count(SPECIAL.encode()) == text.count(SPECIAL.encode())
    changed = [(a, b) for a, b in zip(text, made[0], strict=True) if a != b]
    assert 0.01 < len(changed) / len(text) < 0.05
    assert all(chr(a).islower() and chr(b).islower() and max(a, b) < 128 for a, b in changed)
