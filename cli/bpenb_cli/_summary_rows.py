"""The figures of a training, spelled for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bpenb_cli._corpus_rows import corpus_rows
from bpenb_cli._learning_rows import learning_rows

__all__ = ["phase_times", "spell_tokens", "summary_rows"]


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


def summary_rows(report: Mapping[str, Any]) -> dict[str, str]:
    """Return name and value of each row of the table that ends a training."""
    from bpenb._bar import format_amount
    from bpenb.counting import MemoryPlan

    sizes, rate = report["sizes"], report["merges_per_second"]
    words, pretokens = f"{sizes['distinct_words']:,} distinct words", f"{sizes['pretokens']:,} pretokens"
    rows = {
        "vocab": f"{sizes['n_vocab']:,} tokens, {sizes['merges']:,} merges",
        "text": f"{format_amount(sizes['text_bytes'], 'bytes')}, {pretokens}, {words}",
    }
    if report["settings"]["pad_vocab_to_multiple"] > 1:
        rows["vocab"] += f"; {sizes['padded_vocab_size']:,} rows in a model"
    rows |= corpus_rows(report) | learning_rows(report)
    if sizes["last_merge_count"]:
        rows["last merge"] = f"occurs {sizes['last_merge_count']:,} times"
    if sizes["bytes_per_token"]:
        rows["compression"] = f"{sizes['bytes_per_token']:.3f} bytes per token on this text"
    rows["time"] = ", ".join(phase_times(report))
    if rate:
        rows["speed"] = f"{rate:,.0f} merges per second"
    rows["peak memory"] = format_amount(report["peak_memory_bytes"], "bytes")
    if report["memory_plan"]:
        plan, times = MemoryPlan(**report["memory_plan"]), report["n_spills"]
        rows["memory plan"] = f"{plan}\nword tables went to disk {times:,} times"
    rows["longest tokens"] = spell_tokens(report["longest_tokens"])
    return rows
