"""The kernel that turns marked starts into token ids: the word cache first, merging on a miss.

    starts (bits) → some 500 bytes of words queue with their keys, their rows of the cache asked for
                  → a row has the word      its ids are written, two numbers of eight bytes at a time
                  → none                    bytes' ids, merged by rank; the cache keeps them

Ids are written as bytes, two or four each, so one kernel serves both. docs/decisions/0018-word-cache.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import NO_TOKEN, ByteArray, IdArray, Int64Array
from bpenb._intrinsics import prefetch, store_u64, trailing_zeros
from bpenb._jit import helper, kernel
from bpenb.encoding.merge_long import merge_long
from bpenb.encoding.merge_scratch import EncodeScratch
from bpenb.encoding.merge_short import merge_short
from bpenb.encoding.pair_table import PairTable
from bpenb.encoding.whole_words import WholeWords, find_whole_word
from bpenb.encoding.word_cache import (
    COUNT,
    COUNT_BITS,
    WordCache,
    find_row,
    first_row,
    has_room,
    keep_word,
    write_ids,
)
from bpenb.pretokenize import ends_in_block, word_key

__all__ = ["DONE", "DROPPED", "NEED_CACHE", "NEED_SCRATCH", "NO_BYTE", "OUT_BEHIND", "PLAIN", "QUEUE_ROWS",
           "EncodeWork", "encode_words"]  # fmt: skip

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

DONE, NO_BYTE, NEED_SCRATCH, NEED_CACHE = range(4)
PLAIN, DROPPED = -1, -2  # in place of a special token's id: plain text; a special token without ids
OUT_BEHIND = 16  # bytes of room behind the ids
QUEUE_BLOCKS = 8  # of 64 bytes
QUEUE_ROWS = 64 * QUEUE_BLOCKS
PIECE, BYTE, OUT, WHY, MAX_ROWS = range(5)  # of EncodeWork.position

_ONE = np.uint64(1)


class EncodeWork(NamedTuple):
    """What one thread encodes with.

    Attributes:
        byte_ids: int32[256], the id of each single byte, or NO_TOKEN.
        byte_pairs: int64[65536], of each pair of bytes what `find_pair` says of their ids.
        pairs: all merges.
        whole_words: tokens that a word becomes without merging.
        cache: words met before.
        scratch: room to merge one word in.
        queue: uint64[QUEUE_ROWS, 4], key, row of the cache and first byte of words that queue.
        position: int64[5], piece and byte to go on with, bytes of ids written, why it stopped, and how
            many rows the cache may have.
        out: uint8[], ids of two or four bytes; OUT_BEHIND bytes more than they can take.
    """

    byte_ids: IdArray
    byte_pairs: Int64Array
    pairs: PairTable
    whole_words: WholeWords
    cache: WordCache
    scratch: EncodeScratch
    queue: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    position: Int64Array
    out: ByteArray


@helper
def merge_word_ids(work, text, start, length):
    """Merge a word in the scratch; returns the number of ids, or ~i if the byte at i has none."""
    ids, values = work.scratch.ids, work.scratch.values
    for i in range(length):
        token = work.byte_ids[text[start + i]]
        if token == NO_TOKEN:
            return ~(start + i)
        ids[i] = token
    zero = np.int64(0)
    if length > values.shape[0]:
        return np.int64(merge_long(work.pairs, work.scratch.nodes, work.scratch.heap, ids, zero, length))
    for i in range(length - 1):
        values[i] = work.byte_pairs[np.int64(text[start + i]) << 8 | np.int64(text[start + i + 1])]
    return np.int64(merge_short(work.pairs, values, ids, zero, length))


@kernel
def encode_other_word(work, text, start, length, key, width):
    """Encode a word that is not in the first two rows of its set; returns a status.

    Its ids are written at position[OUT], which moves on. A function of its own: inlined, it would
    slow the loop down that it is called from.
    """
    position, out = work.position, work.out
    at = position[OUT]
    row = find_row(work.cache, text, start, length, key)
    if row >= 0:
        position[OUT] = write_ids(work.cache, row, out, at, width)
        return DONE
    if not has_room(work.cache, position[MAX_ROWS]):
        return NEED_CACHE
    if length > work.scratch.ids.shape[0]:
        position[WHY] = length
        return NEED_SCRATCH
    token = find_whole_word(work.whole_words, text, start, length, key)
    if token != NO_TOKEN:
        work.scratch.ids[0] = token
        n_ids = np.int64(1)
    else:
        n_ids = merge_word_ids(work, text, start, length)
    if n_ids < 0:
        position[WHY] = ~n_ids
        return NO_BYTE
    for i in range(n_ids):
        store_u64(out, at + (i << width), np.uint64(work.scratch.ids[i]))
    position[OUT] = at + (n_ids << width)
    keep_word(work.cache, text, start, key, out, at, n_ids, width)
    return DONE


@helper
def queue_words(work, text, starts, start, end):
    """Queue the words that end in the next blocks; returns how many, and where the next one starts."""
    queue, slots = work.queue, work.cache.slots
    n_rows = np.int64(slots.shape[0])
    n = np.int64(0)
    k = start >> 6
    last = k + QUEUE_BLOCKS
    while start < end and (k < last or n == 0):  # one word at least, however long
        bits = ends_in_block(starts, k, start, end)
        while bits:
            word_end = (k << 6) + trailing_zeros(bits)
            bits &= bits - _ONE
            first, second = word_key(text, start, word_end - start)
            row = first_row(first, second, n_rows)
            prefetch(slots, row)
            queue[n, 0] = first
            queue[n, 1] = second
            queue[n, 2] = np.uint64(row)
            queue[n, 3] = np.uint64(start)
            n += 1
            start = word_end
        k += 1
    return n, start


@helper
def encode_queue(work, text, n, end, width):
    """Encode n words that queue, the last of which ends at `end`; returns how many are, and a status."""
    queue, slots, out, position = work.queue, work.cache.slots, work.out, work.position
    at = position[OUT]
    for i in range(n):
        first, second, row = queue[i, 0], queue[i, 1], np.int64(queue[i, 2])
        # Without a branch: which of the two rows it is cannot be guessed.
        row += np.int64(((slots[row, 0] ^ first) | (slots[row, 1] ^ second)) != 0)
        ids = slots[row, 3]
        if slots[row, 0] == first and slots[row, 1] == second and ids & COUNT:
            store_u64(out, at, slots[row, 2])
            store_u64(out, at + 8, ids >> COUNT_BITS)
            at += np.int64(ids & COUNT) << width
            continue
        start = np.int64(queue[i, 3])
        stop = np.int64(queue[i + 1, 3]) if i + 1 < n else end
        position[OUT] = at
        status = encode_other_word(work, text, start, stop - start, (first, second), width)
        if status != DONE:
            return i, status
        at = position[OUT]
    position[OUT] = at
    return n, DONE


@helper
def encode_piece(work, text, starts, piece, width):
    """Encode a plain stretch from position[BYTE] on, or a special token; returns a status."""
    position = work.position
    if piece[2] >= 0:
        store_u64(work.out, position[OUT], np.uint64(piece[2]))
        position[OUT] += np.int64(1) << width
    start = max(position[BYTE], piece[0])
    end = piece[1] if piece[2] == PLAIN else start
    while start < end:
        n, after = queue_words(work, text, starts, start, end)
        done, status = encode_queue(work, text, n, after, width)
        if status != DONE:
            position[BYTE] = np.int64(work.queue[done, 3])
            return status
        start = after
    return DONE


@kernel
def encode_words(work, text, starts, pieces, width):
    """Encode the plain stretches and special tokens of a buffer.

    work    : EncodeWork; position says where to go on
    text    : uint8[], padded
    starts  : uint64[], the START plane
    pieces  : int64[n, 4], first byte, end, and the id of a special token, or PLAIN, or DROPPED; the last
              column is written: bytes of ids up to the piece's end
    width   : 1 for ids of two bytes, 2 for four
    Returns : DONE; or why it stopped: give it what it needs, then call it again.
              NO_BYTE: the byte at position[WHY] has no id; NEED_SCRATCH: for a word of position[WHY]
              bytes; NEED_CACHE: more rows or arena
    O(n_bytes), but for words that are merged: O(m log m) for one of m bytes
    """
    position = work.position
    for p in range(position[PIECE], pieces.shape[0]):
        position[PIECE] = p
        status = encode_piece(work, text, starts, pieces[p], width)
        if status != DONE:
            return status
        pieces[p, 3] = position[OUT]
    return DONE
