from __future__ import annotations

import io
import re
import sys
import types

import pytest
from bpenb import _bar
from bpenb.progress import Progress, make_reporter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make stderr a terminal of 60 columns (not as a fixture: pytest sets stderr anew for the test)."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    return stream


def _drawn(stream: io.StringIO) -> list[str]:
    """Every state of the line, without what moves the cursor."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", stream.getvalue())
    return [line for line in re.split(r"[\r\n]", plain) if line]


def test_a_phase_is_drawn_over_itself_and_ends_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    bar = _bar.Bar()
    bar(Progress("count", 0, 200, "bytes", 0.0))
    bar(Progress("count", 100, 200, "bytes", 1.0, {"words": 12}))
    assert "\n" not in terminal.getvalue()
    bar(Progress("count", 200, 200, "bytes", 2.0, {"words": 20}, finished=True))
    assert terminal.getvalue().count("\n") == 1
    half, whole = _drawn(terminal)[1:]
    assert "50 %  100 B of 200 B" in half
    assert "200 B in 2.0 s" in whole
    assert half.count("━") < whole.count("━") == _bar.BAR_WIDTH
    bar.close()
    assert terminal.getvalue().count("\n") == 1


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    bar = _bar.Bar()
    details: dict[str, int | float | str] = {f"detail_{i}": i for i in range(20)}
    for total in (None, 10**12, 0):
        bar(Progress("count", 10**11, total, "bytes", 60.0, details))
    assert len(_drawn(terminal)) == 3
    assert all(len(line) <= 60 for line in _drawn(terminal))


def test_a_total_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    bar = _bar.Bar()
    bar(Progress("count", 100, None, "bytes", 1.0))
    assert "100 B  100 B/s" in _drawn(terminal)[0]
    assert "%" not in terminal.getvalue()
    assert "left" not in terminal.getvalue()


def test_what_follows_an_error_stands_below(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    bar = _bar.Bar()
    bar(Progress("count", 100, 200, "bytes", 1.0))
    bar.close()
    assert terminal.getvalue().endswith("\n")


@pytest.mark.parametrize("variable", ["TERM", None])
def test_plain_lines_elsewhere(monkeypatch: pytest.MonkeyPatch, variable: str | None) -> None:
    """A log file, although colours are wanted there; a terminal that cannot move its cursor."""
    stream = Terminal() if variable else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "dumb" if variable else "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    bar = _bar.Bar()
    bar(Progress("count", 100, 200, "bytes", 1.0))
    bar(Progress("count", 200, 200, "bytes", 2.0, finished=True))
    assert stream.getvalue() == "count: 200 B in 2.0 s (100 B/s)\n"


def test_a_long_phase_gives_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_bar, "PLAIN_INTERVAL", -1.0)
    _bar.Bar()(Progress("count", 100, 200, "bytes", 1.0))
    assert stream.getvalue() == "count: 50 %, 100 B of 200 B, 100 B/s, 1.0 s left\n"


def test_progress_true_is_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    reporter = make_reporter(True)
    reporter.start("merge", 3, "merges")
    reporter.finish(3)
    assert stream.getvalue().startswith("merge: 3 merges in 0.00 s")


# --- notebooks ------------------------------------------------------------------------------------


class ZMQInteractiveShell:
    """As IPython's, in the kernel of a notebook."""


class Shell(ZMQInteractiveShell):
    """As Colab's."""


class TerminalInteractiveShell:
    """As IPython's, in a terminal."""


def _ipython(monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)


def _shown_by_a_notebook(text: str) -> list[str]:
    """The lines that stand there in the end: a carriage return goes to the start of the line."""
    lines = []
    for line in text.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return lines


@pytest.mark.parametrize("shell", [ZMQInteractiveShell(), Shell()])
def test_a_notebook_gets_plain_text_over_itself(monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
    _ipython(monkeypatch, shell)
    stream = io.StringIO()  # a kernel's stderr is no terminal
    monkeypatch.setattr("sys.stderr", stream)
    bar = _bar.Bar()
    bar(Progress("count", 0, 200, "bytes", 0.0))
    bar(Progress("count", 100, 200, "bytes", 1.0, {"words": 12, "some_long_detail": "x" * 200}))
    half = _shown_by_a_notebook(stream.getvalue())
    assert len(half) == 1
    assert half[0].startswith(f"count  {'█' * 12}{'░' * 12}   50 %  100 B of 200 B")
    assert half[0].endswith("…") and len(half[0]) == _bar.NOTEBOOK_WIDTH
    bar(Progress("count", 200, 200, "bytes", 2.0, finished=True))
    bar(Progress("merge", 1, None, "merges", 1.0))
    bar.close()
    bar.close()
    assert _shown_by_a_notebook(stream.getvalue()) == [
        f"count  {'█' * 24}  200 B in 2.0 s (100 B/s)",
        f"merge  {'░' * 24}  1 merges  1 merges/s",
        "",
    ]
    assert not re.search(r"[\x00-\x09\x0b\x0c\x0e-\x1f]", stream.getvalue())


def test_a_training_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    import bpenb

    _ipython(monkeypatch, ZMQInteractiveShell())
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    bpenb.train_from_iterator(["low lower lowest"] * 3, vocab_size=260, progress=True)
    lines = _shown_by_a_notebook(stream.getvalue())
    assert [line.split()[0] for line in lines[:-1]] == ["count", "merge"] and lines[-1] == ""


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in (TerminalInteractiveShell(), None):
        _ipython(monkeypatch, shell)
        assert not _bar.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))  # half imported
    assert not _bar.in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not _bar.in_notebook()
