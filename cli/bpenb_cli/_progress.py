"""The callable that a command hands to long work, by `--progress`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bpenb_cli import _messages
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._interrupts import raise_if_interrupted

if TYPE_CHECKING:
    from bpenb.progress import Progress, ProgressCallback

__all__ = ["shown_progress"]


def _write_json(progress: Progress) -> None:
    """Write a report as one JSON object."""
    _messages.event(
        "progress",
        phase=progress.phase,
        done=progress.done,
        total=progress.total,
        unit=progress.unit,
        seconds=round(progress.seconds, 3),
        rate=round(progress.rate, 1),
        eta=None if progress.eta is None else round(progress.eta, 1),
        finished=progress.finished,
        details=progress.details,
    )


@contextmanager
def shown_progress(style: ProgressStyle, *rooms: str) -> Iterator[ProgressCallback]:
    """Say everything in this style; give the callable that shows progress so, and sees Ctrl-C.

    With `auto` that is the bar, which writes plain lines where stderr is no terminal. On a first
    run it is said that the kernels of `rooms` are being compiled.
    """
    from bpenb.warmup import noticed_compiling

    _messages.set_style(style)
    show, end_line = _shower(style)

    def report(progress: Progress) -> None:
        raise_if_interrupted()
        show(progress)

    with noticed_compiling(_say_compiling, *rooms), _messages.below(end_line):
        try:
            yield report
        except BaseException as error:
            for note in getattr(error, "__notes__", ()):  # how to go on, for one
                _messages.warning(note)
            raise


def _shower(style: ProgressStyle) -> tuple[ProgressCallback, Callable[[], None]]:
    """Return what shows a report, and what ends the line that it may have begun."""
    if style is ProgressStyle.AUTO:
        from bpenb._bar import Bar

        bar = Bar()
        return bar, bar.close
    return (_write_json if style is ProgressStyle.JSON else _show_nothing), lambda: None


def _show_nothing(progress: Progress) -> None:
    pass


def _say_compiling(seconds: float) -> None:
    _messages.note(f"first run: compiling kernels, up to {seconds:.0f} s; later runs find them on disk")
