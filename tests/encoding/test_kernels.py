"""The kernels of encoding against plain Python, compiled, without JIT, and with bounds checks."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bpenb._jit import kernel
from bpenb.encoding.decode_ids import gather_token_bytes, measure_tokens
from bpenb.encoding.encode_pretokens import encode_pretokens, make_scratch
from bpenb.encoding.pair_table import MAX_TOKENS, NO_MERGE, find_pair, make_pair_table
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.slow import SlowModel, train
from tests.oracles.encoder import encode_pretoken

pytestmark = pytest.mark.kernels

words_of = st.lists(st.text("ab c", min_size=1, max_size=12).map(str.encode), max_size=8)
ALL_SHORT, ALL_LONG = 1 << 10, 0


def run(
    model: SlowModel, words: list[bytes], short_word: int, specials: dict[int, int] | None = None
) -> list[int]:
    """Encode words as consecutive pretokens; a status comes back as a list of one negative number."""
    byte_ids, pairs = model.arrays()
    text = np.frombuffer(b"".join(words), dtype=np.uint8)
    ends = np.cumsum([len(w) for w in words], dtype=np.int64)
    special_ids = np.array([(specials or {}).get(w, -1) for w in range(len(words))], dtype=np.int32)
    scratch = make_scratch(max(map(len, words), default=0), short_word)
    out = np.full(text.shape[0], -7, dtype=np.int32)
    n = int(encode_pretokens(text, ends, special_ids, byte_ids, pairs, scratch, out))
    return out[:n].tolist() if n >= 0 else [n]


def expected(model: SlowModel, words: list[bytes]) -> list[int]:
    ids = model.ids()
    ranks = {pair: rank for rank, pair in enumerate(model.merges)}
    return [ids[token] for word in words for token in encode_pretoken(word, ranks)]


@settings(max_examples=60, deadline=None)
@given(words_of, words_of, st.integers(0, 40), st.integers(0, 2**32))
def test_both_ways_equal_the_definition(
    seen: list[bytes], words: list[bytes], n_merges: int, seed: int
) -> None:
    model = train(seen, n_merges, seed)
    assert run(model, words + seen, ALL_SHORT) == expected(model, words + seen)
    assert run(model, words + seen, ALL_LONG) == expected(model, words + seen)


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_are_equal_on_long_words(seed: int) -> None:
    chance = random.Random(seed)
    alphabet = b"ab" if seed % 2 else bytes(range(97, 107))
    words = [bytes(chance.choices(alphabet, k=n)) for n in (1, 2, 3, 63, 64, 65, 257)]
    model = train(words[4:], 60, seed)
    short = run(model, words, ALL_SHORT)
    assert short == run(model, words, ALL_LONG) == run(model, words, 64) == expected(model, words)


@pytest.mark.parametrize("short_word", [ALL_SHORT, ALL_LONG])
def test_left_to_right_without_overlap(short_word: int) -> None:
    tokens = [bytes([b]) for b in range(256)] + [b"aa", b"aaaa", b"aaa"]
    merges = [(b"a", b"a"), (b"aa", b"aa"), (b"aa", b"a")]
    model = SlowModel(dict(enumerate(tokens)), merges)
    for n, want in (
        (1, [97]),
        (2, [256]),
        (3, [258]),
        (4, [257]),
        (5, [257, 97]),
        (6, [257, 256]),
        (7, [257, 258]),
    ):
        assert run(model, [b"a" * n], short_word) == want


@pytest.mark.parametrize("short_word", [ALL_SHORT, ALL_LONG])
def test_rank_decides_not_length_nor_id(short_word: int) -> None:
    tokens = [bytes([b]) for b in range(256)] + [b"abc", b"bc", b"ab"]
    model = SlowModel(dict(enumerate(tokens)), [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")])
    assert run(model, [b"abc"], short_word) == [97, 257]


@pytest.mark.parametrize("short_word", [ALL_SHORT, ALL_LONG])
def test_special_tokens_are_taken_as_they_are(short_word: int) -> None:
    model = SlowModel(dict(enumerate([bytes([b]) for b in range(256)] + [b"ab"])), [(b"a", b"b")])
    assert run(model, [b"ab", b"ab", b"<s>", b"<s>", b"ab"], short_word, {1: 9, 2: 300, 3: 300}) == [
        256, 9, 300, 300, 256,
    ]  # fmt: skip


@pytest.mark.parametrize("short_word", [ALL_SHORT, ALL_LONG])
def test_a_missing_byte_is_a_status_with_its_place(short_word: int) -> None:
    model = SlowModel({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])
    assert run(model, [b"ab", b"abz"], short_word) == [~4]
    assert run(model, [b"ab", b"zz", b"z"], short_word, {1: 0, 2: 0}) == [2, 0, 0]


def test_no_pretokens_no_ids() -> None:
    assert run(train([], 0, 0), [], ALL_SHORT) == []


@kernel
def find_pairs(slots, pairs, values):
    """Look every pair up. pairs: int32[n, 2]; values: int64[n], written."""
    for i in range(pairs.shape[0]):
        values[i] = find_pair(slots, pairs[i, 0], pairs[i, 1])


@pytest.mark.parametrize("n_merges", [0, 1, 2, 3, 255, 256, 257])
def test_the_table_finds_every_pair_and_no_other(n_merges: int) -> None:
    chance = random.Random(n_merges)
    ids = [
        0,
        1,
        255,
        256,
        65535,
        65536,
        MAX_TOKENS - 2,
        MAX_TOKENS - 1,
        *chance.sample(range(MAX_TOKENS), 40),
    ]
    pairs = chance.sample([(a, b) for a in ids for b in ids], n_merges + 200)
    merges = np.array(pairs[:n_merges], dtype=np.int32).reshape(-1, 2)
    merge_ids = np.array([chance.randrange(MAX_TOKENS) for _ in range(n_merges)], dtype=np.int32)
    slots = make_pair_table(merges, merge_ids).slots
    assert slots.shape[0] >= max(2, 2 * n_merges)
    values = np.zeros(len(pairs), dtype=np.int64)
    find_pairs(slots, np.array(pairs, dtype=np.int32), values)
    assert values[:n_merges].tolist() == [rank << 32 | int(merge_ids[rank]) for rank in range(n_merges)]
    assert values[n_merges:].tolist() == [NO_MERGE] * 200


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=9), st.data())
def test_gather_joins_the_bytes(tokens: list[bytes], data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, len(tokens) - 1)))
    joined = b"".join(tokens[i] for i in ids)
    out = np.zeros(len(joined), dtype=np.uint8)
    token_bytes = np.array(list(b"".join(tokens)), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    gather_token_bytes(np.array(ids, dtype=np.int64), token_bytes, offsets, out)
    assert out.tobytes() == joined
    assert measure_tokens(np.array(ids, dtype=np.int64), offsets) == len(joined)


@pytest.mark.parametrize("wrong", [-1, 3, 4, 2**31, -(2**63), 2**63 - 1])
def test_measuring_finds_the_first_id_without_a_token(wrong: int) -> None:
    offsets = np.array([0, 1, 3, 7, 7, 8])[:5]  # four ids; the last is a hole
    assert measure_tokens(np.array([0, 2, wrong, 1, -5]), offsets) == ~2
