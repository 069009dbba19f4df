"""Where the words of a shard are, in a form that travels; and the words, read by who works on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, offsets_from_lengths
from bpenb.counting import WordCounts, Words
from bpenb.training import WordShard

__all__ = ["WordSource", "build_shard", "load_words", "word_sources"]


class WordSource(NamedTuple):
    """One of several shards of the words in count files.

    Attributes:
        paths: whose words belong to it.
        part, n_parts: it has the words part, part + n_parts, … of each of these files.
    """

    paths: tuple[str, ...]
    part: int
    n_parts: int


def word_sources(paths: Sequence[Path], n_shards: int) -> list[WordSource]:
    """Deal the words of count files out to shards.

    Where there are files enough, each shard has some as they are, the largest dealt first; else each has
    a part of every file.

    Args:
        paths: count files; a word may be in several.
        n_shards: how many shards.
    """
    if len(paths) < n_shards:
        names = tuple(map(str, paths))
        return [WordSource(names, part, n_shards) for part in range(n_shards)]
    by_size = sorted(paths, key=lambda path: (-path.stat().st_size, str(path)))
    return [WordSource(tuple(map(str, by_size[part::n_shards])), 0, 1) for part in range(n_shards)]


def load_words(source: WordSource) -> Words:
    """Read the words of a shard: bytes, offsets and counts, as in `WordCounts`, file after file.

    Raises:
        CountsError: a file that is none of counts.
        OSError: one that cannot be read.
    """
    parts = [_part_of(WordCounts.load(path), source) for path in source.paths]
    lengths = np.concatenate([np.diff(offsets) for _, offsets, _ in parts])
    word_bytes: ByteArray = np.concatenate([some for some, _, _ in parts])
    return word_bytes, offsets_from_lengths(lengths), np.concatenate([counts for _, _, counts in parts])


def _part_of(counts: WordCounts, source: WordSource) -> Words:
    if source.n_parts == 1:
        return counts.word_bytes, counts.word_offsets, counts.word_counts
    chosen = slice(source.part, None, source.n_parts)
    starts, lengths = counts.word_offsets[:-1][chosen], np.diff(counts.word_offsets)[chosen]
    offsets = offsets_from_lengths(lengths)
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return counts.word_bytes[places], offsets, counts.word_counts[chosen].copy()


def build_shard(source: WordSource, byte_order: ByteArray, n_merges: int) -> WordShard:
    """Build a shard of words, where it will stay; arguments as of `WordShard`."""
    return WordShard(load_words(source), byte_order, n_merges)
