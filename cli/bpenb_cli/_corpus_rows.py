"""What a summary tells of the corpus: how it was read, which part was taken, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bpenb_cli import _messages

__all__ = ["corpus_rows", "warn_of_bad_rows"]


def corpus_rows(report: Mapping[str, Any]) -> dict[str, str]:
    """Return rows of a summary table, none where all of the corpus was taken."""
    rows = {
        "documents": _separator(report.get("inputs")),
        "mixture": _mixture(report.get("mixture")),
        "left out": _dropped(report.get("dropped_words")),
    }
    return {name: value for name, value in rows.items() if value}


def warn_of_bad_rows(report: Mapping[str, Any]) -> None:
    """Say how many bad rows were skipped, if any were."""
    inputs = report.get("inputs") or {}
    if n_rows := inputs.get("n_bad_rows"):
        rows = f"{n_rows:,} bad rows were" if n_rows > 1 else "1 bad row was"
        _messages.warning(f"{rows} skipped; the first is {inputs['first_bad_row']}")


def _separator(inputs: Mapping[str, Any] | None) -> str:
    separator = (inputs or {}).get("document_separator")
    return "" if separator is None else f"of text are separated by {separator!r}"


def _dropped(dropped: Mapping[str, Any] | None) -> str:
    """Return what was left out as a line, or nothing if that was not asked for."""
    if dropped is None or dropped["min_word_count"] == 1:
        return ""
    from bpenb.counting import DroppedWords

    return str(DroppedWords(**dropped))


def _mixture(mixture: Mapping[str, Any] | None) -> str:
    """Return which part of the inputs was taken, a line for each choice, or nothing."""
    if mixture is None:
        return ""
    from bpenb._bar import format_amount

    lines = []
    if mixture["max_bytes_per_source"] is not None:
        lines.append(f"at most {format_amount(mixture['max_bytes_per_source'], 'bytes')} of each input")
    if mixture["sample"] is not None:
        lines.append(f"each document with probability {mixture['sample']:g}, seed {mixture['seed']}")
    for group in mixture.get("weights", []):
        size = format_amount(group["text_bytes"], "bytes")
        lines.append(f"weight {group['weight']:,}: {size} in {group['n_files']:,} files")
    return "\n".join(lines)
