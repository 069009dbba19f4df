"""What commands say on stderr: plain lines, or one JSON object per line; stdout is for data."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bpenb_cli._choices import ProgressStyle

__all__ = ["below", "catch_warnings", "event", "fail", "note", "set_style", "style", "warning"]

_style = ProgressStyle.AUTO
_end_line: Callable[[], None] = lambda: None  # noqa: E731


def set_style(style: ProgressStyle = ProgressStyle.AUTO) -> None:
    """Choose how everything is said from now on."""
    global _style
    _style = style


def style() -> ProgressStyle:
    """Return how things are said."""
    return _style


def event(kind: str, **fields: Any) -> None:
    """Write one JSON object."""
    print(json.dumps({"event": kind, **fields}), file=sys.stderr, flush=True)


@contextmanager
def below(end_line: Callable[[], None]) -> Iterator[None]:
    """Call `end_line` before whatever is said in the block, and at its end: a bar may be drawn there."""
    global _end_line
    before, _end_line = _end_line, end_line
    try:
        yield
    finally:
        end_line()
        _end_line = before


def _say(kind: str, prefix: str, text: str) -> None:
    if _style is ProgressStyle.JSON:
        event(kind, text=text)
    else:
        _end_line()
        print(f"{prefix}{text}", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Tell what is going on."""
    if _style is not ProgressStyle.NONE:
        _say("note", "", text)


def warning(text: str) -> None:
    """Tell what may surprise."""
    _say("warning", "bpenb: warning: ", text)


def fail(text: str, code: int) -> int:
    """Tell in one line why nothing came of it; return the exit code."""
    _say("error", "bpenb: ", " ".join(text.split()))
    return code


def catch_warnings() -> None:
    """Show Python's warnings as a line of ours, without file and line number."""

    def show(message: Warning | str, *where: object, **more: object) -> None:
        warning(str(message))

    warnings.showwarning = show
