"""The driver of encoding: a model's tables, and what turns bytes into ids with them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from bpenb._arrays import NO_TOKEN, ByteArray, IdArray, Int64Array
from bpenb.encoding.encode_pretokens import encode_pretokens, make_scratch
from bpenb.encoding.engine import make_engine
from bpenb.encoding.pair_table import PairTable, make_pair_table
from bpenb.encoding.splitter import Splitter
from bpenb.encoding.streaming import safe_blocks
from bpenb.errors import EncodingError
from bpenb.model import BPEModel

__all__ = ["Encoder"]

# mypy: disable-error-code="no-untyped-call"

TEXT_BLOCK = 1 << 20  # bytes of a text in memory that are encoded at a time
SMALL_TEXT = 1 << 10  # bytes: scratch for a pretoken as long as this costs less than to look for the longest


def _longest(text: bytes, ends: Int64Array) -> int:
    """Return at least the bytes of the longest pretoken."""
    if len(text) <= SMALL_TEXT:
        return len(text)
    return max(int(ends[0]), int((ends[1:] - ends[:-1]).max(initial=0)))


class Encoder:
    """Encodes bytes; nothing in it changes, and each call has scratch of its own, so threads may share it.

    Args:
        model: checked already.

    Attributes:
        splitter: recognises the special tokens.
        ordinary: takes them for text like any other.
    """

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        # Own copies: a frozen model's arrays are read-only, and each kernel has one signature.
        self._byte_ids = np.array(model.byte_ids, dtype=np.int32, order="C")
        self._engine = engine = make_engine(model.pattern)
        self.splitter = Splitter(engine, model.pattern, model.special_tokens)
        self.ordinary = Splitter(engine, model.pattern, {})

    @functools.cached_property
    def _pairs(self) -> PairTable:
        """The merges, at first use: building them compiles."""
        return make_pair_table(self._model.merges, self._model.merge_ids)

    def warmup(self) -> None:
        """Compile what encoding needs; no byte has to be in the vocab for that."""
        self._engine.pretoken_ends(b"a")
        self.encode_block(b"", self.ordinary, 0, "nothing")

    def encode(self, text: bytes, splitter: Splitter, name: str = "the text") -> IdArray:
        """Encode a text that is in memory.

        Args:
            text: valid UTF-8.
            splitter: `splitter` or `ordinary`.
            name: of the text; for messages.

        Returns:
            int32[n] token ids.

        Raises:
            EncodingError: a byte that the vocab lacks.
        """
        if len(text) <= TEXT_BLOCK:
            return self.encode_block(text, splitter, 0, name)
        blocks = safe_blocks([text], splitter, first=TEXT_BLOCK, limit=TEXT_BLOCK)
        return np.concatenate(list(self.encode_blocks(blocks, splitter, name)))

    def encode_blocks(self, blocks: Iterator[bytes], splitter: Splitter, name: str) -> Iterator[IdArray]:
        """Encode the safe blocks of one text, each as it comes."""
        position = 0
        for block in blocks:
            yield self.encode_block(block, splitter, position, name)
            position += len(block)

    def encode_block(self, text: bytes, splitter: Splitter, position: int, name: str) -> IdArray:
        """Encode a block, which begins `position` bytes into the text called `name`."""
        ends, special_ids = splitter.split(text)
        out = np.empty(len(text), dtype=np.int32)
        n_ids = encode_pretokens(
            np.frombuffer(text, dtype=np.uint8),  # read-only, as every `text`
            ends,
            special_ids,
            self._byte_ids,
            self._pairs,
            make_scratch(_longest(text, ends)),
            out,
        )
        if n_ids < 0:
            at = ~int(n_ids)
            raise EncodingError(
                f"{name}: byte {text[at : at + 1]!r} at offset {position + at} has no token: "
                "the vocab lacks this single byte"
            )
        return out[:n_ids].copy()  # not a view of four bytes for each byte of text

    def encode_words(self, word_bytes: ByteArray, word_offsets: Int64Array) -> tuple[IdArray, Int64Array]:
        """Encode words one by one: no split pattern, no special token.

        Args:
            word_bytes: uint8[n_bytes], all words one after the other.
            word_offsets: int64[n_words + 1], where each begins.

        Returns:
            int32[n_ids] token ids, and int64[n_words + 1] where those of each word begin.

        Raises:
            EncodingError: a byte that the vocab lacks.
        """
        ends = np.array(word_offsets[1:], dtype=np.int64)
        longest = int(np.diff(word_offsets).max(initial=0))
        out = np.empty(word_bytes.shape[0], dtype=np.int32)
        no_special = np.full(len(ends), NO_TOKEN, dtype=np.int32)
        text = np.frombuffer(word_bytes.tobytes(), dtype=np.uint8)  # read-only, as every `text`
        scratch = make_scratch(longest)
        n_ids = encode_pretokens(text, ends, no_special, self._byte_ids, self._pairs, scratch, out)
        if n_ids < 0:
            raise EncodingError(f"byte {text[~int(n_ids)]} of a word has no token: the vocab lacks it")
        ids = out[:n_ids].copy()
        id_ends = np.cumsum(np.diff(self._model.token_offsets)[ids])
        return ids, np.searchsorted(id_ends, word_offsets, side="right")
