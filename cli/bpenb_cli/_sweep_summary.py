"""The end of a sweep, as a table on stderr (or one JSON object)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bpenb_cli import _messages
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._corpus_rows import warn_of_bad_rows
from bpenb_cli._summary import note_verification
from bpenb_cli._summary_rows import phase_times

if TYPE_CHECKING:
    from bpenb import Sweep

__all__ = ["show_sweep"]


def _notice_sizes_not_reached(sweep: Sweep) -> None:
    if sweep.not_reached:
        sizes = ", ".join(f"{size:,}" for size in sweep.not_reached)
        _messages.warning(
            f"no pair was left that may be merged at {sweep.rows[-1].vocab_size:,} tokens, so there is no "
            f"vocab of {sizes}; what there is is saved once. Train on more text, or ask for fewer"
        )


def show_sweep(sweep: Sweep, output: Path) -> None:
    """Show what came out of a sweep, and where it is."""
    _notice_sizes_not_reached(sweep)
    report = sweep.tokenizers[sweep.rows[-1].vocab_size].report or {}
    warn_of_bad_rows(report)
    note_verification(report)
    if _messages.style() is ProgressStyle.JSON:
        document = json.loads(sweep.to_json())
        told = {key: report[key] for key in ("seconds", "peak_memory_bytes", "verification")}
        _messages.event("summary", output=str(output), **document, **told)
    if _messages.style() is not ProgressStyle.AUTO:
        return
    from bpenb._bar import format_amount
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="bytes per token")
    for name in ("vocab", *(fit.text for fit in sweep.rows[0].fits), "saved"):
        table.add_column(Text(name), justify="left" if name == "saved" else "right")
    for row in sweep.rows:
        fits = [f"{fit.bytes_per_token:.3f}" if fit.n_tokens else "–" for fit in row.fits]
        table.add_row(f"{row.vocab_size:,}", *fits, Text(f"{output / str(row.vocab_size)}{os.sep}"))
    memory = format_amount(report["peak_memory_bytes"], "bytes")
    console = Console(stderr=True, highlight=False)
    console.print(table, Text(f"time: {', '.join(phase_times(report))}; peak memory {memory}"))
