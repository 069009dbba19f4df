"""Several merges per step, slow and readable: count once, merge the best pairs that share no token."""

from __future__ import annotations

from collections.abc import Mapping

from tests.oracles.trainer import count_pairs, merge, rank_key


def train_in_steps(
    word_counts: Mapping[bytes, int], n_merges: int, k: int, *, ties: str = "cs336", min_frequency: int = 1
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the merges and their counts; each step looks at all pairs as they are when it begins."""
    words = {word: list(word) for word in word_counts}
    token_bytes = [bytes([b]) for b in range(256)]
    merges: list[tuple[int, int]] = []
    counts: list[int] = []
    while len(merges) < n_merges:
        pairs = count_pairs(words, word_counts)
        chosen: list[tuple[int, int]] = []
        for pair in sorted(pairs, key=rank_key(pairs, ties, token_bytes), reverse=True):
            shares = any({*pair} & {*other} for other in chosen)
            is_room = len(chosen) < min(k, n_merges - len(merges))
            if is_room and not shares and pairs[pair] >= max(1, min_frequency):
                chosen.append(pair)
        if not chosen:
            break
        for pair in chosen:
            words = {word: merge(row, pair, len(token_bytes)) for word, row in words.items()}
            token_bytes.append(token_bytes[pair[0]] + token_bytes[pair[1]])
            merges.append(pair)
            counts.append(pairs[pair])
    return merges, counts
