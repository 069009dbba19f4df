"""Steps that change several files: done as a whole, or nothing more is taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bpenb.errors import OutputError

__all__ = ["WholeSteps"]


class WholeSteps:
    """For a writer of several files. One that was stopped half-way (an error, Ctrl-C) has files that do
    not belong together: its state must not be taken any more, only the last one that was.
    """

    _has_failed = False

    @contextmanager
    def _whole_step(self) -> Iterator[None]:
        """Refuse the step if an earlier one was not done to its end."""
        if self._has_failed:
            raise OutputError("an earlier write of this dataset failed; reopen the last state, or discard it")
        self._has_failed = True
        yield
        self._has_failed = False
