"""The tables of encoding, from kept results."""

from __future__ import annotations

from benchmarks.corpora import NAMES
from benchmarks.encoding_runner import DECODE_MB, SLICE_MB, TASKS, WARM_MB
from benchmarks.peers import ENCODERS
from benchmarks.results import Median, Results, medians, ratio

TITLES = {
    "encode": "Encoding a text file to a token file (GPT-2's vocab): the tokenizer loaded, the first call",
    "encode-shell": "Encoding a text file to a token file: the whole process",
    "encode-warm": f"Encoding in memory, warm: {WARM_MB} MB of documents, the third call",
}
_ALONE = {
    "encode": "GPT-2's vocab",
    "encode-cl100k": "cl100k's vocab",
    "encode-o200k": "o200k's vocab",
    "tokens": "counting tokens (`count_tokens`)",
    "decode": f"decoding to bytes, up to {DECODE_MB} MB",
    "decode-text": f"decoding to a str, up to {DECODE_MB} MB",
}
_FIGURES = {
    "short": "`encode` of 20 characters, warm",
    "load": "`Tokenizer.load` of a saved folder, GPT-2's vocab, warm",
    "small-shell": "`bpenb encode` of a file of 1 kB, the whole process",
    "memory-300MB": "a file of 300 MB, two threads",
    "memory-1GB": "a file of 1 GB, two threads",
}
_NAMES = {
    ("encode", "gigatoken"): ", `encode_files` and `numpy.save`",
    ("encode", "tiktoken"): f", `encode_ordinary_batch` (from {SLICE_MB} MB of each; nothing is written)",
    ("encode-shell", "gigatoken"): ", `encode_files` and `numpy.save`",
    ("encode-warm", "gigatoken"): ", `encode_batch`",
    ("encode-warm", "bpenb"): ", `encode_batch_ragged`",
    ("encode", "bpenb"): ", `encode_to_files`",
    ("encode-shell", "bpenb"): ", `bpenb encode`",
}


def encoding_tables(results: Results) -> str:
    """Return the tables as Markdown, with what they were measured on."""
    known = {run["task"] for run in results["runs"]}
    parts = [_measured_on(results)]
    parts += [peers_table(results, task) for task in TITLES if task in known]
    if known & _ALONE.keys():
        parts.append(speed_table(results))
    if known & _FIGURES.keys():
        parts.append(figures_table(results))
    return "\n\n".join(parts)


def peers_table(results: Results, task: str) -> str:
    """Return the table of one task: seconds, speed and peak memory, a library a row, a corpus a column."""
    found, sizes = medians(results, task), _sizes(results, task)
    corpora = [name for name in results["corpora"] if any(name in row for row in found.values())]
    lines = [f"**{TITLES[task]}**", "", f"| | {' | '.join(corpora)} |", "|---|" + "---:|" * len(corpora)]
    for library in (library for library in ENCODERS if library in found):
        version = "" if library == "bpenb" else " " + results["versions"].get(library, "")
        cells = [_cell(found[library].get(corpus), sizes.get(corpus)) for corpus in corpora]
        lines.append(f"| {library}{version}{_NAMES.get((task, library), '')} | {' | '.join(cells)} |")
    ratios = [ratio(found, corpus, ENCODERS[1:]) for corpus in corpora]
    if any(ratios):
        shown = ["–" if value is None else f"**{value:.2g} ×**" for value in ratios]
        lines.append(f"| **bpenb's time ÷ that of the fastest peer** | {' | '.join(shown)} |")
    return "\n".join(lines)


def speed_table(results: Results) -> str:
    """Return the table of bpenb's speeds in MB of text a second."""
    corpora = list(results["corpora"])
    lines = ["**bpenb alone, MB of text a second**", "", f"| | {' | '.join(corpora)} |"]
    lines.append("|---|" + "---:|" * len(corpora))
    for task, name in _ALONE.items():
        found, sizes = medians(results, task).get("bpenb", {}), _sizes(results, task)
        if found:
            cells = [f"{sizes[c] / found[c].seconds / 1e6:,.0f}" if c in found else "–" for c in corpora]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def figures_table(results: Results) -> str:
    """Return the table of single figures: seconds of small calls, peak memory of large files."""
    lines = ["**bpenb, small calls and large files**", "", "| | time | peak memory |", "|---|---:|---:|"]
    for task, name in _FIGURES.items():
        found = medians(results, task).get("bpenb", {})
        for corpus, row in found.items():
            where = "" if corpus in (TASKS[task].corpora or NAMES) else f", {corpus}"
            peak = f"{row.peak_rss_bytes / 1e6:.0f} MB" if row.peak_rss_bytes else "–"
            lines.append(f"| {name}{where} | {_time(row.seconds)} | {peak} |")
    return "\n".join(lines)


def _sizes(results: Results, task: str) -> dict[str, int]:
    """Return the bytes of text of a task by corpus."""
    return {run["corpus"]: run["bytes"] for run in results["runs"] if run["task"] == task}


def _cell(row: Median | None, n_bytes: int | None) -> str:
    if row is None or n_bytes is None:
        return "–"
    peak = f", {row.peak_rss_bytes / 1e6:.0f} MB" if row.peak_rss_bytes else ""
    return f"{_time(row.seconds)}, {n_bytes / row.seconds / 1e6:.0f} MB/s{peak}"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s" if seconds >= 2 else f"{seconds:.2f} s"


def _measured_on(results: Results) -> str:
    machine, settings = results["machine"], results["settings"]
    corpora = ", ".join(f"{name} {c['bytes'] / 1e6:.0f} MB" for name, c in results["corpora"].items())
    return (
        f"Encoding, measured on {results['date'][:10]} with `python -m benchmarks encoding`: "
        f"bpenb {results['versions']['bpenb']}, Python {machine['python']}, "
        f"{machine['processors']} processors ({machine['processor']}). Corpora: {corpora}. "
        f"Each call in a process of its own, in turns, files in the system's cache; medians of "
        f"{settings['repeat']}, and the peak memory of the process. Ids are compared first. – was not run."
    )
