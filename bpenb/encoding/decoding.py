"""The decoding half of a tokenizer."""

from __future__ import annotations

from typing import Literal

from bpenb.encoding.decoder import Decoder
from bpenb.encoding.id_arrays import Ids
from bpenb.encoding.stream_decoder import StreamDecoder

__all__ = ["Decoding"]


class Decoding:
    """Ids to text and bytes."""

    _decoder: Decoder

    @property
    def decoder(self) -> Decoder:
        """The driver of the way back; for streams."""
        return self._decoder

    def decode(self, ids: Ids) -> str:
        """Return the text of token ids; bytes that are not UTF-8 become U+FFFD.

        Args:
            ids: a list, an iterator, or a one-dimensional array of any integer dtype.

        Raises:
            UnknownTokenError: an id that no token has; the message names it.
            TypeError: an item that is no integer (a bool is none).
        """
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def decode_bytes(self, ids: Ids) -> bytes:
        """Return the exact bytes of token ids.

        Args and Raises: as in `decode`.
        """
        return self._decoder.decode(ids)

    def stream_decoder(self, errors: Literal["replace", "strict"] = "replace") -> StreamDecoder:
        """Return a decoder for ids as they come, which holds back incomplete characters."""
        return StreamDecoder(self._decoder, errors)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of one token.

        Raises:
            UnknownTokenError: no token has this id.
            TypeError: not an integer.
        """
        return self._decoder.token_bytes(token_id)
