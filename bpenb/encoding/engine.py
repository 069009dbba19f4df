"""The one place that chooses who cuts text into pretokens."""

from __future__ import annotations

from typing import Protocol

from bpenb._arrays import Int64Array
from bpenb.patterns import SplitPattern
from bpenb.pretokenize import CompiledEngine, RegexEngine, is_known

__all__ = ["Engine", "make_engine"]


class Engine(Protocol):
    """What cuts plain text into pretokens."""

    def pretoken_ends(self, text: bytes) -> Int64Array:
        """Return int64[n], where each pretoken of `text` ends; the last one at len(text)."""
        ...


def make_engine(pattern: SplitPattern) -> Engine:
    """Return the engine for a split pattern, compiled where it is known; it knows no special tokens."""
    return CompiledEngine(pattern) if is_known(pattern) else RegexEngine(pattern, ())
