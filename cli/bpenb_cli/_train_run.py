"""What `bpenb train` does: one training, saved as one tokenizer or as one for each size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpenb_cli._choices import Ties
from bpenb_cli._gains import rates, show_gains
from bpenb_cli._summary import show_summary
from bpenb_cli._sweep_summary import show_sweep

if TYPE_CHECKING:
    from bpenb import WordCounts
    from bpenb.progress import ProgressCallback

__all__ = ["check_output", "learning", "rooms", "train_all"]


def rooms(encodes: bool) -> tuple[str, ...]:
    """Return the rooms whose kernels a training may have to compile; to verify it encodes too."""
    return ("counting", "training", "encoding") if encodes else ("counting", "training")


def learning(
    min_frequency: int,
    max_token_length: int | None,
    min_word_count: int,
    ties: Ties | None,
    verify: bool,
    show: ProgressCallback,
) -> dict[str, Any]:
    """Return the settings of learning."""
    settings = {"min_frequency": min_frequency, "max_token_length": max_token_length, "progress": show}
    settings |= {"min_word_count": min_word_count, "verify": verify}
    return settings | ({"ties": ties.value} if ties else {})


def check_output(output: Path, force: bool, n_sizes: int) -> None:
    """Refuse to write where something else is: now, not after an hour's work."""
    from bpenb.formats import check_folder, check_sweep_folder

    (check_folder if n_sizes == 1 else check_sweep_folder)(output, force)


def train_all(
    source: list[Path | str] | dict[Path | str, int] | WordCounts,
    vocab_sizes: Sequence[int],
    eval_files: Sequence[str],
    settings: dict[str, Any],
    output: Path,
    force: bool,
) -> Callable[[], None]:
    """Train once, and save a tokenizer, or one for each of several sizes; return what shows how it went."""
    import bpenb

    if len(vocab_sizes) > 1:
        sweep = bpenb.train_sweep(source, vocab_sizes, eval_files=list(eval_files), **settings)
        sweep.save(output, force=force)
        return lambda: show_sweep(sweep, output)
    errors = settings.get("errors", "strict")
    before = rates(settings.get("base"), eval_files, errors, settings["pattern"])
    if isinstance(source, bpenb.WordCounts):
        tokenizer = bpenb.train_from_counts(source, vocab_size=vocab_sizes[0], **settings)
    else:
        tokenizer = bpenb.train(source, vocab_size=vocab_sizes[0], **settings)
    tokenizer.save(output, force=force)
    show_gains(tokenizer, eval_files, before, errors)
    report = tokenizer.report
    assert report is not None
    return lambda: show_summary(report, output)
