"""Cut a text at its special tokens and into pretokens: what stands before the kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bpenb._arrays import NO_TOKEN, IdArray, Int64Array
from bpenb.corpus import CutFinder, SpecialScanner
from bpenb.encoding.engine import Engine
from bpenb.patterns import SplitPattern

__all__ = ["Splitter"]


class Splitter:
    """Cuts texts for one pattern and one set of special tokens (none for ordinary encoding)."""

    def __init__(self, engine: Engine, pattern: SplitPattern, special_tokens: Mapping[str, int]) -> None:
        self._engine = engine
        self._special_ids = {token.encode(): token_id for token, token_id in special_tokens.items()}
        self._scanner = SpecialScanner(special_tokens)
        self._finder = CutFinder(pattern, self._scanner)

    def split(self, text: bytes) -> tuple[Int64Array, IdArray]:
        """Cut a whole text.

        Args:
            text: valid UTF-8.

        Returns:
            int64[n], where each pretoken or special token ends in `text`; and int32[n], the id of
            each special token, NO_TOKEN for a pretoken.
        """
        if not self._special_ids:
            return _plain(self._engine.pretoken_ends(text), 0)
        parts: list[tuple[Int64Array, IdArray]] = []
        position = 0
        for start, end in self._scanner.find_all(text):
            if position < start:
                parts.append(_plain(self._engine.pretoken_ends(text[position:start]), position))
            special_id = self._special_ids[text[start:end]]
            parts.append((np.array([end], dtype=np.int64), np.array([special_id], dtype=np.int32)))
            position = end
        if position < len(text):
            parts.append(_plain(self._engine.pretoken_ends(text[position:]), position))
        if len(parts) == 1:
            return parts[0]
        ends = [np.empty(0, dtype=np.int64), *(part[0] for part in parts)]
        special_ids = [np.empty(0, dtype=np.int32), *(part[1] for part in parts)]
        return np.concatenate(ends), np.concatenate(special_ids)

    def last_cut(self, text: bytes) -> int | None:
        """Return where the start of a longer text may be cut off, as late as can be told, or None.

        The ids of the two halves are then the ids of the whole, whatever comes after `text`.
        """
        cut = self._finder.last(text, 0, at_end=False)
        if cut is not None or not self._special_ids:
            return cut
        # A match is decided when the longest special that could begin where it does would fit:
        # then no earlier start is open either.
        last_decided = len(text) - self._scanner.max_length
        for start, end in self._scanner.find_all(text):
            if start > last_decided:
                break
            cut = end
        return cut


def _plain(ends: Int64Array, offset: int) -> tuple[Int64Array, IdArray]:
    """Return the pretokens of a plain stretch that begins at `offset`."""
    if offset:
        ends = ends + offset
    return ends, np.full(ends.shape[0], NO_TOKEN, dtype=np.int32)
