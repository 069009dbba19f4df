"""The end of a training, as a table on stderr (or one JSON object)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bpenb_cli import _messages
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._corpus_rows import corpus_rows

__all__ = ["phase_times", "show_summary", "spell_tokens"]


def spell_tokens(tokens: Sequence[str]) -> str:
    """Return tokens one to a line, so that their spaces and line ends are seen and none floods it.

    Example:
        >>> print(spell_tokens(["  the\\n", "#" * 80]))
        ··the\\n
        ####################################… (80 characters)
    """
    lines = []
    for token in tokens:
        spelled = repr(token)[1:-1].replace(" ", "·")
        cut = f"{spelled[:36]}… ({len(token)} characters)"
        lines.append(spelled if len(spelled) <= len(cut) else cut)
    return "\n".join(lines)


def phase_times(report: Mapping[str, Any]) -> list[str]:
    """Return how long each phase took; the stages within one (`counting.scan`) are for programs."""
    from bpenb._bar import format_seconds

    return [f"{name} {format_seconds(taken)}" for name, taken in report["seconds"].items() if "." not in name]


def _notice_small_vocab(report: Mapping[str, Any]) -> None:
    asked, got = report["settings"]["vocab_size"], report["sizes"]["n_vocab"]
    if got < asked:
        _messages.warning(
            f"the vocab has {got:,} tokens, not {asked:,}: no pair was left that may be merged; "
            "train on more text, or ask for fewer"
        )


def show_summary(report: Mapping[str, Any], output: Path) -> None:
    """Show what came out of a training, and where it is."""
    _notice_small_vocab(report)
    if _messages.style() is ProgressStyle.JSON:
        _messages.event("summary", output=str(output), **report)
    if _messages.style() is not ProgressStyle.AUTO:
        return
    from bpenb._bar import format_amount
    from bpenb.counting import MemoryPlan
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sizes = report["sizes"]
    phases = phase_times(report)
    table = Table(show_header=False)
    table.add_row("saved", Text(f"{output}{os.sep}"))
    table.add_row("vocab", f"{sizes['n_vocab']:,} tokens, {sizes['merges']:,} merges")
    table.add_row("text", f"{format_amount(sizes['text_bytes'], 'bytes')}, {sizes['distinct_words']:,} words")
    for name, value in corpus_rows(report).items():
        table.add_row(name, value)
    if sizes["bytes_per_token"]:
        table.add_row("compression", f"{sizes['bytes_per_token']:.3f} bytes per token on this text")
    table.add_row("time", ", ".join(phases))
    table.add_row("peak memory", format_amount(report["peak_memory_bytes"], "bytes"))
    if report["memory_plan"]:
        plan, times = MemoryPlan(**report["memory_plan"]), report["n_spills"]
        table.add_row("memory plan", f"{plan}\nword tables went to disk {times:,} times")
    table.add_row("longest tokens", Text(spell_tokens(report["longest_tokens"][:5])))
    Console(stderr=True, highlight=False).print(table)
