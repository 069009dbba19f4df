"""Filling a few reused buffers with the documents of an iterable; several share a buffer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np

from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.rooms import MOST_RANGES, FilledRoom, Place, TakeRoom
from bpenb.errors import CorpusError

__all__ = ["fill_from_documents"]


def fill_from_documents(
    batches: Iterable[list[bytes]],
    finder: CutFinder,
    take_room: TakeRoom,
    *,
    start: Place | None = None,
    item_name: str = "document",
) -> Iterator[FilledRoom]:
    """Yield buffers with whole documents; a document larger than a buffer is cut at safe places.

    Args:
        batches: lists of documents, UTF-8 bytes of each.
        finder: of the split pattern and special tokens.
        take_room: returns a free buffer; waits for one if need be.
        start: place of a range of an earlier run to begin at; the ranges are those that followed.
        item_name: what a document is called in messages.
    """
    filled = FilledRoom(take_room(), item_name)
    parts: list[bytes] = []
    number = cut_before = 0  # of the batch's first document; bytes of it that are left out
    if start is not None:
        batches, number, cut_before = _from_document(batches, start.unit), start.unit, start.offset
    for batch in batches:
        if (
            len(batch) == 1  # most are, or none
            and len(batch[0]) <= filled.room.capacity - filled.n_bytes
            and len(parts) < MOST_RANGES  # as many as there are ranges
            and not cut_before
        ):
            parts += batch
            filled.add_document(len(batch[0]), number)
            number += 1
            continue
        ends = list(accumulate(map(len, batch)))
        done = 0
        while done < len(batch):
            begin = ends[done - 1] if done else 0
            fit = bisect_right(ends, begin + filled.room.capacity - filled.n_bytes)
            fit = done if cut_before else min(fit, done + filled.n_ranges_left)
            if fit > done:
                parts += batch[done:fit]
                filled.add_documents(ends[done:fit], begin, number + done)
                done = fit
                continue
            if filled.n_ranges:
                yield _join(filled, parts)
                filled, parts = FilledRoom(take_room(), item_name), []
            if cut_before or len(batch[done]) > filled.room.capacity:
                text = batch[done][cut_before:] if cut_before else batch[done]
                for first, end in finder.spans(text, filled.room.capacity // 2):
                    if filled.n_ranges:
                        yield _join(filled, parts)
                        filled = FilledRoom(take_room(), item_name)
                    place = Place(0, number + done, cut_before + first)
                    filled.add_part(end - first, None, place, ends_document=end == len(text))
                    parts = [text[first:end]]
                done, cut_before = done + 1, 0
        number += len(batch)
    if filled.n_ranges:
        yield _join(filled, parts)


def _from_document(batches: Iterable[list[bytes]], number: int) -> Iterator[list[bytes]]:
    """Yield the batches from a document on."""
    for batch in batches:
        if number < len(batch):
            yield batch[number:] if number else batch
        number = max(0, number - len(batch))


def _join(filled: FilledRoom, parts: list[bytes]) -> FilledRoom:
    filled.room.set_length(0)
    try:
        filled.room.grow(filled.n_bytes)
    except MemoryError:
        raise CorpusError(
            f"{filled.label(0)[0]}: holds no place to cut for {filled.n_bytes:,} bytes, which do not fit in "
            "memory (or in max_memory); separate documents with a special token"
        ) from None
    filled.room.text[: filled.n_bytes] = np.frombuffer(b"".join(parts), dtype=np.uint8)
    filled.n_disk_bytes = filled.n_bytes
    return filled.close()
