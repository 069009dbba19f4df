"""What a summary tells of a training that is not the usual one: on characters, or in steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["learning_rows"]


def learning_rows(report: Mapping[str, Any]) -> dict[str, str]:
    """Return rows of a summary table; none of the usual training."""
    rows = {"characters": _characters(report.get("characters")), "per step": _steps(report.get("steps"))}
    return {name: value for name, value in rows.items() if value}


def _characters(told: Mapping[str, Any] | None) -> str:
    if told is None:
        return ""
    rare = f"{told['unknown']:,} rare ones are <unk>: {told['unknown_occurrences']:,} occurrences"
    line = f"{told['known']:,} known" + (
        f"; {rare}, {100 * told['unknown_share']:.3g} %" if told["unknown"] else ""
    )
    if told["words_left_out"]:
        line += f"\n{told['words_left_out']:,} words hold the mark or <unk>, and were not learned from"
    return line


def _steps(told: Mapping[str, Any] | None) -> str:
    """Return how several merges per step compare with exact BPE."""
    if told is None:
        return ""
    first = told["first_difference"]
    differs = "the merges of exact BPE" if first is None else f"first other merge than exact BPE: {first:,}"
    rates = [told[name] or 0.0 for name in ("bytes_per_token", "bytes_per_token_exact")]
    return (
        f"{told['merges_per_step']:,} merges; {differs}; Jaccard {told['jaccard']:.4f}\n"
        f"{rates[0]:.4f} bytes per token, exactly {rates[1]:.4f}\n"
        f"{told['seconds']:.2f} s, exactly {told['seconds_exact']:.2f} s"
    )
