"""The kernels that others may call from their own `@numba.njit` code.

Each takes arrays and numbers, allocates nothing and raises nothing: what does not fit comes back as
a status. Its docstring has dtypes, shapes and an example (`help(bpenb.kernels.merge_word)`). Arrays are
C-contiguous; nothing is checked. Those marked * are inlined where they are called, and can be called
from jitted code only.

    words       count_pairs           of words in CSR form, each with its count
                merge_word            a pair in one word, in place
                recount_pair          over the words that held it
    pairs       push_pair, pop_pair   a heap: highest count, then smallest pair
                find_slot *           of a pair in a table
    text        list_pretoken_ends    by a pattern (GPT2, CL100K, QWEN2, NANOCHAT, SPLIT_WHITESPACE)
                word_key *            two numbers that stand for a word: its bytes, or a hash
    encoding    encode_word           merge by rank
                find_pair *           the rank and id that two ids merge to
    decoding    measure_tokens        bytes that ids stand for
                gather_token_bytes    write them

Called from Python they need arrays that are made there: `make_scan_arrays`, `make_pair_table` and
`make_scratch`. If you keep compiled code of your own (`cache=True`), delete it when bpenb changes: Numba
does not see that.

Example:
    >>> import numba, numpy as np
    >>> from bpenb.kernels import merge_word
    >>> @numba.njit
    ... def merge_all(tokens, row_offsets, row_lengths, left, right, new):
    ...     for w in range(len(row_lengths)):
    ...         row_lengths[w] = merge_word(tokens, row_offsets[w], row_lengths[w], left, right, new)
    >>> tokens, lengths = np.array([1, 2, 1, 2, 2, 1], np.int32), np.array([4, 2], np.int32)
    >>> merge_all(tokens, np.array([0, 4]), lengths, 1, 2, 9)
    >>> tokens[: lengths[0]].tolist(), lengths.tolist()
    ([9, 9], [2, 2])
"""

from __future__ import annotations

from bpenb.encoding import (
    EncodeScratch,
    PairTable,
    encode_word,
    find_pair,
    gather_token_bytes,
    make_pair_table,
    make_scratch,
    measure_tokens,
)
from bpenb.pretokenize import (
    CL100K,
    GPT2,
    NANOCHAT,
    QWEN2,
    SPLIT_WHITESPACE,
    ScanArrays,
    list_pretoken_ends,
    make_scan_arrays,
    word_key,
)
from bpenb.training import count_pairs, find_slot, merge_word, pop_pair, push_pair, recount_pair

__all__ = [
    "CL100K",
    "GPT2",
    "NANOCHAT",
    "QWEN2",
    "SPLIT_WHITESPACE",
    "EncodeScratch",
    "PairTable",
    "ScanArrays",
    "count_pairs",
    "encode_word",
    "find_pair",
    "find_slot",
    "gather_token_bytes",
    "list_pretoken_ends",
    "make_pair_table",
    "make_scan_arrays",
    "make_scratch",
    "measure_tokens",
    "merge_word",
    "pop_pair",
    "push_pair",
    "recount_pair",
    "word_key",
]
