"""`--profile FILE`: cProfile data of what a command does in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["profiled"]


@contextmanager
def profiled(path: Path | None) -> Iterator[None]:
    """Profile the block into `path` (for `python -m pstats`), even if it fails; or do nothing."""
    if path is None:
        yield
        return
    import cProfile

    path.touch()  # a place that cannot be written is told before the work
    profile = cProfile.Profile()
    try:
        with profile:
            yield
    finally:
        profile.dump_stats(path)
