"""Merging word counts: exact sums, after looking that the parts belong together.

made alike? → no shard twice, none missing? → load one part after the other → times its weight → one table
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bpenb._arrays import CountArray
from bpenb.corpus import check_weight
from bpenb.counting import npz
from bpenb.counting.shards import Shard, describe_missing, join_shards, parse_shards
from bpenb.counting.table import WordTable
from bpenb.counting.word_checks import INT64_MAX
from bpenb.errors import CountsError

if TYPE_CHECKING:
    from bpenb.counting.word_counts import WordCounts

__all__ = ["MergePlan", "merge_counts", "plan_merge"]


class _Part(NamedTuple):
    name: str
    source: WordCounts | str | os.PathLike[str]
    weight: int
    made_by: dict[str, object]
    shards: tuple[Shard, ...]


class MergePlan(NamedTuple):
    """Parts that may be merged, and the shards that they hold together."""

    parts: tuple[_Part, ...]
    shards: tuple[Shard, ...]

    def add_up(self) -> WordCounts:
        """Return the sums, reading one file after the other."""
        from bpenb.counting.word_counts import WordCounts

        table = WordTable()
        first: WordCounts | None = None
        for part in self.parts:
            counts = part.source if isinstance(part.source, WordCounts) else WordCounts.load(part.source)
            table.add(counts.word_bytes, counts.word_offsets, _times(counts.word_counts, part))
            if first is None:
                first = counts.without_words()
        assert first is not None
        words, offsets, sums = table.to_arrays()
        return replace(first, word_bytes=words, word_offsets=offsets, word_counts=sums, shards=self.shards)


def merge_counts(
    parts: Sequence[WordCounts | str | os.PathLike[str]],
    *,
    weights: Sequence[int] | None = None,
    allow_missing: bool = False,
) -> WordCounts:
    """Return the counts of several corpora, or of the shards of one, together.

    All parts are checked before the first is added; files are then read one after the other, so
    memory holds one of them beside the sums.

    Args:
        parts: word counts, or files of them, made with the same pattern, special tokens, document
            separator, engine and Unicode version.
        weights: how often each part counts, positive integers; None: each once.
        allow_missing: whether shards of a corpus may be missing.

    Raises:
        BpenbError: a weight below 1.
        CountsError: parts that were made differently, a shard twice or missing, a sum that passes
            2**63 - 1, or a file that is missing or damaged.
        TypeError: a part or a weight of a wrong type.

    Example:
        >>> from bpenb.counting import WordCounts
        >>> a, b = WordCounts.from_dict({"low": 1}), WordCounts.from_dict({"low": 2, "er": 1})
        >>> merge_counts([a, b], weights=[10, 1]).to_dict()
        {b'er': 1, b'low': 12}
    """
    return plan_merge(parts, weights, allow_missing).add_up()


def plan_merge(
    parts: Sequence[WordCounts | str | os.PathLike[str]], weights: Sequence[int] | None, allow_missing: bool
) -> MergePlan:
    """Return what `merge_counts` with these arguments would do, after all its checks but those of words."""
    if isinstance(parts, str | bytes | os.PathLike) or not isinstance(parts, Sequence):
        raise TypeError(f"parts must be a list of word counts or files, not {type(parts).__name__}")
    if not parts:
        raise CountsError("there are no word counts to merge")
    weights = [1] * len(parts) if weights is None else [check_weight(weight) for weight in weights]
    if len(weights) != len(parts):
        raise CountsError(f"{len(parts)} parts need {len(parts)} weights, not {len(weights)}")
    known = [_describe(part, number, weights[number]) for number, part in enumerate(parts)]
    _check_files_once(known)
    for part in known[1:]:
        _check_made_alike(known[0], part)
    shards = join_shards((part.name, part.weight, part.shards) for part in known)
    if not allow_missing and (missing := describe_missing(shards)):
        raise CountsError(
            f"{missing}: missing; count and merge them as well, or allow it (allow_missing=True, "
            "--allow-missing)"
        )
    return MergePlan(tuple(known), shards)


def _check_files_once(parts: Sequence[_Part]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        if isinstance(part.source, str | os.PathLike):
            place = os.path.realpath(part.source)
            if place in seen:
                raise CountsError(
                    f"{part.name} is given twice; give it once, with a weight if it shall count several times"
                )
            seen[place] = part.name


def _describe(part: WordCounts | str | os.PathLike[str], number: int, weight: int) -> _Part:
    """Look how a part was made, without reading the words of a file."""
    from bpenb.counting.word_counts import WordCounts

    if isinstance(part, WordCounts):
        return _Part(f"part {number + 1}", part, weight, part.made_by, part.shards)
    if not isinstance(part, str | os.PathLike):
        raise TypeError(f"only WordCounts and files of them can be merged, not {type(part).__name__}")
    made_by = npz.read_metadata(part)
    try:
        shards = parse_shards(made_by.get("shards", []))
    except CountsError as error:
        raise CountsError(f"{os.fspath(part)}: damaged word counts: {error}") from None
    return _Part(os.fspath(part), part, weight, made_by, shards)


def _check_made_alike(first: _Part, other: _Part) -> None:
    for what in npz.MADE_BY:
        ours, theirs = first.made_by[what], other.made_by[what]
        if theirs != ours:
            raise CountsError(
                f"these counts were made differently and cannot be merged: {what.replace('_', ' ')} "
                f"{ours!r} in {first.name}, {theirs!r} in {other.name}; count the texts again in one way"
            )


def _times(word_counts: CountArray, part: _Part) -> CountArray:
    if part.weight == 1:
        return word_counts
    largest = int(word_counts.max(initial=0))
    if largest * part.weight > INT64_MAX:
        raise CountsError(
            f"{part.name}: a count of {largest:,} times {part.weight:,} passes 2**63 - 1; "
            "take smaller weights"
        )
    return word_counts * part.weight
