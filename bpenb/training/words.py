"""From words, or any sequences of ids, to rows of tokens; the other arrays that a training starts with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bpenb._arrays import (
    N_BYTES,
    ByteArray,
    CountArray,
    IdArray,
    Int64Array,
    grown,
    offsets_from_lengths,
    zeros_on_lines,
)
from bpenb._jit import kernel
from bpenb.errors import TrainingError
from bpenb.training.rows import (
    HAS_NEXT,
    HAS_PREVIOUS,
    LENGTH_MASK,
    LONGEST_ROW,
    PADDING,
    SEGMENT,
    SEGMENT_UNITS,
    UNITS_BEFORE,
)
from bpenb.training.state import (
    HEAP_SIZE,
    N_CURSORS,
    N_MERGES,
    N_PAIRS,
    N_POSTINGS,
    Births,
    Learned,
    PairHeap,
    PairIndex,
    TokenTable,
    WordStore,
)

__all__ = [
    "allocate_births",
    "allocate_learned",
    "allocate_pairs",
    "allocate_tokens",
    "byte_tokens",
    "grown_pairs",
    "id_tokens",
    "pack_ids",
    "pack_words",
    "row_lengths",
    "string_tokens",
    "unpack_rows",
]

_WORDS_AT_ONCE = 1 << 15  # their tokens stay in the cache
_ID_BYTES = 4  # of an id as a token's bytes, so that tokens compare as tuples of ids


@kernel
def fill_rows(tokens, offsets, counts, word_places, rows, row_counts):  # type: ignore[no-untyped-def]
    """Write the tokens of words as rows.

    tokens      : int32[], of all words
    offsets     : int64[n + 1], of the words in `tokens`
    counts      : int64[n]
    word_places : int64[n], where each word's first row is
    rows, row_counts : as in WordStore; written
    O(n_tokens)
    """
    for w in range(counts.shape[0]):
        r = word_places[w]
        begin = offsets[w]
        length = offsets[w + 1] - begin
        most = length if length <= LONGEST_ROW else SEGMENT
        done = 0
        while True:
            n = min(most, length - done)
            row_counts[r] = counts[w]
            flags = HAS_PREVIOUS if done > 0 else 0
            if done + n < length:
                flags |= HAS_NEXT
            rows[2 * r + 2] = n | flags
            for i in range(n):
                rows[2 * r + UNITS_BEFORE + i] = tokens[begin + done + i]
            done += n
            if done >= length:
                break
            r += SEGMENT_UNITS


@kernel
def unpack_rows(rows, places, tokens):  # type: ignore[no-untyped-def]
    """Write the tokens of all rows one behind the other. tokens: int32[], written. O(n_tokens)."""
    n = 0
    for k in range(places.shape[0]):
        start = 2 * np.int64(places[k]) + UNITS_BEFORE
        for i in range(start, start + (rows[start - 1] & LENGTH_MASK)):
            tokens[n] = rows[i]
            n += 1


def _open_rows(lengths: Int64Array) -> tuple[WordStore, Int64Array, Int64Array]:
    """Return room for words of so many tokens, where each word begins, and its number of rows."""
    is_long = lengths > LONGEST_ROW
    n_rows = np.where(is_long, -(-lengths // SEGMENT), 1)
    units = np.where(is_long, n_rows * SEGMENT_UNITS, (UNITS_BEFORE + 1 + lengths) // 2)
    units = -(-units // 8) * 8
    word_places = offsets_from_lengths(units)
    n_units = int(word_places[-1])
    if n_units > np.iinfo(np.int32).max:
        raise TrainingError(
            f"the words take {8 * n_units:,} bytes; a training holds 16 GB of them at most: drop rare words"
        )
    places = np.repeat(word_places[:-1].astype(np.int32), n_rows)
    if is_long.any():
        first_row = np.repeat(offsets_from_lengths(n_rows)[:-1], n_rows)
        places += ((np.arange(places.shape[0]) - first_row) * SEGMENT_UNITS).astype(np.int32)
    counts = zeros_on_lines((n_units + PADDING,), np.int64)
    return WordStore(counts.view(np.int32), counts, places), word_places, n_rows


def pack_words(
    word_bytes: ByteArray, word_offsets: Int64Array, word_counts: CountArray, byte_order: ByteArray
) -> WordStore:
    """Return the words as rows of learning ids.

    Args:
        word_bytes, word_offsets, word_counts: as in `WordCounts`.
        byte_order: uint8[256], the byte of each learning id.

    Raises:
        TrainingError: more words than a training holds.
    """
    id_of_byte = np.empty(N_BYTES, dtype=np.int32)
    id_of_byte[byte_order] = np.arange(N_BYTES, dtype=np.int32)
    offsets = np.ascontiguousarray(word_offsets, dtype=np.int64)
    words, word_places, _ = _open_rows(np.diff(offsets))
    counts = np.array(word_counts, dtype=np.int64)
    for first in range(0, counts.shape[0], _WORDS_AT_ONCE):
        some = offsets[first : first + _WORDS_AT_ONCE + 1]
        tokens = id_of_byte[word_bytes[some[0] : some[-1]]]
        last = first + some.shape[0] - 1
        fill_rows(
            tokens, some - some[0], counts[first:last], word_places[first:last], words.rows, words.counts
        )
    return words


def pack_ids(tokens: IdArray, offsets: Int64Array, counts: CountArray) -> tuple[WordStore, Int64Array]:
    """Return sequences of ids as rows, and the number of rows of each.

    Args:
        tokens: int32[], of all sequences; offsets: int64[n + 1]; counts: int64[n].
    """
    words, word_places, n_rows = _open_rows(np.diff(offsets))
    fill_rows(tokens, offsets, counts, word_places[:-1], words.rows, words.counts)
    return words, n_rows


def row_lengths(words: WordStore) -> Int64Array:
    """Return int64[n_rows], the tokens of each row."""
    lengths = words.rows[2 * words.places.astype(np.int64) + 2] & LENGTH_MASK
    return lengths.astype(np.int64)


def byte_tokens(byte_order: ByteArray, n_merges: int) -> TokenTable:
    """Return a token table that holds the 256 bytes and has room for `n_merges` more tokens."""
    return allocate_tokens(byte_order, 1, n_merges)


def id_tokens(n_base_tokens: int, n_merges: int) -> TokenTable:
    """Return a token table that holds the ids 0 … n_base_tokens − 1, the highest byte of each first."""
    return allocate_tokens(np.arange(n_base_tokens, dtype=">u4").view(np.uint8), _ID_BYTES, n_merges)


def string_tokens(base_tokens: Sequence[bytes], n_merges: int) -> TokenTable:
    """Return a token table of base tokens of any lengths, with room for `n_merges` more tokens."""
    lengths = np.fromiter(map(len, base_tokens), dtype=np.int64, count=len(base_tokens))
    n_base, n_bytes = len(base_tokens), int(lengths.sum())
    tokens = allocate_tokens(np.empty(0, dtype=np.uint8), 1, n_base + n_merges)
    token_bytes = np.empty(n_bytes + 16 * n_merges, dtype=np.uint8)
    token_bytes[:n_bytes] = np.frombuffer(b"".join(base_tokens), dtype=np.uint8)
    tokens.token_offsets[: n_base + 1] = offsets_from_lengths(lengths)
    tokens.prefixes[:n_base] = [int.from_bytes(token[:8].ljust(8, b"\0"), "big") for token in base_tokens]
    return tokens._replace(token_bytes=token_bytes)


def allocate_tokens(base_bytes: ByteArray, width: int, n_merges: int) -> TokenTable:
    """Return a token table of base tokens of `width` bytes each, with room for `n_merges` more tokens."""
    n_base = base_bytes.shape[0] // width
    n = n_base + n_merges
    token_bytes = np.empty(base_bytes.shape[0] + 16 * width * n_merges, dtype=np.uint8)
    token_bytes[: base_bytes.shape[0]] = base_bytes
    token_offsets = np.zeros(n + 1, dtype=np.int64)
    token_offsets[: n_base + 1] = np.arange(n_base + 1) * width
    prefixes = np.zeros(n, dtype=np.uint64)
    for place in range(width):
        part = base_bytes[place::width].astype(np.uint64)
        prefixes[:n_base] |= part << np.uint64(56 - 8 * place)
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
        posting_rows=np.empty(n_postings, dtype=np.int32),
    )
    return pairs, PairHeap(np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int32))


def grown_pairs(pairs: PairIndex, n_pairs: int) -> PairIndex:
    """Return an index with room for `n_pairs` pairs at least; its postings are the same."""
    return pairs._replace(
        keys=grown(pairs.keys, n_pairs),
        counts=grown(pairs.counts, n_pairs),
        checked_at=grown(pairs.checked_at, n_pairs),
        posting_offsets=grown(pairs.posting_offsets, n_pairs),
        posting_lengths=grown(pairs.posting_lengths, n_pairs),
    )


def allocate_births(n_tokens: int, n_events: int) -> Births:
    """Return cleared scratch for merges among `n_tokens` tokens with `n_events` events each."""
    n_slots = 2 * n_tokens
    return Births(
        counts=np.zeros(n_slots, dtype=np.int64),
        n_rows=np.zeros(n_slots, dtype=np.int32),
        last_row=np.full(n_slots, -1, dtype=np.int32),
        slots=np.empty(n_slots, dtype=np.int32),
        event_slots=np.empty(n_events, dtype=np.int32),
        event_rows=np.empty(n_events, dtype=np.int32),
        used=np.zeros(2, dtype=np.int64),
    )


def allocate_learned(n_merges: int, n_made: int, n_pairs: int, n_postings: int) -> Learned:
    """Return an empty result whose cursor stands behind `n_made` merges and the first `n_pairs` pairs."""
    cursor = np.zeros(N_CURSORS, dtype=np.int64)
    cursor[N_MERGES] = n_made
    cursor[N_PAIRS] = cursor[HEAP_SIZE] = n_pairs
    cursor[N_POSTINGS] = n_postings
    return Learned(np.zeros((n_merges, 2), dtype=np.int32), np.zeros(n_merges, dtype=np.int64), cursor)
