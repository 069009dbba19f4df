"""What `bpenb train` does: one training, saved as one tokenizer or as one for each size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpenb_cli._gains import rates, show_gains
from bpenb_cli._profile import profiled
from bpenb_cli._progress import shown_progress
from bpenb_cli._summary import show_summary
from bpenb_cli._sweep_summary import show_sweep
from bpenb_cli._train_one import train_one

if TYPE_CHECKING:
    from bpenb import WordCounts
    from bpenb.progress import ProgressCallback

__all__ = ["at_work", "train_all"]


@contextmanager
def at_work(
    given: Mapping[str, Any], n_sizes: int, characters: Mapping[str, Any] | None
) -> Iterator[ProgressCallback]:
    """Show the progress of a training, and profile it if that was asked for; `given`: parameters by name."""
    _check_output(given["output"], given["force"], n_sizes, characters)
    rooms: tuple[str, ...] = ("counting", "training")
    if given["verify"] or given["base"] is not None:  # they encode too
        rooms += ("encoding",)
    with shown_progress(given["progress"], *rooms) as show, profiled(given["profile"]):
        yield show


def _check_output(output: Path, force: bool, n_sizes: int, characters: Mapping[str, Any] | None) -> None:
    """Refuse to write where something else is: now, not after an hour's work."""
    if characters is not None:
        from bpenb.classic import check_classic_folder

        return check_classic_folder(output, force)
    from bpenb.formats import check_folder, check_sweep_folder

    (check_folder if n_sizes == 1 else check_sweep_folder)(output, force)


def train_all(
    source: list[Path | str] | dict[Path | str, int] | WordCounts,
    vocab_sizes: Sequence[int],
    eval_files: Sequence[str],
    settings: dict[str, Any],
    output: Path,
    force: bool,
    characters: Mapping[str, Any] | None,
) -> Callable[[], None]:
    """Train once, and save a tokenizer, or one for each of several sizes; return what shows how it went."""
    import bpenb

    if len(vocab_sizes) > 1:
        sweep = bpenb.train_sweep(source, vocab_sizes, eval_files=list(eval_files), **settings)
        sweep.save(output, force=force)
        return lambda: show_sweep(sweep, output)
    errors = settings.get("errors", "strict")
    before = rates(settings.get("base"), eval_files, errors, settings["pattern"])
    tokenizer = train_one(source, vocab_sizes[0], settings, characters)
    tokenizer.save(output, force=force)
    if isinstance(tokenizer, bpenb.Tokenizer):
        show_gains(tokenizer, eval_files, before, errors)
    report = tokenizer.report or {}
    return lambda: show_summary(report, output)
