"""Replaying known merges on all words: how often each pair occurred, and what each merge took away.

pack → look the merges up by their left part → slices of words → what is left
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import N_BYTES, ByteArray, CountArray, IdArray, offsets_from_lengths
from bpenb.counting import WordCounts
from bpenb.progress import Reporter
from bpenb.training.word_replay_kernel import MergeLookup, ReplayScratch, WordRows, replay_words

__all__ = ["Replay", "make_lookup", "replay_merges"]

# mypy: disable-error-code="no-untyped-call"

SLICE_BYTES = 2_000_000  # bytes of words between two looks at the bar and at Ctrl-C


class Replay(NamedTuple):
    """What the merges did.

    Attributes:
        words: the words after the last merge, as rows of learning ids.
        pair_counts: int64[n_merges], occurrences of each pair when its turn came, overlapping
            ones too: what a trainer must have counted.
        tokens_removed: int64[n_merges], tokens that each merge took away from the text.
        n_bytes: of text, so tokens before the first merge.
    """

    words: WordRows
    pair_counts: CountArray
    tokens_removed: CountArray
    n_bytes: int

    def tokens_left(self, n_merges: int) -> int:
        """Return how many tokens the text has after the first `n_merges` merges."""
        return self.n_bytes - int(self.tokens_removed[:n_merges].sum())


def make_lookup(merges: IdArray) -> MergeLookup:
    """Return the merges by their left part.

    Args:
        merges: int32[n, 2], learning ids; row = rank; no pair twice.

    Example:
        >>> lookup = make_lookup(np.array([[98, 99], [97, 256], [97, 98]], dtype=np.int32))
        >>> lookup.offsets[97:100].tolist(), lookup.rights.tolist(), lookup.ranks.tolist()
        ([0, 2, 3], [98, 256, 99], [2, 1, 0])
    """
    order = np.lexsort((merges[:, 1], merges[:, 0])).astype(np.int32)
    n_of_left = np.bincount(merges[:, 0], minlength=N_BYTES + merges.shape[0])
    rights = np.ascontiguousarray(merges[order, 1], dtype=np.int32)
    return MergeLookup(offsets_from_lengths(n_of_left), rights, order)


def _rows(counts: WordCounts, byte_order: ByteArray) -> WordRows:
    """Return the words as rows of learning ids. Not packed as the trainer does: nothing is shared."""
    id_of_byte = np.empty(N_BYTES, dtype=np.int32)
    id_of_byte[byte_order] = np.arange(N_BYTES, dtype=np.int32)
    offsets = np.array(counts.word_offsets, dtype=np.int64)
    lengths = np.diff(offsets).astype(np.int32)
    return WordRows(id_of_byte[counts.word_bytes], offsets, lengths, np.array(counts.word_counts))


def _make_scratch(longest: int) -> ReplayScratch:
    room = max(longest, 1)
    return ReplayScratch(
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int32),
        np.empty(2 * room, dtype=np.int64),  # a pair for each byte, and a merge adds two and takes one
    )


def replay_merges(
    counts: WordCounts, merges: IdArray, byte_order: ByteArray, reporter: Reporter | None = None
) -> Replay:
    """Apply merges to all words, and tell what each of them did.

    Args:
        counts: the words.
        merges: int32[n, 2] in learning ids; each part is a byte or made by an earlier merge.
        byte_order: uint8[256], the byte that each of the learning ids 0…255 stands for.
        reporter: told of the phase `replay`.

    Returns:
        The counts of all merges, for any number of them from the front.

    Example:
        >>> merges = np.array([[97, 97]], dtype=np.int32)
        >>> replay = replay_merges(WordCounts.from_dict({"aaaa": 2}), merges, np.arange(256, dtype=np.uint8))
        >>> replay.pair_counts.tolist(), replay.tokens_removed.tolist(), replay.tokens_left(1)
        ([6], [4], 4)
    """
    reporter = reporter or Reporter(None)
    n_words = len(counts)
    words = _rows(counts, byte_order)
    lookup = make_lookup(merges)
    scratch = _make_scratch(int(words.row_lengths.max(initial=0)))
    pair_counts = np.zeros(merges.shape[0], dtype=np.int64)
    tokens_removed = np.zeros(merges.shape[0], dtype=np.int64)
    reporter.start("replay", n_words, "words")
    first = 0
    while first < n_words:
        full = np.searchsorted(words.row_offsets, words.row_offsets[first] + SLICE_BYTES, side="right")
        last = min(max(int(full) - 1, first + 1), n_words)
        replay_words(words, first, last, lookup, scratch, pair_counts, tokens_removed)
        reporter.update(last)
        first = last
    reporter.finish(n_words)
    return Replay(words, pair_counts, tokens_removed, counts.n_bytes)
