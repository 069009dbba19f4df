"""The end of a training, as a table on stderr (or one JSON object)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bpenb_cli import _messages
from bpenb_cli._options import ProgressStyle

__all__ = ["show_summary", "spell_token"]


def spell_token(token: str) -> str:
    """Return a token so that its spaces and line ends are seen, and no long one floods the line."""
    spelled = repr(token)[1:-1]
    return f"'{spelled}'" if len(spelled) <= 40 else f"'{spelled[:37]}…'"


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
        return
    from bpenb._bar import format_amount, format_seconds
    from rich.table import Table

    sizes = report["sizes"]
    phases = [f"{phase} {format_seconds(seconds)}" for phase, seconds in report["seconds"].items()]
    table = Table(show_header=False, title=f"tokenizer in {output}", title_justify="left")
    table.add_row("vocab", f"{sizes['n_vocab']:,} tokens, {sizes['merges']:,} merges")
    table.add_row("text", f"{format_amount(sizes['text_bytes'], 'bytes')}, {sizes['distinct_words']:,} words")
    if sizes["bytes_per_token"]:
        table.add_row("compression", f"{sizes['bytes_per_token']:.3f} bytes per token on this text")
    table.add_row("time", ", ".join(phases))
    table.add_row("peak memory", format_amount(report["peak_memory_bytes"], "bytes"))
    table.add_row("longest tokens", " ".join(spell_token(token) for token in report["longest_tokens"][:5]))
    _messages.show_table(table)
