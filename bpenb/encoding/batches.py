"""Many texts at once, each a text of its own: threads share them, and their ids come out in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb._workers import resolve_workers
from bpenb.corpus import fill_from_documents
from bpenb.encoding.encoder import Encoder
from bpenb.encoding.special_choice import Names, SpecialChoice
from bpenb.encoding.streaming import utf8_bytes

__all__ = ["RaggedIds", "encode_ragged"]

TEXTS_AT_A_TIME = 1024  # turned into bytes
BYTES_PER_WORKER = 1 << 16  # below it a thread is not worth its start
BUFFER_BYTES = 1 << 19


class RaggedIds(NamedTuple):
    """The ids of many texts, one after the other.

    Attributes:
        ids: uint16[n], or uint32[n] for a vocab of more than 65,536 ids.
        offsets: int64[n_texts + 1], where those of each text begin.
    """

    ids: npt.NDArray[Any]
    offsets: Int64Array


class _Gathered:
    """Ids as they come, in one array that grows."""

    def __init__(self, dtype: np.dtype[Any], n_expected: int) -> None:
        self._ids: npt.NDArray[Any] = np.empty(n_expected, dtype=dtype)  # pages not written take no memory
        self._ends: list[Int64Array] = [np.zeros(1, dtype=np.int64)]
        self._n_ids = 0

    def add(self, ids: npt.NDArray[Any], text_ends: Int64Array) -> None:
        """Take the next ids, and where texts end in them."""
        end = self._n_ids + len(ids)
        if end > len(self._ids):
            larger = np.empty(2 * end, dtype=self._ids.dtype)
            larger[: self._n_ids] = self._ids[: self._n_ids]
            self._ids = larger
        self._ids[self._n_ids : end] = ids
        self._ends.append(text_ends + self._n_ids)
        self._n_ids = end

    def finish(self) -> RaggedIds:
        """Return everything."""
        return RaggedIds(self._ids[: self._n_ids], np.concatenate(self._ends))


def encode_ragged(
    encoder: Encoder,
    texts: Iterable[str],
    choice: SpecialChoice,
    allowed_special: Names | None = None,
    disallowed_special: Names | None = None,
    workers: int | None = None,
) -> RaggedIds:
    """Encode many texts; arguments and errors as of `Tokenizer.encode_batch_ragged`."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts must be an iterable of str, not one {type(texts).__name__}")
    known = texts if isinstance(texts, (list, tuple)) else None
    n_characters = None
    if known is not None:
        with suppress(TypeError):  # what is no str is told of where it is read
            n_characters = sum(map(len, known))
    threads = resolve_workers(workers)
    if n_characters is not None:
        threads = max(1, min(threads, n_characters // BYTES_PER_WORKER))
    splitter = choice.splitter("", allowed_special, disallowed_special)
    is_checked = allowed_special is not None or disallowed_special is not None

    def batches() -> Iterator[list[bytes]]:
        some, number = iter(texts), 0
        while batch := list(islice(some, TEXTS_AT_A_TIME)):
            try:
                encoded = list(map(str.encode, batch))
            except (TypeError, UnicodeEncodeError):  # a surrogate, or no str: look at each
                encoded = [utf8_bytes(text, f"text {number + k}") for k, text in enumerate(batch)]
            if is_checked:
                for k, text in enumerate(batch):
                    choice.splitter(text, allowed_special, disallowed_special, f"text {number + k}")
            yield encoded
            number += len(batch)

    gathered = _Gathered(encoder.tables.dtype, n_characters or BUFFER_BYTES)
    encoded_texts = encoder.crew(
        threads,
        lambda take: fill_from_documents(batches(), splitter.finder, take, item_name="text"),
        splitter,
        buffer_bytes=BUFFER_BYTES if threads > 1 else min(BUFFER_BYTES, max(n_characters or 0, 1 << 12)),
        in_turns=known is not None,
    )
    with closing(encoded_texts):
        for filled, encoded in encoded_texts:
            gathered.add(encoded.ids, encoded.range_ends[filled.ends_document])
    return gathered.finish()
