"""The end of a training, as a table on stderr (or one JSON object)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bpenb_cli import _messages
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._corpus_rows import warn_of_bad_rows
from bpenb_cli._summary_rows import phase_times, spell_tokens, summary_rows

__all__ = ["note_verification", "phase_times", "show_summary", "spell_tokens"]


def _notice_small_vocab(report: Mapping[str, Any]) -> None:
    asked, got = report["settings"]["vocab_size"], report["sizes"]["n_vocab"]
    if got < asked:
        _messages.warning(
            f"the vocab has {got:,} tokens, not {asked:,}: no pair was left that may be merged; "
            "train on more text, or ask for fewer"
        )


def note_verification(report: Mapping[str, Any]) -> None:
    """Tell what `--verify` checked, if it did."""
    if done := report["verification"]:
        whole = done["n_first_words"] == done["n_words"]
        on = "all words" if whole else f"a sample of {done['n_first_words']:,} words"
        _messages.note(
            f"verified in {done['seconds']:.1f} s: counts and order of {done['n_merges']:,} merges on "
            f"{done['n_words']:,} words; no better pair at the first {done['n_first_merges']:,} ({on}); "
            f"{done['n_encoded_words']:,} words encoded alike by the slow rule"
        )


def show_summary(report: Mapping[str, Any], output: Path) -> None:
    """Show what came out of a training, and where it is."""
    _notice_small_vocab(report)
    warn_of_bad_rows(report)
    note_verification(report)
    if _messages.style() is ProgressStyle.JSON:
        _messages.event("summary", output=str(output), **report)
    if _messages.style() is not ProgressStyle.AUTO:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for name, value in summary_rows(report).items():
        table.add_row(name, Text(value))
    Console(stderr=True, highlight=False).print(table, Text(f"saved in {output}{os.sep}"))
