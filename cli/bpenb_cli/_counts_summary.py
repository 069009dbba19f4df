"""The end of counting and merging, as a table on stderr (or one JSON object)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bpenb_cli import _messages
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._corpus_rows import corpus_rows, warn_of_bad_rows

__all__ = ["show_count", "show_merge"]


def show_count(report: Mapping[str, Any]) -> None:
    """Show what was counted, and where it is."""
    from bpenb._bar import format_amount, format_seconds
    from bpenb.counting import Shard

    shard = str(Shard(**report["shard"])) if report["shard"] else None
    if report["status"] == "complete":
        _messages.note(f"{report['output']} holds {shard} already: nothing to do (--force counts again)")
    warn_of_bad_rows(report)
    rows = {**_words(report), "holds": shard}
    if report["text_bytes"] is not None:
        seconds = report["seconds"]["count"]
        rate = format_amount(report["text_bytes"] / seconds, "bytes") if seconds else "–"
        rows["text"] = format_amount(report["text_bytes"], "bytes")
        rows |= corpus_rows(report)
        rows["time"] = f"{format_seconds(seconds)}, {rate}/s"
    if told := report["cluster"]:
        rows["cluster"] = f"{told['shards']:,} shards, {told['workers']:,} workers"
        rows["of a worker"] = format_amount(told["worker_peak_memory_bytes"], "bytes")
    rows["peak memory"] = format_amount(report["peak_memory_bytes"], "bytes")
    _show(report, rows)


def show_merge(report: Mapping[str, Any]) -> None:
    """Show what was merged, and where it is."""
    if report["missing"]:
        _messages.warning(f"{report['output']} is not complete: {report['missing']}: missing")
    rows = _words(report) | corpus_rows(report)
    _show(report, rows)


def _words(report: Mapping[str, Any]) -> dict[str, str | None]:
    words = f"{report['words']:,}, from {report['pretokens']:,} pretokens"
    return {"saved": report["output"], "words": words}


def _show(report: Mapping[str, Any], rows: Mapping[str, str | None]) -> None:
    if _messages.style() is ProgressStyle.JSON:
        _messages.event("summary", **report)
    if _messages.style() is not ProgressStyle.AUTO:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(value))
    Console(stderr=True, highlight=False).print(table)
