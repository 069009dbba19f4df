"""Which part of the inputs is taken: a cap for each, and a random sample of their documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bpenb._memory import parse_amount
from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.sampling import DocumentSampler
from bpenb.corpus.sources import Source, cap_sources
from bpenb.corpus.specials import SpecialScanner
from bpenb.errors import CorpusError
from bpenb.patterns import SplitPattern

__all__ = ["Mixture"]


@dataclass(frozen=True)
class Mixture:
    """What is taken of each input; by default all of it.

    Attributes:
        max_bytes_per_source: bytes (or `500MB`, `2GiB`) of each file at most, up to a safe cut; this
            comes before the sample.
        sample: the probability with which each document is kept, above 0 and up to 1; None keeps all.
        seed: of the sample.

    Raises:
        CorpusError, TrainingError: a value out of its range.
        TypeError: a value of a wrong type.
    """

    max_bytes_per_source: int | str | None = None
    sample: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.cap is not None and self.cap < 1:
            raise CorpusError(f"max_bytes_per_source is {self.max_bytes_per_source!r}; it must be at least 1")
        if self.sample is not None:
            if isinstance(self.sample, bool) or not isinstance(self.sample, int | float):
                raise TypeError(f"sample must be a float or None, not {type(self.sample).__name__}")
            if not 0 < self.sample <= 1:
                raise CorpusError(
                    f"sample is {self.sample}; it must be above 0 and at most 1: the share of documents kept"
                )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise TypeError(f"seed must be an int, not {type(self.seed).__name__}")
        if not 0 <= self.seed < 2**64:
            raise CorpusError(f"seed is {self.seed}; it must be from 0 to 2**64 - 1")

    @property
    def cap(self) -> int | None:
        """Bytes of each file at most."""
        if self.max_bytes_per_source is None:
            return None
        return parse_amount("max_bytes_per_source", self.max_bytes_per_source)

    def sampler(self, scanner: SpecialScanner) -> DocumentSampler | None:
        """Return who decides on documents, or None if all are kept."""
        if self.sample is None or self.sample == 1:
            return None
        return DocumentSampler(scanner, self.sample, self.seed)

    def capped(self, sources: Sequence[Source], finder: CutFinder) -> Sequence[Source]:
        """Return the sources without what is above the cap; errors as of `cap_sources`."""
        return sources if self.cap is None else cap_sources(sources, self.cap, finder)

    def shard_finder(self, finder: CutFinder, scanner: SpecialScanner) -> CutFinder:
        """Return who finds the ends of shards: between documents, if documents are sampled."""
        if self.sampler(scanner) is None:
            return finder
        return CutFinder(SplitPattern(None, ""), scanner)  # no pattern's cut, so special tokens alone

    @property
    def settings(self) -> dict[str, object]:
        """All that decides what is taken, for reports."""
        is_sampled = self.sample is not None and self.sample != 1
        return {
            "max_bytes_per_source": self.cap,
            "sample": self.sample if is_sampled else None,
            "seed": self.seed if is_sampled else None,
        }
