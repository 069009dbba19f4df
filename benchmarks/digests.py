"""One line that stands for a whole result: equal results, equal digests."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping


def words_digest(counts: Mapping[bytes, int]) -> str:
    """Return the sha256 of words and counts, in the order of the words' bytes."""
    words = sorted(counts)
    digest = hashlib.sha256(b"".join(words))
    digest.update(array("q", map(len, words)).tobytes())
    digest.update(array("q", (counts[word] for word in words)).tobytes())
    return digest.hexdigest()


def merges_digest(merges: Iterable[tuple[bytes, ...]]) -> str:
    """Return the sha256 of merges: a line each, the parts (or the whole token) in hexadecimal."""
    text = "".join(" ".join(part.hex() for part in merge) + "\n" for merge in merges)
    return hashlib.sha256(text.encode()).hexdigest()
