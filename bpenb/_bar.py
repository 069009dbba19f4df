"""Who shows progress by default: a bar on a terminal, a plain line per phase elsewhere.

    count ━━━━━━━━━━╸━━━━━━━━━  52 %  5.8 MB of 11.2 MB  8.5 MB/s  1 s left  61,007 words
    merge: 7,743 merges in 0.4 s (19,357 merges/s)

The line is drawn over itself, without a thread and without hiding the cursor, so that an error
at any moment leaves the terminal as it was. A notebook gets the same line as plain text: it knows the
carriage return, but no other control.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bpenb.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

__all__ = ["Bar", "describe", "format_amount", "format_seconds", "in_notebook"]

BAR_WIDTH = 24  # characters
NOTEBOOK_WIDTH = 100  # characters of a line in a notebook, which does not tell how wide it is
PLAIN_INTERVAL = 30.0  # seconds between two plain lines of a long phase


def format_seconds(seconds: float) -> str:
    """Return a time for people.

    Example:
        >>> format_seconds(0.034), format_seconds(4.26), format_seconds(75), format_seconds(3700)
        ('0.03 s', '4.3 s', '1 min 15 s', '1 h 01 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes = int(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {int(seconds) % 60:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def format_amount(n: float, unit: str) -> str:
    """Return a number of units for people; bytes are counted in thousands.

    Example:
        >>> format_amount(12345, "merges"), format_amount(999, "bytes"), format_amount(11_200_000, "bytes")
        ('12,345 merges', '999 B', '11.2 MB')
    """
    if unit != "bytes":
        return f"{n:,.0f} {unit}"
    for prefix in ("", "k", "M", "G"):
        if n < 999.5:
            return f"{n:.0f} B" if not prefix else f"{n:.1f} {prefix}B"
        n /= 1000
    return f"{n:,.1f} TB"


def _details(progress: Progress) -> list[str]:
    """Return the further figures, as `61,007 words`."""
    named = ((name.replace("_", " "), value) for name, value in progress.details.items())
    return [f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}" for name, value in named]


def _figures(progress: Progress) -> list[str]:
    """Return where a phase stands, figure by figure."""
    done = format_amount(progress.done, progress.unit)
    figures = [done]
    if progress.total:
        done = done.removesuffix(f" {progress.unit}")  # 743 of 7,743 merges
        figures = [
            f"{100 * progress.done // progress.total:3d} %",
            f"{done} of {format_amount(progress.total, progress.unit)}",
        ]
    if progress.rate:
        figures.append(f"{format_amount(progress.rate, progress.unit)}/s")
    if progress.eta is not None:
        figures.append(f"{format_seconds(progress.eta)} left")
    return figures + _details(progress)


def describe(progress: Progress) -> str:
    """Return a report as one plain line.

    Example:
        >>> describe(Progress("count", 5_000_000, 20_000_000, "bytes", 2.0, {"words": 61007}))
        'count: 25 %, 5.0 MB of 20.0 MB, 2.5 MB/s, 6.0 s left, 61,007 words'
        >>> describe(Progress("merge", 743, 743, "merges", 0.5, finished=True))
        'merge: 743 merges in 0.50 s (1,486 merges/s)'
    """
    if not progress.finished:
        return f"{progress.phase}: " + ", ".join(_figures(progress)).strip()
    amount = format_amount(progress.done, progress.unit)
    rate = f" ({format_amount(progress.rate, progress.unit)}/s)" if progress.rate else ""
    done = f"{progress.phase}: {amount} in {format_seconds(progress.seconds)}{rate}"
    return ", ".join([done, *_details(progress)])


def in_notebook() -> bool:
    """Tell whether this runs in the kernel of a notebook, not in IPython in a terminal, nor elsewhere.

    Example:
        >>> in_notebook()
        False
    """
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    # Those of Colab and others derive from Jupyter's.
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)


def _notebook_line(progress: Progress) -> str:
    """Return a report as a line of plain text, of one width: it covers what it is written over."""
    part = progress.done / progress.total if progress.total else float(progress.finished)
    n_full = round(BAR_WIDTH * min(1.0, part))
    figures = [describe(progress).partition(": ")[2]] if progress.finished else _figures(progress)
    line = f"{progress.phase:<6} {'█' * n_full}{'░' * (BAR_WIDTH - n_full)}  {'  '.join(figures)}"
    return (line if len(line) <= NOTEBOOK_WIDTH else f"{line[: NOTEBOOK_WIDTH - 1]}…").ljust(NOTEBOOK_WIDTH)


class _Line:
    """One report as a line of a terminal, never wider than it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        progress = self._progress
        phase = f"{progress.phase:<6} "
        yield Text(phase, style="bold", end="")
        yield ProgressBar(
            total=progress.total or (1 if progress.finished else None),
            completed=progress.done if progress.total else 1,
            width=BAR_WIDTH,
            animation_time=time.monotonic(),
        )
        figures = [describe(progress).partition(": ")[2]] if progress.finished else _figures(progress)
        text = Text("  " + "  ".join(figures), end="", no_wrap=True)
        text.truncate(max(0, options.max_width - BAR_WIDTH - len(phase) - 1), overflow="ellipsis")
        yield text


class Bar:
    """Shows reports on stderr: pass it, or `progress=True`, to whatever takes `progress`.

    Example:
        >>> bar = Bar()
        >>> bar(Progress("merge", 743, 743, "merges", 0.5, finished=True))
        >>> bar.close()
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)
        # Not what rich believes: FORCE_COLOR makes no terminal of a log file.
        self._draws = sys.stderr.isatty() and not self._console.is_dumb_terminal
        self._writes = in_notebook()
        self._is_open = False  # the cursor stands behind a line of ours
        self._last_plain = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Show a report."""
        if self._writes:
            self._write(progress)
        elif self._draws:
            self._draw(progress)
        elif progress.finished or time.monotonic() - self._last_plain > PLAIN_INTERVAL:
            self._last_plain = time.monotonic()
            self._console.print(describe(progress), markup=False, soft_wrap=True)

    def _draw(self, progress: Progress) -> None:
        from rich.control import Control
        from rich.segment import ControlType

        self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        self._console.print(_Line(progress), end="")
        self._is_open = True
        if progress.finished:
            self.close()

    def _write(self, progress: Progress) -> None:
        # Not by rich, which would show every line as an output of its own.
        sys.stderr.write("\r" + _notebook_line(progress))
        sys.stderr.flush()
        self._is_open = True
        if progress.finished:
            self.close()

    def close(self) -> None:
        """End the line that is being drawn, if one is: what is printed next stands below it."""
        if self._is_open:
            if self._writes:
                sys.stderr.write("\n")
                sys.stderr.flush()  # what is printed next goes to another stream
            else:
                self._console.print()
            self._is_open = False
