"""Tokens of files, counted and not kept."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.corpus import BadRows, Files, resolve_sources
from bpenb.encoding import EncodedText, Tokenizer
from bpenb.errors import BpenbError
from bpenb.preparing.documents import DocumentFinder
from bpenb.preparing.encoding import encode_sources, with_progress
from bpenb.preparing.settings import EncodeSettings
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["FileTokens", "TokenCounts", "count_tokens"]


@dataclass(frozen=True)
class FileTokens:
    """The tokens of one input, or of all.

    Attributes:
        path: of the input.
        text_bytes: of its text, unpacked.
        tokens: ids.
        documents: how many there are.
    """

    path: str
    text_bytes: int
    tokens: int
    documents: int

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text to a token; None without tokens."""
        return self.text_bytes / self.tokens if self.tokens else None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        rate = self.bytes_per_token
        return asdict(self) | {"bytes_per_token": None if rate is None else round(rate, 6)}


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of inputs.

    Attributes:
        files: of each input, in order.
        n_bad_rows: rows that were left out.
        first_bad_row: where the first of them is, and what is wrong with it; empty if there is none.
    """

    files: tuple[FileTokens, ...]
    n_bad_rows: int = 0
    first_bad_row: str = ""

    @property
    def total(self) -> FileTokens:
        """Of all inputs together."""
        sums = (
            sum(getattr(file, name) for file in self.files) for name in ("text_bytes", "tokens", "documents")
        )
        return FileTokens("total", *sums)


class _Sums:
    """Sums by input."""

    def __init__(self, n_sources: int) -> None:
        self.sums: Int64Array = np.zeros((3, n_sources), dtype=np.int64)

    def add(self, text: EncodedText, finder: DocumentFinder) -> None:
        """Add a buffer."""
        filled, range_ends = text.filled, text.encoded.range_ends
        sources, n_sources = filled.sources, self.sums.shape[1]
        ends = finder.find(text).document_ends
        if filled.holds_documents:
            of_documents = sources[filled.ends_document]
        else:  # the range whose ids reach so far
            of_documents = sources[np.searchsorted(range_ends, ends)]
        ranges = filled.ranges
        for row, lengths in enumerate((ranges[:, 1] - ranges[:, 0], np.diff(range_ends, prepend=0))):
            self.sums[row] += np.bincount(sources, weights=lengths, minlength=n_sources).astype(np.int64)
        self.sums[2] += np.bincount(of_documents, minlength=n_sources)


def count_tokens(
    tokenizer: Tokenizer,
    inputs: Files,
    settings: EncodeSettings | None = None,
    *,
    workers: int | None = None,
    progress: ProgressOption | Reporter = None,
) -> TokenCounts:
    """Count the tokens of files, at the speed of encoding, and keep none.

    Args:
        tokenizer, inputs, workers, progress: as of `encode_to_files`.
        settings: what decides the ids; only those of the text itself are counted.

    Raises:
        BpenbError: end-of-text tokens are to be added, or documents to be chosen or shuffled.
        CorpusError, EncodingError: as of `encode_to_files`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low lower")
        >>> count_tokens(Tokenizer({i: bytes([i]) for i in range(256)}, []), "corpus.txt").total.tokens
        9
    """
    settings = settings or EncodeSettings()
    if settings.append_eot or settings.prepend_eot or settings.shuffle or settings.val_fraction:
        raise BpenbError(
            "counting counts the tokens of the text itself; leave out append_eot, prepend_eot, shuffle and "
            "val_fraction"
        )
    reporter, sources = make_reporter(progress), resolve_sources(inputs)
    finder = DocumentFinder(settings.end_of_text(tokenizer), append=False, prepend=False)
    bad_rows, sums = BadRows(settings.inputs.skip_bad_rows), _Sums(len(sources))
    encoded = encode_sources(tokenizer, sources, settings, workers, bad_rows)
    with closing(with_progress(encoded, sources, bad_rows, reporter)) as texts:
        for text in texts:
            sums.add(text, finder)
    rows = zip(sources, sums.sums.T.tolist(), strict=True)
    files = tuple(FileTokens(source.name, *row) for source, row in rows)
    return TokenCounts(files, bad_rows.n_skipped, bad_rows.first)
