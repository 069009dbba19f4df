"""A random sample of documents, the same on every machine: a hash of seed and place decides on each.

A document is what special tokens separate, or a whole file where there are none. Its place is the
number of the input and the byte at which it begins there; what an iterable yields are documents,
whose place is their number. So workers, buffers, tasks and shards change nothing, each document is
decided on by itself, and a larger probability keeps all that a smaller one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb._hashing import mixed
from bpenb.corpus.specials import SpecialScanner

__all__ = ["DocumentSample", "DocumentSampler"]


class DocumentSampler:
    """Decides which documents are kept.

    Args:
        scanner: of the special tokens that separate documents.
        probability: with which each is kept, above 0 and below 1.
        seed: another one gives another sample.

    Example:
        >>> sampler = DocumentSampler(SpecialScanner(()), 0.25, seed=1)
        >>> int(sampler.keeps(np.arange(100_000), np.array([0])).sum())
        25065
    """

    def __init__(self, scanner: SpecialScanner, probability: float, seed: int) -> None:
        self.scanner = scanner
        self._seed = np.array([seed], dtype=np.uint64)
        self._limit = np.uint64(min(int(probability * 2.0**64), 2**64 - 1))

    def keeps(self, numbers: Int64Array, starts: Int64Array) -> npt.NDArray[np.bool_]:
        """Return bool[n], whether the documents that begin at `starts` of inputs `numbers` are kept."""
        hashes = mixed(mixed(self._seed) ^ numbers.astype(np.uint64))
        return mixed(hashes ^ starts.astype(np.uint64)) < self._limit

    def of(self, number: int, start: int) -> DocumentSample:
        """Return the sample of an input, read from byte `start` on, where a document begins."""
        return DocumentSample(self, number, start)

    def blank_documents(self, batches: Iterable[list[bytes]]) -> Iterator[list[bytes]]:
        """Yield the batches with nothing in place of the documents that are not kept."""
        number = 0
        for batch in batches:
            numbers = np.arange(number, number + len(batch), dtype=np.int64)
            kept = self.keeps(numbers, np.zeros(1, dtype=np.int64)).tolist()
            yield [document if k else b"" for document, k in zip(batch, kept, strict=True)]
            number += len(batch)


class DocumentSample:
    """The sample of one input, whose text is shown from front to back."""

    def __init__(self, sampler: DocumentSampler, number: int, start: int) -> None:
        self._sampler = sampler
        self._number = np.array([number], dtype=np.int64)
        self._is_kept = self._keeps(np.array([start], dtype=np.int64))  # the document that is going on

    def _keeps(self, starts: Int64Array) -> npt.NDArray[np.bool_]:
        return self._sampler.keeps(self._number, starts)

    def kept(self, data: bytes | memoryview, base: int) -> list[tuple[int, int]]:
        """Return (start, end) of what is kept, not across a document that is not.

        Args:
            data: the next text, up to a safe cut or the end.
            base: bytes of the input before it.
        """
        spans = np.array(list(self._sampler.scanner.find_all(data)), dtype=np.int64).reshape(-1, 2)
        is_kept = np.concatenate([self._is_kept, self._keeps(spans[:, 1] + base)])
        self._is_kept = is_kept[-1:]
        starts = np.concatenate([[0], spans[:, 1]])
        ends = np.concatenate([spans[:, 0], [len(data)]])
        # Kept documents in a row are one range, the special tokens between them included.
        edges = np.flatnonzero(np.diff(is_kept, prepend=False, append=False))
        runs = zip(starts[edges[::2]].tolist(), ends[edges[1::2] - 1].tolist(), strict=True)
        return [(start, end) for start, end in runs if start < end]
