"""The driver of decoding: ids of any kind to bytes, piece by piece, each in the one buffer of its call.

Fresh memory is what decoding waits for: the first touch of a page costs more than to decode what goes
there. So a stream has one buffer, and what is gathered is copied once (docs/decisions/0017-decoding.md).
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bpenb._arrays import ByteArray, Int64Array
from bpenb.encoding.id_arrays import CheckedIds, Ids, as_arrays, as_int, checked_ids, read_only
from bpenb.encoding.token_rows import ROOM_BEHIND, TokenRows, decode_some, make_token_rows, measure_rows
from bpenb.errors import UnknownTokenError

if TYPE_CHECKING:
    from bpenb.encoding.tokenizer import Tokenizer

__all__ = ["Decoder", "decode_blocks"]

# mypy: disable-error-code="no-untyped-call"

PIECE = 1 << 17  # bytes of text at a time: what is written is still in the cache when it is taken away


def _reserve(stream: io.BytesIO, n_bytes: int) -> None:
    """Make room at once: what grows step by step, or shrinks at the end, is new memory each time."""
    if n_bytes > 0:
        stream.seek(n_bytes - 1)
        stream.write(b"\0")
        stream.seek(0)


class Decoder:
    """Decodes ids; nothing in it changes, and each call has a buffer of its own, so threads may share it.

    Args:
        token_bytes: uint8[], all tokens one after the other.
        token_offsets: int64[n_vocab + 1]; an empty range is an id without a token.

    Attributes:
        token_lengths: int64[n_vocab], the bytes of each token.

    Example:
        >>> decoder = Decoder(np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3]))
        >>> decoder.decode([1, 0, 1])
        b'bcabc'
    """

    def __init__(self, token_bytes: ByteArray, token_offsets: Int64Array) -> None:
        self._token_bytes, self._token_offsets = token_bytes, token_offsets
        self.token_lengths = np.diff(token_offsets)
        self._longest = int(self.token_lengths.max(initial=0))

    @functools.cached_property
    def _rows(self) -> TokenRows:
        """All tokens in rows, at first use."""
        return make_token_rows(self._token_bytes, self._token_offsets)

    def warmup(self) -> None:
        """Compile what decoding needs for lists; other dtypes are compiled at first use."""
        nothing = read_only(np.zeros(0, dtype=np.int64))
        rows = make_token_rows(np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
        decode_some(nothing, 0, rows, self.buffer(0), np.zeros(1, dtype=np.int64))

    def _unknown(self, token_id: int, place: str = "") -> UnknownTokenError:
        n_vocab = self._token_offsets.shape[0] - 1
        rule = "the vocab has a hole there" if 0 <= token_id < n_vocab else f"ids go from 0 to {n_vocab - 1}"
        return UnknownTokenError(f"no token has the id {token_id}: {rule}{place}")

    def token_bytes(self, token_id: Any) -> bytes:
        """Return the bytes of one token.

        Args:
            token_id: a Python or NumPy integer.

        Raises:
            TypeError: not an integer (a bool is none).
            UnknownTokenError: no token has that id.
        """
        i, offsets = as_int(token_id), self._token_offsets
        if not 0 <= i < offsets.shape[0] - 1 or offsets[i] == offsets[i + 1]:
            raise self._unknown(i)
        return self._token_bytes[offsets[i] : offsets[i + 1]].tobytes()

    def buffer(self, n_ids: int | None = None) -> ByteArray:
        """Return room for what `pieces` writes: any token fits, and all of `n_ids` if that is little."""
        room = max(PIECE, self._longest) if n_ids is None else min(PIECE, n_ids * self._longest)
        return np.empty(max(room, self._longest) + ROOM_BEHIND, dtype=np.uint8)

    def pieces(self, ids: CheckedIds, out: ByteArray, position: int = 0) -> Iterator[memoryview]:
        """Yield the bytes of all tokens, piece by piece, each in `out`, over the one before.

        Args:
            ids: checked.
            out: of `buffer`.
            position: of the first id in a stream; for messages.

        Raises:
            UnknownTokenError: an id that no token has; the first one is named.
        """
        rows, written, n_written = self._rows, memoryview(out.data), np.zeros(1, dtype=np.int64)
        n_before = 0
        for array in as_arrays(ids):
            done = 0
            while done < array.shape[0]:
                done = int(decode_some(array, done, rows, out, n_written))
                if done < 0:
                    at = n_before + ~done
                    raise self._unknown(int(ids[at]), f"; it is at position {position + at}")
                yield written[: int(n_written[0])]
            n_before += array.shape[0]

    def decode(self, ids: Ids, position: int = 0) -> bytes:
        """Return the bytes of all tokens, one after the other.

        Args:
            ids: a list, an iterator, or a one-dimensional array of any integer dtype.
            position: of the first id in a stream; for messages.

        Raises:
            TypeError: an item that is no integer.
            UnknownTokenError: an id that no token has; the first one is named.
        """
        checked = checked_ids(ids)
        gathered = io.BytesIO()  # gives its bytes away without a copy
        if isinstance(checked, np.ndarray) and len(checked) * self._longest > PIECE:
            # To convert a list twice would cost more than this saves.
            _reserve(gathered, sum(int(measure_rows(array, self._rows)) for array in as_arrays(checked)))
        for piece in self.pieces(checked, self.buffer(len(checked)), position):
            gathered.write(piece)
        gathered.truncate()  # does nothing, unless somebody wrote into the array meanwhile
        return gathered.getvalue()

    def decode_blocks(self, blocks: Iterable[Ids]) -> Iterator[memoryview]:
        """Yield the bytes of blocks of ids; see `decode_blocks`, the function."""
        out = self.buffer()
        position = 0
        for block in blocks:
            checked = checked_ids(block)
            yield from self.pieces(checked, out, position)
            position += len(checked)


def decode_blocks(tokenizer: Tokenizer, blocks: Iterable[Ids]) -> Iterator[memoryview]:
    """Decode a stream of ids in the memory of one buffer.

    Args:
        tokenizer: whose ids.
        blocks: lists, or arrays of any integer dtype, of any length.

    Returns:
        Views of bytes, joined the text of all ids. A view is good until the next one is asked for:
        write it, or take a copy with `bytes(view)`.

    Raises:
        TypeError: a block that is none, or an item that is no integer.
        UnknownTokenError: an id that no token has; with its position in the stream.

    Example:
        >>> from bpenb import Tokenizer
        >>> tokenizer = Tokenizer({0: b"a", 1: b"bc"}, [])
        >>> [bytes(view) for view in decode_blocks(tokenizer, [[1, 0], np.array([1])])]
        [b'bca', b'bc']
    """
    yield from tokenizer.decoder.decode_blocks(blocks)
