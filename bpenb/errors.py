"""Every error that bpenb raises on bad input, as one tree.

    BpenbError (ValueError)
    ├── CorpusError          a corpus that cannot be read, or holds what it must not
    │   └── InvalidUtf8Error text that is not UTF-8: where, and what to do
    ├── PatternError         a split pattern that is unknown, does not compile or loses text
    ├── CountsError          word counts that are damaged, or were made differently
    ├── TrainingError        settings that no training can meet
    ├── VerificationError    merges that are not those of exact BPE: the first wrong one
    ├── ModelError           a vocab and merges that are no tokenizer
    ├── FormatError          a file that is not what its name says
    ├── EncodingError        a text that this tokenizer cannot encode
    ├── UnknownTokenError    (also KeyError) an id without a token
    ├── OutputError          an output that cannot be written, or must not be overwritten
    └── WorkerError          a worker process that failed or died

A wrong type is a plain ``TypeError``.
"""

from __future__ import annotations

__all__ = [
    "BpenbError",
    "CorpusError",
    "CountsError",
    "EncodingError",
    "FormatError",
    "InvalidUtf8Error",
    "ModelError",
    "OutputError",
    "PatternError",
    "TrainingError",
    "UnknownTokenError",
    "VerificationError",
    "WorkerError",
]


class BpenbError(ValueError):
    """Root of every error that bpenb raises on bad input."""


class CorpusError(BpenbError):
    """A corpus that cannot be read, or holds what it must not."""


class InvalidUtf8Error(CorpusError):
    """Text that is not valid UTF-8.

    Attributes:
        source: name of the input (a path, or `document 12`).
        offset: bytes from the start of that input to the first wrong byte.
    """

    def __init__(self, source: str, offset: int) -> None:
        self.source = source
        self.offset = offset
        super().__init__(
            f"{source}: byte {offset} is not valid UTF-8; repair the input, "
            "or pass errors='replace' (--errors replace) to read U+FFFD there"
        )

    def __reduce__(self) -> tuple[type[InvalidUtf8Error], tuple[str, int]]:
        return type(self), (self.source, self.offset)


class PatternError(BpenbError):
    """A split pattern that is unknown, does not compile, or loses text."""


class CountsError(BpenbError):
    """Word counts that are damaged, or that were made in another way."""


class TrainingError(BpenbError):
    """Settings that no training can meet."""


class VerificationError(BpenbError):
    """Merges, or token ids, that are not those of exact BPE.

    Attributes:
        rank: of the first wrong merge; None if the merges are right and the encoder is not.
    """

    def __init__(self, rank: int | None, message: str) -> None:
        self.rank = rank
        super().__init__(message)

    def __reduce__(self) -> tuple[type[VerificationError], tuple[int | None, str]]:
        return type(self), (self.rank, str(self))


class ModelError(BpenbError):
    """A vocab and merges that do not make a tokenizer."""


class FormatError(BpenbError):
    """A file that is not what its name says; the message names file and line or key."""


class EncodingError(BpenbError):
    """A text that this tokenizer cannot encode."""


class UnknownTokenError(BpenbError, KeyError):
    """An id that has no token."""

    __str__ = BpenbError.__str__  # KeyError would print the message in quotes


class OutputError(BpenbError):
    """An output that cannot be written, or that must not be overwritten."""


class WorkerError(BpenbError):
    """A worker process that failed or died."""
