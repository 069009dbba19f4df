"""`bpenb.kernels`, each called from a user's own jitted function and compared with plain Python."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

import numba
import numpy as np
import pytest
from bpenb import kernels
from bpenb.kernels import (
    CL100K,
    GPT2,
    NANOCHAT,
    QWEN2,
    SPLIT_WHITESPACE,
    count_pairs,
    encode_word,
    find_pair,
    find_slot,
    gather_token_bytes,
    list_pretoken_ends,
    make_scan_arrays,
    make_scratch,
    measure_tokens,
    merge_word,
    pop_pair,
    push_pair,
    recount_pair,
    word_key,
)
from bpenb.patterns import PATTERNS
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.slow import train as slow_model
from tests.oracles import trainer
from tests.oracles.encoder import encode_pretoken
from tests.oracles.pretokenizer import pretokens

pytestmark = pytest.mark.kernels

words_of = st.lists(st.text("abc", max_size=9).map(str.encode), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def _hashes_wrap() -> Iterator[None]:
    """Only plain Python (NUMBA_DISABLE_JIT=1) says so."""
    with np.errstate(over="ignore"):
        yield


# --- what a user writes -------------------------------------------------------------------------------


@numba.njit
def user_count(tokens, offsets, lengths, word_counts, keys, counts):  # type: ignore[no-untyped-def]
    return count_pairs(tokens, offsets, lengths, word_counts, keys, counts)


@numba.njit
def user_find(keys, counts, left, right):  # type: ignore[no-untyped-def]
    key = np.int64(left) << 32 | np.int64(right)
    s = find_slot(keys, key)
    return counts[s] if keys[s] == key else np.int64(0)


@numba.njit
def user_merge_all(tokens, offsets, lengths, left, right, new):  # type: ignore[no-untyped-def]
    for w in range(lengths.shape[0]):
        lengths[w] = merge_word(tokens, offsets[w], lengths[w], left, right, new)


@numba.njit
def user_recount(tokens, offsets, lengths, word_counts, postings, left, right):  # type: ignore[no-untyped-def]
    return recount_pair(tokens, offsets, lengths, word_counts, postings, left, right)


@numba.njit
def user_sort(counts, keys, heap_counts, heap_keys):  # type: ignore[no-untyped-def]
    """Push all pairs, and pop them in their order."""
    size = 0
    for i in range(counts.shape[0]):
        size = push_pair(heap_counts, heap_keys, size, counts[i], keys[i])
    for i in range(counts.shape[0]):
        counts[i], keys[i] = heap_counts[0], heap_keys[0]
        size = pop_pair(heap_counts, heap_keys, size)
    return size


@numba.njit
def user_ends(pattern, text, n_bytes, classes, planes, ends):  # type: ignore[no-untyped-def]
    return list_pretoken_ends(pattern, text, n_bytes, classes, planes, ends)


@numba.njit
def user_keys(text, offsets, out):  # type: ignore[no-untyped-def]
    for w in range(out.shape[0]):
        out[w, 0], out[w, 1] = word_key(text, offsets[w], offsets[w + 1] - offsets[w])


@numba.njit
def user_encode(text, offsets, byte_ids, pairs, scratch, ids, lengths):  # type: ignore[no-untyped-def]
    for w in range(lengths.shape[0]):
        at = offsets[w]
        lengths[w] = encode_word(text, at, offsets[w + 1], byte_ids, pairs, scratch, ids[at:])


@numba.njit
def user_rank(slots, left, right):  # type: ignore[no-untyped-def]
    return find_pair(slots, left, right)


@numba.njit
def user_decode(ids, token_bytes, token_offsets, out):  # type: ignore[no-untyped-def]
    n_bytes = measure_tokens(ids, token_offsets)
    if 0 <= n_bytes <= out.shape[0]:
        gather_token_bytes(ids, token_bytes, token_offsets, out[:n_bytes])
    return n_bytes


# --- training -----------------------------------------------------------------------------------------


def _csr(words: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tokens = np.array(list(b"".join(words)), dtype=np.int32)
    offsets = np.array([0, *accumulate(map(len, words))], dtype=np.int64)
    return tokens, offsets, np.diff(offsets).astype(np.int32)


def _rows(tokens: np.ndarray, offsets: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    starts = offsets.tolist()
    return [tokens[at : at + n].tolist() for at, n in zip(starts, lengths.tolist(), strict=False)]


def _count_all(
    tokens: np.ndarray, offsets: np.ndarray, lengths: np.ndarray, word_counts: np.ndarray, n_slots: int
) -> tuple[np.ndarray, np.ndarray]:
    """The loop that the docstring of `count_pairs` tells of: more slots where there is no room."""
    while True:
        keys, counts = np.full(n_slots, -1, dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
        n = user_count(tokens, offsets, lengths, word_counts, keys, counts)
        if n >= 0:
            assert n == (keys >= 0).sum()
            return keys, counts
        n_slots *= 2


def _as_counter(keys: np.ndarray, counts: np.ndarray) -> dict[tuple[int, int], int]:
    used = keys >= 0
    return {
        (key >> 32, key & 0xFFFFFFFF): n
        for key, n in zip(keys[used].tolist(), counts[used].tolist(), strict=True)
    }


@settings(max_examples=40, deadline=None)
@given(words_of, st.data())
def test_pairs_are_counted(words: list[bytes], data: st.DataObject) -> None:
    word_counts = np.array(
        data.draw(st.lists(st.integers(1, 2**40), min_size=len(words), max_size=len(words)))
    )
    keys, counts = _count_all(*_csr(words), word_counts, 8)
    expected: Counter[tuple[int, int]] = Counter()
    for word, n in zip(words, word_counts.tolist(), strict=True):
        for pair in pairwise(word):
            expected[pair] += n
    assert _as_counter(keys, counts) == expected
    for pair in [*expected, (98, 120), (0, 0)]:
        assert user_find(keys, counts, *pair) == expected[pair]


def test_counting_goes_on_where_there_was_no_room() -> None:
    tokens, offsets, lengths = _csr([b"ababab", b"cdefgh", b"xyz"])
    ones = np.ones(3, dtype=np.int64)
    keys, counts = np.full(8, -1, dtype=np.int64), np.zeros(8, dtype=np.int64)
    w = ~user_count(tokens, offsets, lengths, ones, keys, counts)
    assert w == 1
    assert _as_counter(keys, counts) == {(97, 98): 3, (98, 97): 2}
    more, more_counts = np.full(32, -1, dtype=np.int64), np.zeros(32, dtype=np.int64)
    assert user_count(tokens, offsets[w:], lengths[w:], ones[w:], more, more_counts) == 7


@settings(max_examples=60, deadline=None)
@given(words_of, st.tuples(st.sampled_from(b"abc"), st.sampled_from(b"abc")))
def test_a_pair_is_merged_in_place(words: list[bytes], pair: tuple[int, int]) -> None:
    tokens, offsets, lengths = _csr(words)
    user_merge_all(tokens, offsets, lengths, *pair, 256)
    assert _rows(tokens, offsets, lengths) == [trainer.merge(list(word), pair, 256) for word in words]


@settings(max_examples=40, deadline=None)
@given(words_of, st.tuples(st.sampled_from(b"abc"), st.sampled_from(b"abc")), st.data())
def test_a_pair_is_recounted(words: list[bytes], pair: tuple[int, int], data: st.DataObject) -> None:
    listed = data.draw(st.lists(st.integers(0, len(words) - 1), unique=True).map(sorted))
    word_counts = np.arange(1, len(words) + 1, dtype=np.int64) * 2**33
    postings = np.array(listed, dtype=np.int32)
    kept, count = user_recount(*_csr(words), word_counts, postings, *pair)
    found = {w: list(pairwise(words[w])).count(pair) for w in listed}
    assert postings[:kept].tolist() == [w for w in listed if found[w]]
    assert count == sum(n * int(word_counts[w]) for w, n in found.items())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**62)), max_size=40))
def test_the_heap_gives_the_most_frequent_then_the_smallest_pair(pairs: list[tuple[int, int]]) -> None:
    counts = np.array([count for count, _ in pairs], dtype=np.int64)
    keys = np.array([key for _, key in pairs], dtype=np.int64)
    assert user_sort(counts, keys, np.zeros_like(counts), np.zeros_like(keys)) == 0
    found = list(zip(counts.tolist(), keys.tolist(), strict=True))
    assert found == sorted(pairs, key=lambda pair: (-pair[0], pair[1]))


@numba.njit
def user_train(tokens, offsets, lengths, word_counts, merges, keys, counts, heap):  # type: ignore[no-untyped-def]
    """A whole trainer of public kernels: count, take the top of a heap, merge, again."""
    heap_counts, heap_keys = heap
    for rank in range(merges.shape[0]):
        keys[:] = -1
        counts[:] = 0
        if count_pairs(tokens, offsets, lengths, word_counts, keys, counts) <= 0:
            return rank
        size = 0
        for s in range(keys.shape[0]):
            if keys[s] >= 0:
                size = push_pair(heap_counts, heap_keys, size, counts[s], keys[s])
        left, right = heap_keys[0] >> 32, heap_keys[0] & 0xFFFFFFFF
        merges[rank, 0], merges[rank, 1] = left, right
        for w in range(lengths.shape[0]):
            lengths[w] = merge_word(tokens, offsets[w], lengths[w], left, right, 256 + rank)
    return merges.shape[0]


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=9).map(str.encode), st.integers(1, 5), min_size=1))
def test_a_trainer_made_of_them(word_counts: dict[bytes, int]) -> None:
    merges = np.zeros((12, 2), dtype=np.int64)
    heap = (np.zeros(256, dtype=np.int64), np.zeros(256, dtype=np.int64))
    counts = np.array(list(word_counts.values()), dtype=np.int64)
    table = (np.full(256, -1, dtype=np.int64), np.zeros(256, dtype=np.int64))
    n = user_train(*_csr(list(word_counts)), counts, merges, *table, heap)
    expected, _ = trainer.train(word_counts, 12, ties="rustbpe")
    assert list(map(tuple, merges[:n].tolist())) == expected


# --- text ---------------------------------------------------------------------------------------------

NAMES = {GPT2: "gpt2", CL100K: "cl100k", QWEN2: "qwen2", NANOCHAT: "nanochat", SPLIT_WHITESPACE: "whitespace"}
TEXTS = [
    "it's",
    "IT'S  12345 ①x\r\n\r\ny",
    "été \u00a0 中文!? ",
    " " * 70 + "a" * 70,
    "x" * 64,
    "🙂'll " * 30,
    "\n",
]


def _ends(pattern: int, data: bytes) -> Any:
    text, classes, planes, ends = make_scan_arrays(data)
    assert (text.shape, ends.shape) == ((len(data) + 72,), (len(data),))
    n = user_ends(pattern, text, len(data), classes, planes, ends)
    return ends[:n].tolist() if n >= 0 else int(n)


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(st.sampled_from(TEXTS), st.text("ab'sTL 1２\n\r\téア🙂!", max_size=150)),
    st.sampled_from(sorted(NAMES)),
)
def test_ends_of_pretokens(text: str, pattern: int) -> None:
    found = pretokens(text, PATTERNS[NAMES[pattern]])
    assert _ends(pattern, text.encode()) == list(accumulate(len(p.encode()) for p in found))


def test_scan_arrays_are_used_again() -> None:
    text, classes, planes, ends = make_scan_arrays(capacity=300)
    for sample in [*TEXTS, ""]:
        data = sample.encode()
        text[:] = 0
        text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        n = user_ends(GPT2, text, len(data), classes, planes, ends)
        assert ends[:n].tolist() == _ends(GPT2, data)


@pytest.mark.parametrize("at", [0, 5, 63, 64, 100, 126])
def test_text_that_is_not_utf8(at: int) -> None:
    data = bytearray(b"a" * 128)
    data[at] = 0xFF
    assert ~_ends(GPT2, bytes(data)) == at // 64 * 64


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab", min_size=1, max_size=40).map(str.encode), min_size=1, max_size=20))
def test_keys_of_words(words: list[bytes]) -> None:
    text = np.frombuffer(b"".join(words) + bytes(16), dtype=np.uint8).copy()
    out = np.zeros((len(words), 2), dtype=np.uint64)
    user_keys(text, np.array([0, *accumulate(map(len, words))], dtype=np.int64), out)
    keys = dict(zip(words, map(tuple, out.tolist()), strict=True))
    assert len(set(keys.values())) == len(keys)  # different words, different keys
    assert [keys[word] for word in words] == list(map(tuple, out.tolist()))  # the same, wherever it stands


# --- encoding and decoding ------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(words_of, words_of, st.integers(0, 30), st.integers(0, 2**32))
def test_words_are_encoded_and_decoded(
    seen: list[bytes], words: list[bytes], n_merges: int, seed: int
) -> None:
    model = slow_model(seen, n_merges, seed)
    words = [*words, b"".join(seen) * 5]  # longer than 32 bytes, most often
    byte_ids, pairs = model.arrays()
    text = np.frombuffer(b"".join(words), dtype=np.uint8)
    offsets = np.array([0, *accumulate(map(len, words))], dtype=np.int64)
    ids, lengths = np.zeros(text.shape[0], dtype=np.int32), np.zeros(len(words), dtype=np.int64)
    user_encode(text, offsets, byte_ids, pairs, make_scratch(max(map(len, words))), ids, lengths)
    ranks = {pair: rank for rank, pair in enumerate(model.merges)}
    id_of = model.ids()
    expected = [[id_of[token] for token in encode_pretoken(word, ranks)] for word in words]
    assert _rows(ids, offsets, lengths) == expected
    for rank, (left, right) in enumerate(model.merges):
        assert user_rank(pairs.slots, id_of[left], id_of[right]) == rank << 32 | id_of[left + right]
    assert user_rank(pairs.slots, id_of[b"a"], 12345) == 2**63 - 1
    _check_decoding(model.vocab, [i for row in expected for i in row], b"".join(words))


def _check_decoding(vocab: dict[int, bytes], ids: list[int], data: bytes) -> None:
    tokens = [vocab.get(i, b"") for i in range(max(vocab) + 1)]
    token_bytes = np.frombuffer(b"".join(tokens), dtype=np.uint8).copy()
    token_offsets = np.array([0, *accumulate(map(len, tokens))], dtype=np.int64)
    out = np.zeros(len(data), dtype=np.uint8)
    assert user_decode(np.array(ids, dtype=np.int64), token_bytes, token_offsets, out) == len(data)
    assert out.tobytes() == data
    wrong = np.array([*ids, len(tokens)], dtype=np.int64)
    assert user_decode(wrong, token_bytes, token_offsets, out) == ~len(ids)


def test_a_byte_that_has_no_id() -> None:
    byte_ids, pairs = slow_model([b"ab"], 1, 0).arrays()
    byte_ids[98] = -1
    text, ids = np.frombuffer(b"xaab", dtype=np.uint8), np.zeros(8, dtype=np.int32)
    lengths = np.zeros(1, dtype=np.int64)
    user_encode(text, np.array([1, 4]), byte_ids, pairs, make_scratch(4), ids, lengths)
    assert ~lengths[0] == 3


# --- the module -----------------------------------------------------------------------------------------


def test_each_is_documented_with_an_example_and_tested_here() -> None:
    names = [n for n in kernels.__all__ if n.islower() and not n.startswith("make_")]
    assert len(names) == 12
    source = inspect.getsource(inspect.getmodule(test_a_byte_that_has_no_id))  # type: ignore[arg-type]
    for name in names:
        doc = getattr(kernels, name).__doc__
        assert ">>> " in doc and ("Returns" in doc or "written" in doc), name
        assert re.search(rf"^def user_\w+\(.*(\n    .*)*\b{name}\(", source, re.MULTILINE), name
        assert re.search(rf"\b{name}\b", kernels.__doc__ or ""), name
