"""The defined order of words: ascending by their bytes, as Python sorts `bytes`.

Word tables are emptied into records, which are sorted bucket by bucket and written out. The same
word from several tables meets itself there, and its counts are added: so tables are merged without
a merged table, in parallel, and in an order that does not depend on how many there were.

    record  uint64[4]
      0     bytes 0…7, the first one highest
      1     bytes 8…14, then the length, 16 for a longer word: so a prefix sorts before what it begins
      2     count
      3     longer words: where they begin in the arena
    bucket  the records that agree in their first two bytes
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, Int64Array
from bpenb._intrinsics import byte_swap, load_u64, store_u64
from bpenb._jit import helper, kernel
from bpenb.pretokenize import SHORT

__all__ = [
    "HEADER",
    "N_BUCKETS",
    "PADDING",
    "Buckets",
    "Records",
    "first_disorder",
    "merge_rows",
    "sort_buckets",
    "sort_rows",
    "write_words",
]

# mypy: disable-error-code="no-untyped-def,assignment"

PADDING = 16  # bytes behind every text and arena, so that two numbers can be read anywhere
HEADER = 8  # bytes before each word of an arena: its length
N_BUCKETS = 1 << 16
RUN = 16  # records that are sorted by insertion before runs are merged

_LOW_BYTE = np.uint64(255)


class Records(NamedTuple):
    """All words of all tables, in buckets.

    Attributes:
        rows: uint64[n, 4], records.
        spare: uint64[m, 4], room for the records that threads have in hand.
        arena: uint8[], padded; the longer words, each behind its length.
    """

    rows: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    spare: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
    arena: ByteArray


class Buckets(NamedTuple):
    """What is known of each bucket.

    Attributes:
        starts: int64[N_BUCKETS + 1], of the records.
        n_words, n_bytes: int64[N_BUCKETS], distinct words and their bytes, once sorted.
    """

    starts: Int64Array
    n_words: Int64Array
    n_bytes: Int64Array


@helper
def word_length(record_1, offset, arena):
    """Return the length in bytes of a record's word."""
    length = np.int64(record_1 & _LOW_BYTE)
    return length if length <= SHORT else np.int64(load_u64(arena, offset))


@helper
def compare_long(arena, a, b):
    """Compare two longer words by their bytes; returns < 0, 0 or > 0."""
    length_a = np.int64(load_u64(arena, a))
    length_b = np.int64(load_u64(arena, b))
    for i in range(HEADER + SHORT, HEADER + min(length_a, length_b)):
        if arena[a + i] != arena[b + i]:
            return np.int64(arena[a + i]) - np.int64(arena[b + i])
    return length_a - length_b


@helper
def compare(rows_a, a, rows_b, b, arena):
    """Compare the words of two records; returns < 0, 0 or > 0."""
    for column in range(2):
        if rows_a[a, column] != rows_b[b, column]:
            return np.int64(-1) if rows_a[a, column] < rows_b[b, column] else np.int64(1)
    if np.int64(rows_a[a, 1] & _LOW_BYTE) <= SHORT:
        return np.int64(0)
    return compare_long(arena, np.int64(rows_a[a, 3]), np.int64(rows_b[b, 3]))


@helper
def move(source, a, target, b):
    """Copy record a of one array to place b of another."""
    for column in range(4):
        target[b, column] = source[a, column]


@helper
def sort_run(rows, start, end, spare, place, arena):
    """Sort rows[start:end] by insertion; spare[place] is free."""
    for i in range(start + 1, end):
        if compare(rows, i, rows, i - 1, arena) < 0:
            move(rows, i, spare, place)
            k = i
            while k > start and compare(spare, place, rows, k - 1, arena) < 0:
                move(rows, k - 1, rows, k)
                k -= 1
            move(spare, place, rows, k)


@helper
def merge_runs(rows, start, middle, end, spare, place, arena):
    """Merge two sorted neighbours in place; spare[place:] has room for the first of them."""
    if compare(rows, middle - 1, rows, middle, arena) <= 0:
        return
    for i in range(start, middle):
        move(rows, i, spare, place + i - start)
    a = place
    end_a = place + middle - start
    b = middle
    out = start
    while a < end_a and b < end:
        if compare(rows, b, spare, a, arena) < 0:
            move(rows, b, rows, out)
            b += 1
        else:
            move(spare, a, rows, out)
            a += 1
        out += 1
    while a < end_a:
        move(spare, a, rows, out)
        a += 1
        out += 1


