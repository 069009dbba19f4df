"""`bpenb demo`: the whole job on text that every machine has."""

from __future__ import annotations

import tempfile
from pathlib import Path

import typer

from bpenb_cli import _options as options
from bpenb_cli._demo_corpus import standard_library
from bpenb_cli._demo_run import DemoResult, run_demo
from bpenb_cli._progress import shown_progress
from bpenb_cli._summary_rows import phase_times, spell_tokens

__all__ = ["EXAMPLE", "demo", "run_and_show"]

EXAMPLE = "Example: bpenb demo"
VOCAB_SIZE = 8000


def demo(progress: options.ProgressOption = options.ProgressStyle.AUTO) -> None:
    """Train an 8k tokenizer on Python's standard library, encode it, decode it, and compare."""
    if not run_and_show(standard_library(), VOCAB_SIZE, progress):
        raise typer.Exit(1)


def run_and_show(root: Path, vocab_size: int, progress: options.ProgressStyle) -> bool:
    """Run the demo on the text files below `root`; show what came out; tell whether all came back."""
    with (
        shown_progress(progress, "counting", "training", "encoding") as show,
        tempfile.TemporaryDirectory(prefix="bpenb-demo-") as folder,
    ):
        result = run_demo(root, Path(folder), vocab_size, show)
    _show(result)
    return result.comes_back


def _show(result: DemoResult) -> None:
    """Print the figures; standard output is theirs here."""
    from bpenb._bar import format_amount, format_seconds
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    corpus, sizes, seconds = result.corpus, result.report["sizes"], result.seconds
    size = format_amount(corpus.n_bytes, "bytes")
    left_out = f" ({corpus.n_left_out} left out: not valid UTF-8)" if corpus.n_left_out else ""
    within = ", ".join(phase_times(result.report))
    rows = {
        "text": f"{size} of Python's standard library, {corpus.n_files:,} files{left_out}",
        "vocab": f"{sizes['n_vocab']:,} tokens, made of {sizes['distinct_words']:,} words",
        "tokens": f"{result.n_ids:,}, {corpus.n_bytes / max(result.n_ids, 1):.3f} bytes per token",
        "longest": spell_tokens(result.report["longest_tokens"][:5]),
        **{phase: format_seconds(taken) for phase, taken in seconds.items()},
    }
    for phase in ("train", "encode", "decode"):
        rows[phase] += f", {format_amount(corpus.n_bytes / seconds[phase], 'bytes')}/s"
    rows["train"] += f" ({within})"
    table = Table(show_header=False)
    for name, value in rows.items():
        table.add_row(name, Text(value))
    verdict = "decoded = text, byte for byte" if result.comes_back else "decoded text differs from the text"
    Console(highlight=False).print(table, Text(verdict, style="green" if result.comes_back else "bold red"))
