"""Where each token stands in the text that was encoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from unicodedata import is_normalized

import numpy as np

from bpenb._arrays import IdArray, Int64Array
from bpenb.encoding.token_html import token_html
from bpenb.errors import EncodingError
from bpenb.traits import NFC, Traits

__all__ = ["Encoding", "check_kept", "with_offsets"]

CONTINUATION = 0x80  # of the bytes of UTF-8, those of the form 10xxxxxx stand inside a character
CONTINUATION_BITS = 0xC0


@dataclass(frozen=True, eq=False)
class Encoding:
    """The token ids of a text, and where each token stands in it.

    Token i is `text.encode()[a:b]` with `a, b = byte_spans[i]`, to the byte. Its characters are
    `text[a:b]` with `a, b = character_spans[i]`: every character of which it holds at least a byte. So
    the tokens of one character all have the span of that character, as in the offsets of `tokenizers`.

    Attributes:
        ids: int32[n].
        byte_spans: int64[n, 2], start and end in the bytes of the text.
        character_spans: int64[n, 2], start and end in its characters.
        text: its bytes.

    A notebook shows it as the text with its tokens coloured; pointing at one shows its id.

    Example:
        >>> from bpenb import Tokenizer
        >>> encoding = Tokenizer({0: b"\\xc3", 1: b"\\xa9"}, [], ["<s>"]).encode_with_offsets("<s>é")
        >>> encoding.byte_spans.tolist(), encoding.character_spans.tolist()
        ([[0, 3], [3, 4], [4, 5]], [[0, 3], [3, 4], [3, 4]])
    """

    ids: IdArray
    byte_spans: Int64Array
    character_spans: Int64Array
    text: bytes = field(repr=False)

    def _repr_html_(self) -> str:
        """Return it for a notebook: of a long text the beginning."""
        return token_html(self.ids, self.byte_spans, self.text)

    def __len__(self) -> int:
        return len(self.ids)


def check_kept(text: bytes, ids: IdArray, token_lengths: Int64Array, traits: Traits) -> None:
    """Raise if the tokens of a text are not the text, so that none has a place in it.

    Args:
        text, ids, token_lengths: as of `with_offsets`.
        traits: of the tokenizer.

    Raises:
        EncodingError: a text that is not in NFC, for a tokenizer that makes it so; or whitespace that
            special tokens took along.
    """
    if traits.normalizer is not None and not is_normalized(NFC, text.decode()):
        raise EncodingError(
            f"the text is not in {NFC}, which this tokenizer brings it into first, so its tokens have no "
            f"offsets in it; pass unicodedata.normalize({NFC!r}, text)"
        )
    if traits.change_ids and int(token_lengths[ids].sum()) != len(text):
        raise EncodingError(
            "special tokens of this tokenizer take the whitespace beside them along (lstrip, rstrip), and "
            "the text has some: its tokens have no offsets in it"
        )


def with_offsets(text: bytes, ids: IdArray, token_lengths: Int64Array) -> Encoding:
    """Return where the tokens of a text stand.

    Args:
        text: valid UTF-8.
        ids: int32[n], those of the text.
        token_lengths: int64[n_vocab], the bytes of each token.

    Example:
        >>> encoding = with_offsets("é!".encode(), np.array([0, 1], np.int32), np.array([1, 2]))
        >>> encoding.byte_spans.tolist(), encoding.character_spans.tolist()
        ([[0, 1], [1, 3]], [[0, 1], [0, 2]])
    """
    ends = np.cumsum(token_lengths[ids], dtype=np.int64)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends))[:-1]
    byte_spans = np.stack((starts, ends), axis=1)
    if not len(ids) or text.isascii():
        return Encoding(ids, byte_spans, byte_spans.copy(), text)
    begins = (np.frombuffer(text, dtype=np.uint8) & CONTINUATION_BITS) != CONTINUATION
    # Characters that begin within each token; one that begins earlier counts for its start.
    n_begun = np.add.reduceat(begins, starts, dtype=np.int64)
    character_ends = np.cumsum(n_begun)
    character_starts = character_ends - n_begun - ~begins[starts]
    return Encoding(ids, byte_spans, np.stack((character_starts, character_ends), axis=1), text)
