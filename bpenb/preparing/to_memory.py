"""Doors: corpora to an array in memory, or to a stream."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb._arrays import Int64Array
from bpenb.corpus import BadRows, Files, Source, resolve_sources
from bpenb.dataset import NpyWriter
from bpenb.encoding import Tokenizer
from bpenb.errors import OutputError
from bpenb.preparing.documents import DocumentFinder, TokenBlock
from bpenb.preparing.encoding import encode_sources, with_progress
from bpenb.preparing.settings import EncodeSettings
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["EncodedFiles", "StreamedTokens", "encode_to_arrays", "encode_to_stream"]


class EncodedFiles(NamedTuple):
    """The ids of files, in memory.

    Attributes:
        ids: uint16[n], or uint32[n] for a vocab of more than 65,536 ids.
        document_offsets: int64[n_documents + 1], where each document begins.
    """

    ids: npt.NDArray[Any]
    document_offsets: Int64Array


class StreamedTokens(NamedTuple):
    """What went to a stream.

    Attributes:
        tokens: ids.
        documents: how many there were.
        text_bytes: of the text, unpacked.
        n_bad_rows: rows that were left out.
        first_bad_row: where the first of them is, and what is wrong with it; empty if there is none.
    """

    tokens: int
    documents: int
    text_bytes: int
    n_bad_rows: int
    first_bad_row: str


def _blocks(
    tokenizer: Tokenizer,
    sources: Sequence[Source],
    settings: EncodeSettings,
    workers: int | None,
    reporter: Reporter,
) -> Generator[TokenBlock, None, StreamedTokens]:
    """Yield the ids of inputs in order, with a bar; return their sums."""
    if settings.shuffle or settings.val_fraction:
        raise OutputError("shuffle and val_fraction are for datasets in files; name an output (out, -o)")
    finder = DocumentFinder(
        settings.end_of_text(tokenizer), append=settings.append_eot, prepend=settings.prepend_eot
    )
    bad_rows = BadRows(settings.inputs.skip_bad_rows)
    n_tokens = n_documents = n_text_bytes = 0
    encoded = encode_sources(tokenizer, sources, settings, workers, bad_rows)
    with closing(with_progress(encoded, sources, bad_rows, reporter)) as texts:
        for text in texts:
            block = finder.find(text)
            yield block
            n_tokens += len(block.ids)
            n_documents += len(block.document_ends)
            n_text_bytes += text.filled.n_bytes
    return StreamedTokens(n_tokens, n_documents, n_text_bytes, bad_rows.n_skipped, bad_rows.first)


def encode_to_arrays(
    tokenizer: Tokenizer,
    inputs: Files,
    settings: EncodeSettings | None = None,
    *,
    workers: int | None = None,
    progress: ProgressOption | Reporter = None,
) -> EncodedFiles:
    """Encode files into one array in memory; arguments and errors as of `encode_to_files`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low lower")
        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"lo"}, [(b"l", b"o")])
        >>> encode_to_arrays(tokenizer, "corpus.txt").ids.tolist()
        [256, 119, 32, 256, 119, 101, 114]
    """
    parts: list[npt.NDArray[Any]] = [np.empty(0, dtype=tokenizer.encoder.tables.dtype)]
    ends: list[Int64Array] = [np.zeros(1, dtype=np.int64)]
    n_ids = 0
    blocks = _blocks(
        tokenizer, resolve_sources(inputs), settings or EncodeSettings(), workers, make_reporter(progress)
    )
    with closing(blocks):
        for ids, document_ends in blocks:
            parts.append(ids.copy())
            ends.append(document_ends + n_ids)
            n_ids += len(ids)
    return EncodedFiles(np.concatenate(parts), np.concatenate(ends))


def encode_to_stream(
    tokenizer: Tokenizer,
    inputs: Files,
    stream: str | IO[bytes] = "-",
    settings: EncodeSettings | None = None,
    *,
    workers: int | None = None,
    progress: ProgressOption | Reporter = None,
) -> StreamedTokens:
    """Encode files into one .npy on standard output (`-`) or an open stream.

    Args:
        tokenizer, inputs, settings, workers, progress: as of `encode_to_files`.
        stream: `-`, or an open binary stream.

    Returns:
        How many tokens and documents there were.

    Raises:
        OutputError: a terminal, or a stream that cannot be written.
    """
    blocks = _blocks(
        tokenizer, resolve_sources(inputs), settings or EncodeSettings(), workers, make_reporter(progress)
    )
    with NpyWriter(stream, tokenizer.n_vocab) as out, closing(blocks):
        while True:
            try:
                block = next(blocks)
            except StopIteration as end:
                told: StreamedTokens = end.value
                return told
            out.write(block.ids)
