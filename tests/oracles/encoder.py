"""BPE encoding, slow and readable: cut at special tokens, cut by the pattern, merge by rank."""

from __future__ import annotations

from itertools import pairwise

from tests.oracles.pretokenizer import pretokens
from tests.oracles.specials import find_specials


def encode(
    text: str,
    vocab: dict[int, bytes],
    merges: list[tuple[bytes, bytes]],
    special_tokens: list[str],
    pattern: str,
) -> list[int]:
    """Return the token ids of a text.

    Special tokens match leftmost, then longest. Where two ids have the bytes of one, its own is
    the one that comes later in `vocab`. `pattern` is a regex.
    """
    first = {token: token_id for token_id, token in reversed(vocab.items())}
    last = {token: token_id for token_id, token in vocab.items()}
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    data, ids, position = text.encode(), [], 0
    for start, end in [*find_specials(data, special_tokens), (len(data), len(data))]:
        for pretoken in pretokens(data[position:start].decode(), pattern):
            ids += [first[token] for token in encode_pretoken(pretoken.encode(), ranks)]
        if start < end:
            ids.append(last[data[start:end]])
        position = end
    return ids


def encode_pretoken(pretoken: bytes, ranks: dict[tuple[bytes, bytes], int]) -> list[bytes]:
    """Merge the pair of lowest rank, everywhere from left to right, until no pair is left to merge."""
    tokens = [bytes([byte]) for byte in pretoken]
    while True:
        found = [pair for pair in pairwise(tokens) if pair in ranks]
        if not found:
            return tokens
        tokens = merge(tokens, min(found, key=ranks.__getitem__))


def merge(tokens: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    """Join a pair wherever it stands, from left to right, without overlap."""
    joined: list[bytes] = []
    i = 0
    while i < len(tokens):
        width = 2 if tuple(tokens[i : i + 2]) == pair else 1
        joined.append(b"".join(tokens[i : i + width]))
        i += width
    return joined
