"""Special tokens in a text, found by trying every place: leftmost first, then longest."""

from __future__ import annotations

from collections.abc import Sequence


def find_specials(text: bytes, special_tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Return (start, end) of every special token that a scan from the start meets."""
    tokens = [token.encode() for token in special_tokens]
    found = []
    position = 0
    while position < len(text):
        here = [token for token in tokens if text.startswith(token, position)]
        if here:
            end = position + max(map(len, here))
            found.append((position, end))
            position = end
        else:
            position += 1
    return found


def plain_stretches(text: bytes, special_tokens: Sequence[str]) -> list[bytes]:
    """Return what stands between the special tokens, empty stretches left out."""
    ends = [0] + [end for _, end in find_specials(text, special_tokens)]
    starts = [start for start, _ in find_specials(text, special_tokens)] + [len(text)]
    return [text[a:b] for a, b in zip(ends, starts, strict=True) if a < b]


def lies_across(text: bytes, special_tokens: Sequence[str], position: int) -> bool:
    """Tell whether a special token, met by the scan or not, starts before `position` and ends after it."""
    tokens = [token.encode() for token in special_tokens]
    return any(
        text.startswith(token, start) and start + len(token) > position
        for start in range(position)
        for token in tokens
    )
