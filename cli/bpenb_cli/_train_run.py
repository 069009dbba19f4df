"""What `bpenb train` does: one training, saved as one tokenizer or as one for each size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bpenb_cli._summary import show_summary
from bpenb_cli._sweep_summary import show_sweep

__all__ = ["rooms", "train_one", "train_several"]


def rooms(verify: bool) -> tuple[str, ...]:
    """Return the rooms whose kernels a training may have to compile."""
    return ("counting", "training", "encoding") if verify else ("counting", "training")


def train_one(
    inputs: Sequence[Path], vocab_size: int, settings: dict[str, Any], output: Path, force: bool
) -> Callable[[], None]:
    """Train and save one tokenizer; return what shows how it went."""
    import bpenb
    from bpenb.formats import check_folder

    check_folder(output, force)  # not after an hour's work
    tokenizer = bpenb.train(list(inputs), vocab_size=vocab_size, **settings)
    tokenizer.save(output, force=force)
    report = tokenizer.report
    assert report is not None
    return lambda: show_summary(report, output)


def train_several(
    inputs: Sequence[Path],
    vocab_sizes: Sequence[int],
    eval_files: Sequence[Path],
    settings: dict[str, Any],
    output: Path,
    force: bool,
) -> Callable[[], None]:
    """Train once, and save a tokenizer for each size; return what shows how it went."""
    import bpenb
    from bpenb.formats import check_sweep_folder

    check_sweep_folder(output, force)
    sweep = bpenb.train_sweep(list(inputs), vocab_sizes, eval_files=list(eval_files), **settings)
    sweep.save(output, force=force)
    return lambda: show_sweep(sweep, output)
