"""NFC for the plain stretches of a buffer: mostly there is nothing to do.

A stretch is normalised by itself, as `tokenizers` does between special tokens. A safe cut does no harm: it is
beside whitespace, which no normal form joins to anything.
"""

from __future__ import annotations

from unicodedata import is_normalized, normalize

from bpenb._arrays import Int64Array
from bpenb.encoding.encode_words import PLAIN
from bpenb.pretokenize import ScanBuffer, buffer_of
from bpenb.traits import NFC

__all__ = ["normalize_pieces"]


def normalize_pieces(buffer: ScanBuffer, pieces: Int64Array) -> tuple[ScanBuffer, Int64Array] | None:
    """Return stretches with their plain text in NFC, in a buffer of their own; None if they are already.

    Args:
        buffer: with valid UTF-8.
        pieces: int64[n, 4], first byte, end, and id or PLAIN; further columns stay as they are.
    """
    data = buffer.text[: buffer.n_bytes].tobytes()
    if data.isascii() or is_normalized(NFC, data.decode()):
        return None
    texts = [
        normalize(NFC, data[start:end].decode()).encode() if number == PLAIN else data[start:end]
        for start, end, number in pieces[:, :3].tolist()
    ]
    return buffer_of(texts, pieces)
