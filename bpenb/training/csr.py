"""The verbs of BPE on plain arrays, for others: count pairs, merge a pair, recount a pair.

    tokens       int32[], the tokens of word w at row_offsets[w], row_lengths[w] of them;
                 a word shrinks in place, so there may be room behind it
    keys, counts a table of pairs: the key is left << 32 | right, −1 where a slot is free

Training has its words in another layout, where a merge touches one cache line (rows.py); the
results are the same. An index of words for each pair is `postings`: int32[n], ascending word ids.
"""

from __future__ import annotations

import numpy as np

from bpenb._jit import kernel
from bpenb.training.index import find_slot

__all__ = ["count_pairs", "merge_word", "recount_pair"]

# mypy: disable-error-code="no-untyped-def"

_EMPTY = np.int64(-1)


@kernel
def count_pairs(tokens, row_offsets, row_lengths, word_counts, keys, counts):
    """Count every adjacent position of words, each as often as the word occurs: `aaaa` holds (a, a) 3 times.

    tokens      : int32[], ids from 0 up
    row_offsets : int64[≥ n_words], where each word begins
    row_lengths : int32[n_words], tokens of each
    word_counts : int64[n_words]
    keys        : int64[n_slots], a power of two; −1 where free; pairs are added
    counts      : int64[n_slots], 0 where free; added to
    Returns     : int64, how many pairs the table holds; or ~w if it has no room for those of word w
                  (it is to stay below 5/8): the words before are counted, go on with more slots
    O(tokens + n_slots)

    Example:
        >>> keys, counts = np.full(8, -1, np.int64), np.zeros(8, np.int64)
        >>> tokens = np.array([7, 7, 7, 5], np.int32)
        >>> one = np.array([4], np.int32)
        >>> int(count_pairs(tokens, np.array([0, 4]), one, np.array([10]), keys, counts))
        2
        >>> sorted((int(k >> 32), int(k & 0xFFFFFFFF), int(n)) for k, n in zip(keys, counts) if k >= 0)
        [(7, 5, 10), (7, 7, 20)]
    """
    n_pairs = np.int64(0)
    for s in range(keys.shape[0]):
        n_pairs += np.int64(keys[s] != _EMPTY)
    for w in range(row_lengths.shape[0]):
        start = np.int64(row_offsets[w])
        length = np.int64(row_lengths[w])
        if n_pairs + length - 1 > keys.shape[0] // 8 * 5:
            return ~np.int64(w)
        for i in range(start, start + length - 1):
            key = np.int64(tokens[i]) << 32 | np.int64(tokens[i + 1])
            s = find_slot(keys, key)
            if keys[s] == _EMPTY:
                keys[s] = key
                n_pairs += 1
            counts[s] += word_counts[w]
    return n_pairs


@kernel
def merge_word(tokens, start, length, left, right, new):
    """Merge a pair in one word, in place, from left to right: `aaaa` with (a, a) becomes `aa aa`.

    tokens      : int32[], read and written from `start`
    start       : where the word begins
    length      : its tokens
    left, right : the pair
    new         : the id that takes its place
    Returns     : int64, tokens that are left; those behind them are what they were
    O(length)

    Example:
        >>> word = np.array([97, 97, 97, 98], np.int32)
        >>> n = int(merge_word(word, 0, 4, 97, 97, 256))
        >>> word[:n].tolist()
        [256, 97, 98]
    """
    end = np.int64(start) + length
    written = np.int64(start)
    i = written
    while i < end:
        token = tokens[i]
        if token == left and i + 1 < end and tokens[i + 1] == right:
            token = new
            i += 1
        tokens[written] = token
        written += 1
        i += 1
    return written - start


@kernel
def recount_pair(tokens, row_offsets, row_lengths, word_counts, postings, left, right):
    """Recount a pair over the words that held it, and drop those that no longer do.

    tokens, row_offsets, row_lengths, word_counts : as of `count_pairs`
    postings    : int32[n], word ids; those that hold the pair are moved to the front, in their order
    left, right : the pair
    Returns     : (int64 postings kept, int64 count)
    O(tokens of these words)

    Example:
        >>> tokens = np.array([1, 2, 9, 9, 1, 2, 1, 2], np.int32)
        >>> offsets, lengths = np.array([0, 2, 4]), np.array([2, 2, 4], np.int32)
        >>> postings = np.array([0, 1, 2], np.int32)
        >>> kept, count = recount_pair(tokens, offsets, lengths, np.array([5, 5, 10]), postings, 1, 2)
        >>> postings[:kept].tolist(), int(count)
        ([0, 2], 25)
    """
    kept = np.int64(0)
    count = np.int64(0)
    for k in range(postings.shape[0]):
        w = postings[k]
        start = np.int64(row_offsets[w])
        n = np.int64(0)
        for i in range(start, start + np.int64(row_lengths[w]) - 1):
            n += np.int64(tokens[i] == left and tokens[i + 1] == right)
        if n > 0:
            postings[kept] = w
            kept += 1
            count += n * word_counts[w]
    return kept, count
