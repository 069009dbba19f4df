"""Decode ids as they come, whole characters at a time."""

from __future__ import annotations

import codecs
from typing import Literal

from bpenb.encoding.decoder import Decoder
from bpenb.encoding.id_arrays import Ids, checked_ids
from bpenb.errors import InvalidUtf8Error

__all__ = ["StreamDecoder"]


class StreamDecoder:
    """Turns ids into text as they come, and holds back a character whose last bytes have not come yet.

    What it gives, joined, is `tokenizer.decode` of all the ids, whatever the cuts. Made by
    `Tokenizer.stream_decoder`. One stream, one decoder: it is not for several threads at once.

    Args:
        decoder: of the tokenizer.
        errors: for bytes that are not UTF-8: U+FFFD in their place, or an error.

    Raises:
        ValueError: `errors` is neither "replace" nor "strict".

    Example:
        >>> from bpenb import Tokenizer
        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [])
        >>> decoder = tokenizer.stream_decoder()
        >>> [decoder.push([token_id]) for token_id in "né!".encode()], decoder.finish()
        (['n', '', 'é', '!'], '')
    """

    def __init__(self, decoder: Decoder, errors: Literal["replace", "strict"] = "replace") -> None:
        if errors not in ("replace", "strict"):
            raise ValueError(f"errors must be 'replace' or 'strict', not {errors!r}")
        self._decoder = decoder
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors)
        self._n_ids = 0
        self._n_bytes = 0

    def push(self, ids: Ids) -> str:
        """Return the text that more ids bring; it may be empty.

        If it raises, nothing was pushed, and the stream can go on with other ids.

        Args:
            ids: a list, an iterator, or a one-dimensional array of any integer dtype.

        Raises:
            UnknownTokenError: an id that no token has; with its position in the stream.
            InvalidUtf8Error: not UTF-8, and errors="strict"; with the offset in the stream's bytes.
            TypeError: an item that is no integer (a bool is none).
        """
        checked = checked_ids(ids)
        text = self._decode(self._decoder.decode(checked, self._n_ids), final=False)
        self._n_ids += len(checked)
        return text

    def finish(self) -> str:
        """Return what was held back, which no later id can complete; then begin a new stream.

        Raises:
            InvalidUtf8Error: the stream ends within a character, and errors="strict".
        """
        try:
            return self._decode(b"", final=True)
        finally:
            self._utf8.reset()
            self._n_ids = self._n_bytes = 0

    def _decode(self, data: bytes, *, final: bool) -> str:
        n_held_back = len(self._utf8.getstate()[0])
        try:
            text = self._utf8.decode(data, final)
        except UnicodeDecodeError as error:
            # (What was held back still is: the decoder raises before it changes.)
            raise InvalidUtf8Error("the text of the ids", self._n_bytes - n_held_back + error.start) from None
        self._n_bytes += len(data)
        return text
