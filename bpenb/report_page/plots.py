"""The plots of a report, by matplotlib. What a plot says in words comes from us alone, never from a text."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.errors import OutputError
from bpenb.report_page.growth import Growth
from bpenb.report_page.svg import COLOURS, inline_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["check_library", "plot_bars", "plot_growth", "plot_lengths", "plot_ranks", "short_number"]

_WIDTH, _HEIGHT = 5.2, 3.2  # inches of 72 units: so wide a phone is, and text keeps its size there
_ROW_HEIGHT = 0.42
_TEXT_SIZE = 12
_LEAST_DECADES = 20  # a logarithmic axis of less has no two ticks
_MOST_POINTS = 240

_SETTINGS = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "path.simplify": False,
    "font.family": ["sans-serif"],
    "font.size": _TEXT_SIZE,
    "axes.edgecolor": COLOURS["rule"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["rule"],
    "grid.linewidth": 0.7,
    "xtick.color": COLOURS["rule"],
    "ytick.color": COLOURS["rule"],
    "xtick.labelcolor": COLOURS["muted"],
    "ytick.labelcolor": COLOURS["muted"],
    "text.color": COLOURS["ink"],
    "legend.frameon": False,
    "legend.labelcolor": COLOURS["ink"],
    "lines.linewidth": 2.2,
}


def check_library() -> None:
    """Raise if what draws the plots is not there.

    Raises:
        OutputError: no matplotlib.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise OutputError(
            "the plots of a report are drawn by the package matplotlib, which is not here: "
            "pip install 'bpenb[report]'"
        ) from None


def short_number(value: float) -> str:
    """Return a number for an axis.

    Example:
        >>> [short_number(n) for n in (0, 0.5, 256, 2_000, 32_768, 5_000_000)]
        ['0', '0.5', '256', '2k', '32.8k', '5M']
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


class _Drawing:
    """Axes that are drawn on, and the SVG they become when the block has ended."""

    axes: Axes
    svg: str = ""


@contextmanager
def _drawing(name: str, title: str, description: str, height: float = _HEIGHT) -> Iterator[_Drawing]:
    """Give axes to draw on; the style is ours whatever the user's matplotlibrc."""
    from matplotlib import rc_context, rcParamsDefault
    from matplotlib.figure import Figure

    usual = {key: value for key, value in rcParamsDefault.items() if not key.startswith("backend")}
    settings: Any = usual | _SETTINGS | {"svg.hashsalt": name}
    with rc_context(settings):
        figure = Figure((_WIDTH, height), layout="constrained")
        drawing = _Drawing()
        drawing.axes = figure.subplots()
        yield drawing
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    drawing.svg = inline_svg(out.getvalue(), name, title, description)


