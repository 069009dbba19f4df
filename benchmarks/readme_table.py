"""The README's tables of figures, written from kept results and never by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.encoding_tables import encoding_tables
from benchmarks.measure import ROOT
from benchmarks.peers import PEERS
from benchmarks.results import Median, Results, medians, ratio

KINDS = ("run", "scaling", "encoding")
START, END = "<!-- bench:start -->", "<!-- bench:end -->"
TITLES = {
    "train": "Training (32k vocab; stories 10k): read, count, merge",
    "count": "Counting words (peers: training at a vocab of 300, the nearest that they offer)",
    "shell": "Training from the shell: the whole process, with what it saves",
    "count-cl100k": "Counting words, pattern `cl100k`: compiled engine and `regex` engine",
    "count-o200k": "Counting words, pattern `o200k`: compiled engine and `regex` engine",
}
NAMES = {
    "bpenb_regex": "bpenb, `regex` engine",
    "regex_counter": "`regex` + `Counter`",
    "hf_tokenizers": "tokenizers",
}


def tables(results: Results, scaling: Results | None = None, encoding: Results | None = None) -> str:
    """Return the tables as Markdown, with what they were measured on."""
    parts = [_measured_on(results)]
    parts += [table(results, task) for task in TITLES if any(run["task"] == task for run in results["runs"])]
    if scaling is not None:
        parts.append(scaling_table(scaling))
    if encoding is not None:
        parts.append(encoding_tables(encoding))
    return "\n\n".join(parts)


def table(results: Results, task: str) -> str:
    """Return the table of one task: seconds and peak memory, a library a row, a corpus a column."""
    found = medians(results, task)
    corpora = [name for name in results["corpora"] if any(name in row for row in found.values())]
    order = sorted(
        found, key=lambda library: (library != "bpenb", min(m.seconds for m in found[library].values()))
    )
    lines = [f"**{TITLES[task]}**", "", f"| | {' | '.join(corpora)} |", "|---|" + "---:|" * len(corpora)]
    for library in order:
        version = "" if library.startswith("bpenb") else " " + results["versions"].get(library, "")
        cells = [_cell(found[library].get(corpus)) for corpus in corpora]
        lines.append(f"| {NAMES.get(library, library)}{version} | {' | '.join(cells)} |")
    against = ("bpenb_regex",) if "bpenb_regex" in found else PEERS
    ratios = [ratio(found, corpus, against) for corpus in corpora]
    if any(ratios):
        name = "the `regex` engine" if "bpenb_regex" in found else "the fastest peer"
        shown = ["–" if value is None else f"**{value:.2g} ×**" for value in ratios]
        lines.append(f"| **bpenb's time ÷ that of {name}** | {' | '.join(shown)} |")
    return "\n".join(lines)


def scaling_table(scaling: Results) -> str:
    """Return the table of workers: wall, user, CPU, peak memory."""
    lines = [f"**Workers** ({scaling['machine']['processors']} processors)", ""]
    lines += ["| | workers | wall, s | speed-up | user, s | CPU | peak, MB |", "|---|" + "---:|" * 6]
    for row in scaling["rows"]:
        what, peak = f"{row['task']}, {row['corpus']}", row["peak_rss_bytes"] / 1e6
        lines.append(
            f"| {what} | {row['workers']} | {row['seconds']:.2f} | {row['speedup']:.2f} × "
            f"| {row['user_seconds']:.2f} | {row['cpu_percent']:.0f} % | {peak:.0f} |"
        )
    return "\n".join(lines)


def write_readme(files: Sequence[Path], readme: Path = ROOT / "README.md") -> bool:
    """Put the tables of results between the marks of a README; tell whether that changed it."""
    kinds = {results["kind"]: results for results in (json.loads(f.read_text("utf-8")) for f in files)}
    if "run" not in kinds:
        raise SystemExit("there are no results to write; run `python -m benchmarks` first")
    old = readme.read_text("utf-8")
    if old.count(START) != 1 or old.count(END) != 1:
        raise SystemExit(f"{readme} must have one line {START} and one line {END}")
    before, after = old.split(START)[0], old.split(END)[1]
    shown = tables(kinds["run"], kinds.get("scaling"), kinds.get("encoding"))
    new = f"{before}{START}\n\n{shown}\n\n{END}{after}"
    readme.write_text(new, encoding="utf-8")
    return new != old


def _cell(value: Median | None) -> str:
    if value is None:
        return "–"
    return f"{_seconds(value.seconds)}, {value.peak_rss_bytes / 1e6:.0f} MB"


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s" if value >= 2 else f"{value:.2f} s"


def _measured_on(results: Results) -> str:
    machine, repeat = results["machine"], results["settings"]["repeat"]
    corpora = ", ".join(f"{name} {c['bytes'] / 1e6:.0f} MB" for name, c in results["corpora"].items())
    return (
        f"Measured on {results['date'][:10]} with `python -m benchmarks`: "
        f"bpenb {results['versions']['bpenb']}, Python {machine['python']}, "
        f"{machine['processors']} processors ({machine['processor']}). "
        f"Corpora: {corpora}. In-process and warm; each library in a process of its own, in turns; "
        f"medians of {repeat} (libraries that take long: once), and the peak memory of all its processes. "
        "Equal results are checked first. – was not run."
    )
