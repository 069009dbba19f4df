"""What one thread encodes buffers with: tables that all share, and a cache and scratch of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb._arrays import NO_TOKEN, ByteArray, IdArray, Int64Array, zeros_on_lines
from bpenb._jit import numbers_may_wrap
from bpenb.corpus import FilledRoom
from bpenb.encoding.encode_words import (
    BYTE,
    DONE,
    MAX_ROWS,
    NEED_CACHE,
    NEED_SCRATCH,
    NO_BYTE,
    OUT,
    OUT_BEHIND,
    PIECE,
    PLAIN,
    QUEUE_ROWS,
    WHY,
    EncodeWork,
    encode_words,
)
from bpenb.encoding.merge_scratch import make_scratch
from bpenb.encoding.normalizing import normalize_pieces
from bpenb.encoding.pair_table import NO_MERGE, PairTable, make_pair_table
from bpenb.encoding.splitter import Splitter
from bpenb.encoding.whole_words import WholeWords, make_whole_words
from bpenb.encoding.word_cache import MAX_ROWS as CACHE_ROWS
from bpenb.encoding.word_cache import grow_word_cache, make_word_cache
from bpenb.errors import EncodingError
from bpenb.formats import self_made_ids
from bpenb.model import BPEModel
from bpenb.pretokenize import START, ScanBuffer, find_invalid_utf8, replace_invalid

__all__ = ["EncodeTables", "EncodeWorker", "Encoded", "make_tables"]

MOST_UINT16 = 1 << 16  # so many ids fit
_LONG_SCRATCH = 1 << 20  # bytes: what a longer word needed is not kept
_SCRATCH = 1 << 10


class EncodeTables(NamedTuple):
    """What a model says to the kernel; shared, and never written.

    Attributes:
        byte_ids, byte_pairs, pairs, whole_words: as of `EncodeWork`.
        width: 1 for ids of two bytes, 2 for four.
    """

    byte_ids: IdArray
    byte_pairs: Int64Array
    pairs: PairTable
    whole_words: WholeWords
    width: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the ids: uint16 or uint32."""
        return np.dtype(np.uint16 if self.width == 1 else np.uint32)


def make_tables(model: BPEModel) -> EncodeTables:
    """Return the tables of a model."""
    bytes_of = {token_id: byte for byte, token_id in enumerate(model.byte_ids.tolist())}
    byte_pairs = np.full(1 << 16, NO_MERGE, dtype=np.int64)
    of_bytes = np.flatnonzero(np.isin(model.merges, model.byte_ids[model.byte_ids != NO_TOKEN]).all(axis=1))
    for rank in of_bytes[::-1].tolist():
        left, right = model.merges[rank].tolist()
        byte_pairs[bytes_of[left] << 8 | bytes_of[right]] = rank << 32 | int(model.merge_ids[rank])
    return EncodeTables(
        np.array(model.byte_ids, dtype=np.int32, order="C"),
        byte_pairs,
        make_pair_table(model.merges, model.merge_ids),
        make_whole_words(_not_self_made(model) if model.traits.ignore_merges else {}),
        1 if model.n_vocab <= MOST_UINT16 else 2,
    )


def _not_self_made(model: BPEModel) -> dict[int, bytes]:
    """Return the tokens that merging their own bytes does not give."""
    made = self_made_ids(model)
    return {token_id: token for token_id, token in model.ordinary_vocab().items() if token_id not in made}


class Encoded(NamedTuple):
    """The ids of a buffer.

    Attributes:
        ids: uint16[n] or uint32[n]; they lie in the `out` that was given.
        range_ends: int64[n_ranges], ids up to the end of each range.
        special_ids: int64[m], special tokens met, DROPPED ones too.
        special_ends: int64[m], ids up to and with each of them.
    """

    ids: npt.NDArray[Any]
    range_ends: Int64Array
    special_ids: Int64Array
    special_ends: Int64Array