def plot_growth(growth: Growth) -> str:
    """Return bytes per token against vocab size, as SVG."""
    n_merges = len(growth.n_tokens) - 1
    steps = np.union1d(_spread(n_merges), np.linspace(0, n_merges, _MOST_POINTS // 4).astype(np.int64))
    sizes = growth.vocab_sizes[steps]
    first, last = growth.bytes_per_token(0), growth.bytes_per_token(n_merges)
    told = (
        f"From {first:.2f} bytes per token with {int(sizes[0]):,} tokens to {last:.2f} with "
        f"{int(sizes[-1]):,}; the table below has more."
    )
    with _drawing("growth", "Bytes per token against vocab size", told) as drawing:
        axes = drawing.axes
        axes.plot(sizes, growth.n_bytes / growth.n_tokens[steps], color=COLOURS["first"])
        axes.plot(sizes[-1:], [last], "o", color=COLOURS["first"])
        if sizes[-1] > _LEAST_DECADES * sizes[0]:
            _make_logarithmic(axes, "x", (1, 2, 5) if sizes[-1] < 1e3 * sizes[0] else (1,))
        axes.set_xlabel("tokens in the vocab")
        axes.set_ylabel("bytes per token")
        axes.set_ylim(bottom=min(1.0, first))
        _spell_ticks(axes, "x")
    return drawing.svg


def plot_ranks(counts: Int64Array) -> str:
    """Return how often tokens occur against their place in that order, as SVG.

    Args:
        counts: int64[n], positive and falling.
    """
    places = _spread(len(counts) - 1)
    told = (
        f"{len(counts):,} tokens occur; the most frequent {int(counts[0]):,} times, the last "
        f"{int(counts[-1]):,}; the table below has more."
    )
    with _drawing("ranks", "Frequency of tokens against their rank by frequency", told) as drawing:
        axes = drawing.axes
        axes.plot(places + 1, counts[places], color=COLOURS["first"])
        axes.plot([1], counts[:1], "o", color=COLOURS["first"])
        for axis in ("x", "y"):
            _make_logarithmic(axes, axis, (1,))
            _spell_ticks(axes, axis)
        axes.set_xlim(0.8, max(10, len(counts)) * 1.25)
        axes.set_ylim(0.7, max(10, int(counts[0])) * 1.6)
        axes.set_xlabel("rank by frequency (logarithmic)")
        axes.set_ylabel("occurrences (logarithmic)")
    return drawing.svg


def plot_lengths(of_vocab: Sequence[float], of_text: Sequence[float]) -> str:
    """Return the lengths of tokens, as SVG.

    Args:
        of_vocab: share of the vocab, in percent, of tokens of 1, 2, … bytes; the last of all longer ones.
        of_text: the same of the tokens of the texts.
    """
    told = "Two bars for each length: the share of the vocab, and of the texts; the table below has all."
    with _drawing("lengths", "Lengths of tokens in bytes", told) as drawing:
        axes = drawing.axes
        lengths = np.arange(1, len(of_vocab) + 1)
        axes.bar(lengths - 0.2, of_vocab, 0.38, color=COLOURS["first"], label="vocab")
        axes.bar(lengths + 0.2, of_text, 0.38, color=COLOURS["second"], label="texts")
        step = 1 if len(lengths) <= 10 else 2
        labels = [str(length) for length in lengths]
        labels[-1] += "+"
        shown = range((len(lengths) - 1) % step, len(lengths), step)
        axes.set_xticks(lengths[shown], [labels[i] for i in shown])
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("bytes of a token")
        axes.set_ylabel("share, %")
        axes.legend(loc="upper right")
    return drawing.svg


def plot_bars(
    name: str, title: str, told: str, unit: str, series: Mapping[str, Sequence[float]], labels: Sequence[str]
) -> str:
    """Return bars from left to right, one row for each label, as SVG.

    Args:
        name, title, told: of the plot, for who does not see it.
        unit: of the values, on their axis.
        series: at most two, by what they are called; values by label.
        labels: of the rows, from the top.
    """
    height = 1.0 + _ROW_HEIGHT * max(2, len(labels)) * (1.25 if len(series) > 1 else 1)
    with _drawing(name, title, told, height) as drawing:
        axes = drawing.axes
        rows = np.arange(len(labels))
        thick = 0.76 / len(series)
        for place, (what, values) in enumerate(series.items()):
            at = rows + thick * (place - (len(series) - 1) / 2)
            colour = COLOURS["first" if place == 0 else "second"]
            axes.barh(at, values, thick, color=colour, label=what)
            for y, value in zip(at.tolist(), values, strict=True):
                axes.annotate(
                    f"{value:.2g}" if value < 1 else f"{value:,.1f}",
                    (value, y),
                    (4, 0),
                    textcoords="offset points",
                    va="center_baseline",
                    fontsize=_TEXT_SIZE - 2,
                )
        axes.set_yticks(rows, labels)
        axes.tick_params(axis="y", labelcolor=COLOURS["ink"], length=0)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.14)
        axes.set_xlim(left=0)
        axes.set_xlabel(unit)
        if len(series) > 1:
            axes.legend(loc="lower right")
    return drawing.svg


def _spread(last: int) -> Int64Array:
    """Return places from 0 to `last`, ever farther apart."""
    spread = np.geomspace(1, last + 1, _MOST_POINTS) - 1
    return np.unique(np.concatenate([[0, last], np.rint(spread)]).astype(np.int64))


def _make_logarithmic(axes: Axes, axis: str, multiples: tuple[int, ...]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    one = axes.xaxis if axis == "x" else axes.yaxis
    (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
    one.set_major_locator(LogLocator(subs=multiples))
    one.set_minor_locator(NullLocator())


def _spell_ticks(axes: Axes, axis: str) -> None:
    from matplotlib.ticker import FuncFormatter

    one = axes.xaxis if axis == "x" else axes.yaxis
    one.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