@helper
def sort_bucket(rows, start, end, spare, place, arena):
    """Sort rows[start:end] by merging runs. O(n log n) comparisons, whatever the words."""
    for run in range(start, end, RUN):
        sort_run(rows, run, min(run + RUN, end), spare, place, arena)
    width = np.int64(RUN)
    while width < end - start:
        for run in range(start, end - width, 2 * width):
            merge_runs(rows, run, run + width, min(run + 2 * width, end), spare, place, arena)
        width *= 2


@kernel
def sort_buckets(records, buckets, first, last, place):
    """Sort the buckets first … last − 1, and add the counts of equal words.

    records : Records; each sorted bucket's distinct words stand at its front
    buckets : Buckets; n_words and n_bytes are written
    place   : int64, where this thread's part of `spare` begins
    Returns : bool, whether all counts fit into an int64
    """
    rows = records.rows
    fits = True
    for bucket in range(first, last):
        start = buckets.starts[bucket]
        end = buckets.starts[bucket + 1]
        sort_bucket(rows, start, end, records.spare, place, records.arena)
        kept = start
        n_bytes = np.int64(0)
        for i in range(start, end):
            if kept > start and compare(rows, i, rows, kept - 1, records.arena) == 0:
                rows[kept - 1, 2] += rows[i, 2]
                fits &= np.int64(rows[kept - 1, 2]) > 0
            else:
                move(rows, i, rows, kept)
                n_bytes += word_length(rows[i, 1], np.int64(rows[i, 3]), records.arena)
                kept += 1
        buckets.n_words[bucket] = kept - start
        buckets.n_bytes[bucket] = n_bytes
    return fits


@kernel
def sort_rows(records, start, end, place):
    """Sort a stretch of the records by the bytes of their words; spare[place:] has room for half of it."""
    sort_bucket(records.rows, start, end, records.spare, place, records.arena)


@kernel
def merge_rows(records, start, middle, end, place):
    """Merge two sorted neighbours; spare[place:] has room for the first of them."""
    merge_runs(records.rows, start, middle, end, records.spare, place, records.arena)


@helper
def write_word(row_0, row_1, row_3, arena, word_bytes, out, most):
    """Write the bytes of a record's word at word_bytes[out:]; returns their end.

    most : int64, where the range of this thread ends; up to it, what is written behind a word is
           overwritten by the next one
    """
    length = word_length(row_1, np.int64(row_3), arena)
    if length > SHORT:
        start = np.int64(row_3) + HEADER
        for i in range(length):
            word_bytes[out + i] = arena[start + i]
        return out + length
    if out + 16 <= most:
        store_u64(word_bytes, out, byte_swap(row_0))
        store_u64(word_bytes, out + 8, byte_swap(row_1))
        return out + length
    for i in range(length):
        number = row_0 if i < 8 else row_1
        word_bytes[out + i] = np.uint8((number >> np.uint64(56 - 8 * (i & 7))) & _LOW_BYTE)
    return out + length


@kernel
def write_words(records, buckets, bounds, word_bytes, word_offsets, word_counts):
    """Write the words of a range of buckets.

    bounds       : int64[5]: first and last bucket, then the first word and byte to write, and the
                   byte behind the last
    word_bytes   : uint8[n_bytes];  word_offsets: int64[n_words + 1], but the last one
    word_counts  : int64[n_words]
    """
    w = bounds[2]
    out = bounds[3]
    rows = records.rows
    for bucket in range(bounds[0], bounds[1]):
        start = buckets.starts[bucket]
        for i in range(start, start + buckets.n_words[bucket]):
            word_offsets[w] = out
            word_counts[w] = np.int64(rows[i, 2])
            out = write_word(rows[i, 0], rows[i, 1], rows[i, 3], records.arena, word_bytes, out, bounds[4])
            w += 1


@kernel
def first_disorder(word_bytes, word_offsets):
    """Return the first word that is not less than the next one, or −1 if all ascend.

    word_bytes   : uint8[];  word_offsets: int64[n_words + 1]
    O(n_bytes)
    """
    for w in range(word_offsets.shape[0] - 2):
        i = word_offsets[w]
        end = word_offsets[w + 1]
        k = end
        end_k = word_offsets[w + 2]
        while i < end and k < end_k and word_bytes[i] == word_bytes[k]:
            i += 1
            k += 1
        if k == end_k or (i < end and word_bytes[i] > word_bytes[k]):
            return w
    return np.int64(-1)