class EncodeWorker:
    """Encodes buffer after buffer, and remembers words; one thread at a time may use it."""

    def __init__(self, tables: EncodeTables) -> None:
        self._tables = tables
        self._work = EncodeWork(
            tables.byte_ids,
            tables.byte_pairs,
            tables.pairs,
            tables.whole_words,
            make_word_cache(),
            make_scratch(_SCRATCH),
            zeros_on_lines((QUEUE_ROWS, 4), np.uint64),
            zeros_on_lines((5,), np.int64),
            np.empty(OUT_BEHIND, dtype=np.uint8),
        )
        self._work.position[MAX_ROWS] = CACHE_ROWS

    def out_bytes(self, n_bytes: int) -> int:
        """Return how long an `out` for a text must be."""
        return (n_bytes << self._tables.width) + OUT_BEHIND

    def encode(self, filled: FilledRoom, splitter: Splitter, errors: str, out: ByteArray) -> Encoded:
        """Encode a buffer.

        Args:
            filled: with text.
            splitter: knows the special tokens.
            errors: `strict` or `replace`, for bytes that are not UTF-8.
            out: uint8[≥ out_bytes], written; replaced or normalised text may need more, and then gets it.

        Raises:
            EncodingError: a byte that the vocab lacks.
            InvalidUtf8Error: bytes that are not UTF-8, if `errors` is `strict`.
        """
        buffer, ranges = filled.room, filled.ranges
        assert isinstance(buffer, ScanBuffer)
        pieces = splitter.pieces(buffer, ranges)
        n_pieces = np.searchsorted(pieces[:, 0], ranges[:, 1])  # up to the end of each range
        if not splitter.mark(buffer, pieces):
            if errors == "strict":
                raise find_invalid_utf8(buffer, filled)
            buffer, pieces = replace_invalid(buffer, pieces)
            assert splitter.mark(buffer, pieces)
        if splitter.normalizes and (normalized := normalize_pieces(buffer, pieces)) is not None:
            buffer, pieces = normalized
            assert splitter.mark(buffer, pieces)
        if out.shape[0] < self.out_bytes(buffer.n_bytes):
            out = np.empty(self.out_bytes(buffer.n_bytes), dtype=np.uint8)
        at = self._run(buffer, pieces, out)
        if at >= 0:
            raise _missing_byte(buffer, filled, at)
        width = self._tables.width
        ends = np.concatenate([[0], pieces[:, 3] >> width])
        special = np.flatnonzero(pieces[:, 2] != PLAIN)
        ids = out[: int(ends[-1]) << width].view(self._tables.dtype)
        return Encoded(ids, ends[n_pieces], pieces[special, 2], ends[special + 1])

    def encode_pieces(self, buffer: ScanBuffer, pieces: Int64Array, out: ByteArray) -> int:
        """Encode what is marked already; returns the number of ids, or −1 if a byte has none."""
        return (
            -1 if self._run(buffer, pieces, out) >= 0 else int(self._work.position[OUT]) >> self._tables.width
        )

    def encode_words(self, word_bytes: ByteArray, word_offsets: Int64Array) -> tuple[IdArray, Int64Array]:
        """Encode words one by one; as of `Encoder.encode_words`."""
        buffer = ScanBuffer(word_bytes.shape[0])
        buffer.fill(word_bytes.tobytes())
        lengths = np.diff(word_offsets)
        pieces = np.zeros((lengths.shape[0], 4), dtype=np.int64)
        pieces[:, 0], pieces[:, 1], pieces[:, 2] = word_offsets[:-1], word_offsets[1:], PLAIN
        out = np.empty(self.out_bytes(buffer.n_bytes), dtype=np.uint8)
        buffer.planes[START] = 0  # each piece is a word
        at = self._run(buffer, pieces, out)
        if at >= 0:
            raise EncodingError(f"byte {buffer.text[at]} of a word has no token: the vocab lacks it")
        width = self._tables.width
        ends = np.concatenate([[0], pieces[:, 3] >> width])
        return out[: int(ends[-1]) << width].view(self._tables.dtype).astype(np.int32), ends

    def _run(self, buffer: ScanBuffer, pieces: Int64Array, out: ByteArray) -> int:
        """Run the kernel, giving it what it needs; returns −1, or the place of a byte without an id."""
        if out is not self._work.out:
            self._work = self._work._replace(out=out)
        position = self._work.position
        position[PIECE] = position[BYTE] = position[OUT] = 0
        args = (buffer.text, buffer.planes[START], pieces, self._tables.width)
        with numbers_may_wrap():
            while (status := int(encode_words(self._work, *args))) != DONE:
                if status == NO_BYTE:
                    return int(position[WHY])
                self._make_room(status)
        if self._work.scratch.ids.shape[0] > _LONG_SCRATCH:
            self._work = self._work._replace(scratch=make_scratch(_SCRATCH))
        return -1

    def _make_room(self, status: int) -> None:
        """Give the kernel what it stopped for."""
        if status == NEED_CACHE:
            self._work = self._work._replace(cache=grow_word_cache(self._work.cache))
        else:
            assert status == NEED_SCRATCH
            self._work = self._work._replace(scratch=make_scratch(2 * int(self._work.position[WHY])))


def _missing_byte(buffer: ScanBuffer, filled: FilledRoom, at: int) -> EncodingError:
    number = int(np.searchsorted(filled.ranges[:, 1], at, side="right"))
    source, base = filled.label(number)
    offset = base + at - int(filled.ranges[number, 0])
    return EncodingError(
        f"{source}: byte {buffer.text[at : at + 1].tobytes()!r} at offset {offset} has no token: "
        "the vocab lacks this single byte"
    )
