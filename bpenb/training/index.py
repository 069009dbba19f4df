"""Counting the pairs of single bytes, and the inverted index over them.

The first pairs are made of 256 bytes, so a table of 65,536 counters answers everything.
count → prefix sum → fill.
"""

from __future__ import annotations

import numpy as np

from bpenb._arrays import N_BYTES
from bpenb._jit import kernel

__all__ = ["count_byte_pairs", "fill_index", "open_index"]

# mypy: disable-error-code="no-untyped-def"


@kernel
def count_byte_pairs(words, pair_counts, n_pair_words, last_word):
    """Count every adjacent position of every word, weighted by the word's count.

    words        : WordStore, rows of single bytes
    pair_counts  : int64[65536], added to; place left * 256 + right
    n_pair_words : int64[65536], added to: distinct words that hold the pair
    last_word    : int32[65536], scratch, -1
    Returns      : int64, tokens read
    O(n_tokens)
    """
    n_tokens = 0
    for w in range(words.row_lengths.shape[0]):
        start = words.row_offsets[w]
        end = start + words.row_lengths[w]
        count = words.word_counts[w]
        n_tokens += words.row_lengths[w]
        for i in range(start, end - 1):
            place = np.int64(words.tokens[i]) * N_BYTES + words.tokens[i + 1]
            pair_counts[place] += count
            if last_word[place] != w:
                last_word[place] = w
                n_pair_words[place] += 1
    return n_tokens


@kernel
def open_index(pair_counts, n_pair_words, min_count, pair_of_place, pairs):
    """Give every pair with enough count an id and room for its postings.

    pair_counts, n_pair_words : int64[65536]
    pair_of_place : int32[65536], written: pair id, or -1
    pairs         : PairIndex, with room for them; lengths are 0 afterwards
    Returns       : int64, number of pairs; ids ascend with (left, right)
    """
    n_pairs = 0
    end = 0
    for place in range(pair_counts.shape[0]):
        pair_of_place[place] = -1
        if pair_counts[place] >= min_count and n_pair_words[place] > 0:
            pair_of_place[place] = n_pairs
            pairs.keys[n_pairs] = ((place // N_BYTES) << 32) | (place % N_BYTES)
            pairs.counts[n_pairs] = pair_counts[place]
            pairs.checked_at[n_pairs] = 0
            pairs.posting_offsets[n_pairs] = end
            pairs.posting_lengths[n_pairs] = 0
            end += n_pair_words[place]
            n_pairs += 1
    return n_pairs


@kernel
def fill_index(words, pair_of_place, last_word, pairs):
    """Fill the inverted index: for every pair, the ids of the words that hold it.

    words         : WordStore, rows of single bytes
    pair_of_place : int32[65536]
    last_word     : int32[65536], scratch, -1
    pairs         : PairIndex as `open_index` left it; posting_word_ids is written
    Order         : word ids ascend within a pair; a word appears once
    O(n_tokens)
    """
    for w in range(words.row_lengths.shape[0]):
        start = words.row_offsets[w]
        end = start + words.row_lengths[w]
        for i in range(start, end - 1):
            place = np.int64(words.tokens[i]) * N_BYTES + words.tokens[i + 1]
            p = pair_of_place[place]
            if p >= 0 and last_word[place] != w:
                last_word[place] = w
                pairs.posting_word_ids[pairs.posting_offsets[p] + pairs.posting_lengths[p]] = w
                pairs.posting_lengths[p] += 1
