"""From `WordCounts` to rows of token ids, and the other arrays that a training starts with."""

from __future__ import annotations

import numpy as np

from bpenb._arrays import N_BYTES, ByteArray, CountArray, Int64Array
from bpenb._jit import kernel
from bpenb.training.state import (
    HEAP_SIZE,
    N_CURSORS,
    N_PAIRS,
    N_POSTINGS,
    Births,
    Learned,
    PairHeap,
    PairIndex,
    TokenTable,
    WordStore,
)

__all__ = ["allocate_births", "allocate_learned", "allocate_pairs", "allocate_tokens", "pack_words"]


@kernel
def map_bytes(word_bytes, id_of_byte, tokens):  # type: ignore[no-untyped-def]
    """Write the learning id of every byte: tokens[i] = id_of_byte[word_bytes[i]]. O(n_bytes)."""
    for i in range(word_bytes.shape[0]):
        tokens[i] = id_of_byte[word_bytes[i]]


def pack_words(
    word_bytes: ByteArray, word_offsets: Int64Array, word_counts: CountArray, byte_order: ByteArray
) -> WordStore:
    """Return the words as rows of learning ids (CSR).

    Args:
        word_bytes, word_offsets, word_counts: as in `WordCounts`.
        byte_order: uint8[256], the byte of each learning id.
    """
    id_of_byte = np.empty(N_BYTES, dtype=np.int32)
    id_of_byte[byte_order] = np.arange(N_BYTES, dtype=np.int32)
    tokens = np.empty(word_bytes.shape[0], dtype=np.int32)
    map_bytes(np.ascontiguousarray(word_bytes), id_of_byte, tokens)
    offsets = np.ascontiguousarray(word_offsets, dtype=np.int64)
    lengths = np.diff(offsets).astype(np.int32)
    return WordStore(tokens, offsets, lengths, np.array(word_counts, dtype=np.int64))


def allocate_tokens(byte_order: ByteArray, n_merges: int) -> TokenTable:
    """Return a token table that holds the 256 bytes and has room for `n_merges` more."""
    n = N_BYTES + n_merges
    token_bytes = np.empty(N_BYTES + 16 * n_merges, dtype=np.uint8)
    token_bytes[:N_BYTES] = byte_order
    token_offsets = np.zeros(n + 1, dtype=np.int64)
    token_offsets[: N_BYTES + 1] = np.arange(N_BYTES + 1)
    prefixes = np.zeros(n, dtype=np.uint64)
    prefixes[:N_BYTES] = byte_order.astype(np.uint64) << np.uint64(56)
    never = np.full(n, -1, dtype=np.int32)
    return TokenTable(token_bytes, token_offsets, prefixes, never, never.copy())


def allocate_pairs(n_pairs: int, n_postings: int) -> tuple[PairIndex, PairHeap]:
    """Return an index and a heap with room for so many pairs and postings (nothing is touched yet)."""
    pairs = PairIndex(
        keys=np.empty(n_pairs, dtype=np.int64),
        counts=np.empty(n_pairs, dtype=np.int64),
        checked_at=np.empty(n_pairs, dtype=np.int32),
        posting_offsets=np.empty(n_pairs, dtype=np.int64),
        posting_lengths=np.empty(n_pairs, dtype=np.int32),
        posting_word_ids=np.empty(n_postings, dtype=np.int32),
    )
    return pairs, PairHeap(np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int32))


def allocate_births(n_tokens: int, n_events: int) -> Births:
    """Return cleared scratch for merges among `n_tokens` tokens with `n_events` events each."""
    n_slots = 2 * n_tokens
    return Births(
        counts=np.zeros(n_slots, dtype=np.int64),
        n_words=np.zeros(n_slots, dtype=np.int32),
        last_word=np.full(n_slots, -1, dtype=np.int32),
        slots=np.empty(n_slots, dtype=np.int32),
        event_slots=np.empty(n_events, dtype=np.int32),
        event_words=np.empty(n_events, dtype=np.int32),
    )


def allocate_learned(n_merges: int, n_pairs: int, n_postings: int) -> Learned:
    """Return an empty result whose cursor stands behind the first `n_pairs` pairs."""
    cursor = np.zeros(N_CURSORS, dtype=np.int64)
    cursor[N_PAIRS] = cursor[HEAP_SIZE] = n_pairs
    cursor[N_POSTINGS] = n_postings
    return Learned(np.empty((n_merges, 2), dtype=np.int32), np.empty(n_merges, dtype=np.int64), cursor)
