"""Encode what does not fit in memory, or is not all there yet.

    parts   "The qu" "ick bro" "wn fox…"     any cuts, whole characters
    blocks  "The quick"   " brown"  …        cut where the ids of the blocks are those of the whole

A block ends at a safe cut, or at a special token that no later byte can change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bpenb._arrays import IdArray
from bpenb.encoding.splitter import Splitter
from bpenb.errors import EncodingError

if TYPE_CHECKING:
    from bpenb.encoding.encoder import Encoder

__all__ = ["encode_items", "safe_blocks", "utf8_bytes"]

FIRST_BLOCK = 64  # bytes: the first ids come after a line or two
STREAM_BLOCK = 1 << 14  # bytes a stream of strings holds, if it can be cut; 64 KB is no faster


def utf8_bytes(text: object, name: str = "the text") -> bytes:
    """Return a text as UTF-8.

    Raises:
        TypeError: not a str.
        EncodingError: a lone surrogate, which has no UTF-8; the message tells where.
    """
    if not isinstance(text, str):
        hint = "; decode it first" if isinstance(text, (bytes, bytearray)) else ""
        raise TypeError(f"{name} must be a str, not {type(text).__name__}{hint}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        code_point = ord(text[error.start])
        raise EncodingError(
            f"{name}: character {error.start} is the lone surrogate U+{code_point:04X}, which no UTF-8 "
            "has; replace it first, as by text.encode('utf-8', 'replace').decode()"
        ) from None


def _slices(part: bytes, size: int) -> Iterator[bytes]:
    """Cut a large part between characters into slices of about `size` bytes."""
    if len(part) <= 2 * size:
        yield part
        return
    start = 0
    while start < len(part):
        end = min(start + size, len(part))
        while end < len(part) and part[end] & 0xC0 == 0x80:
            end += 1
        yield part[start:end]
        start = end


def safe_blocks(
    parts: Iterable[bytes], splitter: Splitter, *, first: int = FIRST_BLOCK, limit: int = STREAM_BLOCK
) -> Iterator[bytes]:
    """Join parts and cut them again so that the ids of the blocks are those of the whole.

    Memory is bounded by `limit`, but for a stretch without any safe cut: that is kept whole, and
    looked at again only when it has doubled, so the time stays linear.

    Args:
        parts: valid UTF-8, cut between characters.
        splitter: knows the safe cuts.
        first: bytes to gather before the first block is tried; doubled after each, up to
        limit: bytes.
    """
    gathered: list[bytes] = []
    n_gathered = 0
    size = wanted = first
    for part in parts:
        for stretch in _slices(part, limit):
            gathered.append(stretch)
            n_gathered += len(stretch)
            if n_gathered < wanted:
                continue
            data = b"".join(gathered)
            cut = splitter.last_cut(data) or 0
            if cut:
                yield data[:cut]
                size = min(2 * size, limit)
            gathered = [data[cut:]]
            n_gathered = len(data) - cut
            wanted = max(size, 2 * n_gathered)
    if n_gathered:
        yield b"".join(gathered)


def encode_items(encoder: Encoder, items: Iterable[str]) -> Iterator[IdArray]:
    """Encode strings as one text, lazily: int32 arrays that joined are the ids of the joined text.

    Raises:
        TypeError: an item that is no str.
        EncodingError: a lone surrogate; a byte that the vocab lacks.
    """
    if isinstance(items, str):
        items = [items]
    parts = (utf8_bytes(item, f"item {number}") for number, item in enumerate(items))
    yield from encoder.encode_blocks(safe_blocks(parts, encoder.splitter), encoder.splitter, "the text")
