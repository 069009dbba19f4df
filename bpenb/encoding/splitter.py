"""Cut buffers at special tokens and into pretokens: what stands before the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.corpus import CutFinder, SpecialScanner
from bpenb.encoding.encode_words import DROPPED, PLAIN
from bpenb.encoding.engine import Engine
from bpenb.encoding.special_flags import FlagReader, cut_tokens
from bpenb.patterns import SplitPattern
from bpenb.pretokenize import ScanBuffer, SegmentFinder
from bpenb.traits import Traits

__all__ = ["Splitter"]


class Splitter:
    """Cuts text for one pattern and one set of special tokens (none for ordinary encoding).

    Args:
        engine: of the pattern.
        pattern: the split pattern.
        special_tokens: the id of each.
        dropped: further strings that nothing spans, as special tokens; they have no ids.
        traits: normalizer, and flags of special tokens.

    Attributes:
        finder: of the places where a text may be cut.
        normalizes: whether plain text is to be in NFC.
    """

    def __init__(
        self,
        engine: Engine,
        pattern: SplitPattern,
        special_tokens: Mapping[str, int],
        dropped: Iterable[str] = (),
        traits: Traits | None = None,
    ) -> None:
        traits = traits or Traits()
        ids = dict.fromkeys(dropped, DROPPED) | dict(special_tokens)
        self._engine = engine
        self._scanner = SpecialScanner(ids)
        self._segments = SegmentFinder(tuple(ids))
        # By number, and for −1 from the end.
        self._ids = np.array([ids[token] for token in self._segments.special_tokens] + [PLAIN], np.int64)
        self.finder = CutFinder(pattern, self._scanner)
        self.normalizes = traits.normalizer is not None
        flags = {
            name: row for name, row in traits.flags.items() if name in special_tokens and not row.is_plain
        }
        self._flags = FlagReader({ids[name]: row for name, row in flags.items()}) if flags else None
        if flags:
            self.finder = CutFinder(SplitPattern(None, ""), SpecialScanner(cut_tokens(ids, flags)))
        self._search = re.compile(self._scanner.regex).search if ids else None

    def pieces(self, buffer: ScanBuffer, ranges: Int64Array) -> Int64Array:
        """List the plain stretches and the special tokens of a buffer.

        Args:
            buffer: with text.
            ranges: int64[n, 2], first byte and end of each document, or stretch of one, in it.

        Returns:
            int64[m, 4], first byte, end, and id (PLAIN, or DROPPED) of each; the last column is open.
        """
        pieces = self._segments.find(buffer.text, ranges, columns=4)
        pieces[:, 2] = self._ids[pieces[:, 2]]
        return pieces if self._flags is None else self._flags.apply(buffer.text, pieces, ranges)

    def holds_special(self, text: bytes) -> bool:
        """Tell whether a text holds a special token, or a dropped one."""
        return self._search is not None and self._search(text) is not None

    def mark(self, buffer: ScanBuffer, pieces: Int64Array) -> bool:
        """Mark where pretokens start; False if the text is not valid UTF-8."""
        return self._engine.mark(buffer, pieces)

    def last_cut(self, text: bytes) -> int | None:
        """Return where the start of a longer text may be cut off, as late as can be told, or None.

        The ids of the two halves are then the ids of the whole, whatever comes after `text`.
        """
        cut = self.finder.last(text, 0, at_end=False)
        if cut is not None or not self._scanner.tokens or self._flags is not None:
            return cut
        # A match is decided when the longest special that could begin where it does would fit:
        # then no earlier start is open either.
        last_decided = len(text) - self._scanner.max_length
        for start, end in self._scanner.find_all(text):
            if start > last_decided:
                break
            cut = end
        return cut
