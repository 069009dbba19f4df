"""The kernels of encoding against plain Python, compiled, without JIT, and with bounds checks."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bpenb._jit import JIT_DISABLED, kernel
from bpenb.encoding.decode_ids import gather_token_bytes, measure_tokens
from bpenb.encoding.encode_words import (
    DONE,
    DROPPED,
    NEED_CACHE,
    NEED_SCRATCH,
    NO_BYTE,
    OUT,
    OUT_BEHIND,
    PLAIN,
    QUEUE_ROWS,
    WHY,
    EncodeWork,
    encode_words,
)
from bpenb.encoding.merge_scratch import make_scratch
from bpenb.encoding.pair_table import MAX_TOKENS, NO_MERGE, PairTable, find_pair, make_pair_table
from bpenb.encoding.whole_words import make_whole_words
from bpenb.encoding.word_cache import grow_word_cache, make_word_cache
from bpenb.pretokenize.planes import PADDING
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.slow import SlowModel, train
from tests.oracles.encoder import encode_pretoken

pytestmark = pytest.mark.kernels

words_of = st.lists(st.text("ab c", min_size=1, max_size=12).map(str.encode), max_size=8)
ALL_SHORT, ALL_LONG = 1 << 10, 0


@kernel
def find_pairs(slots, pairs, values):
    """Look every pair up. pairs: int32[n, 2]; values: int64[n], written."""
    for i in range(pairs.shape[0]):
        values[i] = find_pair(slots, pairs[i, 0], pairs[i, 1])


def byte_pairs_of(byte_ids: np.ndarray, pairs: PairTable) -> np.ndarray:
    """What `find_pair` says of each two bytes."""
    two = np.stack(np.divmod(np.arange(1 << 16), 256), axis=1)
    values = np.full(1 << 16, NO_MERGE, dtype=np.int64)
    known = (byte_ids[two] >= 0).all(axis=1)
    found = np.zeros(int(known.sum()), dtype=np.int64)
    find_pairs(pairs.slots, np.ascontiguousarray(byte_ids[two][known], dtype=np.int32), found)
    values[known] = found
    return values


def run(
    model: SlowModel,
    words: list[bytes],
    short_word: int,
    specials: dict[int, int] | None = None,
    *,
    n_rows: int = 8,
    max_rows: int = 64,
    width: int = 2,
    whole_words: dict[int, bytes] | None = None,
) -> list[int]:
    """Encode words as consecutive pretokens; a missing byte comes back as one negative number."""
    byte_ids, pairs = model.arrays()
    joined = b"".join(words)
    text = np.frombuffer(joined + bytes(PADDING), dtype=np.uint8).copy()
    ends = np.cumsum([0, *(len(w) for w in words)], dtype=np.int64)
    is_start = np.zeros(len(joined) // 64 * 64 + 128, dtype=np.bool_)
    is_start[ends[:-1]] = True
    starts = np.packbits(is_start, bitorder="little").view(np.uint64)
    pieces = np.full((len(words), 4), PLAIN, dtype=np.int64)
    pieces[:, 0], pieces[:, 1] = ends[:-1], ends[1:]
    for number, special_id in (specials or {}).items():
        pieces[number, 2] = special_id
    work = EncodeWork(
        byte_ids,
        byte_pairs_of(byte_ids, pairs),
        pairs,
        make_whole_words(whole_words or {}),
        make_word_cache(n_rows, 1 << 11),
        make_scratch(1, short_word),
        np.zeros((QUEUE_ROWS, 4), dtype=np.uint64),
        np.array([0, 0, 0, 0, max_rows], dtype=np.int64),
        np.full((len(joined) << width) + OUT_BEHIND, 0xEE, dtype=np.uint8),
    )
    with np.errstate(over="ignore"):
        while (status := int(encode_words(work, text, starts, pieces, width))) != DONE:
            if status == NO_BYTE:
                return [~int(work.position[WHY])]
            if status == NEED_CACHE:
                work = work._replace(cache=grow_word_cache(work.cache, max_rows, 1 << 12))
            else:
                assert status == NEED_SCRATCH
                work = work._replace(scratch=make_scratch(int(work.position[WHY]), short_word))
    n_bytes = int(work.position[OUT])
    assert pieces[:, 3].tolist() == sorted(pieces[:, 3].tolist())
    assert n_bytes == (pieces[-1, 3] if words else 0)
    return work.out[:n_bytes].view(np.uint16 if width == 1 else np.uint32).tolist()


def expected(model: SlowModel, words: list[bytes]) -> list[int]:
    ids = model.ids()
    ranks = {pair: rank for rank, pair in enumerate(model.merges)}
    return [ids[token] for word in words for token in encode_pretoken(word, ranks)]


@settings(max_examples=12 if JIT_DISABLED else 60, deadline=None)
@given(words_of, words_of, st.integers(0, 40), st.integers(0, 2**32))
def test_both_ways_equal_the_definition(
    seen: list[bytes], words: list[bytes], n_merges: int, seed: int
) -> None:
    model = train(seen, n_merges, seed)
    assert run(model, words + seen, ALL_SHORT) == expected(model, words + seen)
    assert run(model, words + seen, ALL_LONG) == expected(model, words + seen)


@settings(max_examples=12 if JIT_DISABLED else 40, deadline=None)
@given(st.data())
def test_whatever_the_cache_holds_and_forgets(data: st.DataObject) -> None:
    """Few distinct words, long and short, again and again: sets overflow, arenas fill, the cache grows."""
    some = st.text("ab ", min_size=1, max_size=40).map(str.encode) | st.integers(120, 140).map(b"ab".__mul__)
    distinct = data.draw(st.lists(some, min_size=1, max_size=30))
    words = [distinct[i % len(distinct)] for i in data.draw(st.lists(st.integers(0, 1000), max_size=150))]
    model = train(distinct, data.draw(st.integers(0, 40)), 1)
    sizes = data.draw(st.sampled_from([(4, 4), (8, 8), (8, 64), (1024, 1024)]))
    width = data.draw(st.sampled_from([1, 2]))
    got = run(model, words, 32, n_rows=sizes[0], max_rows=sizes[1], width=width)
    ids_of = {word: expected(model, [word]) for word in distinct}
    assert got == [token_id for word in words for token_id in ids_of[word]]


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_are_equal_on_long_words(seed: int) -> None:
    chance = random.Random(seed)
    alphabet = b"ab" if seed % 2 else bytes(range(97, 107))
    words = [bytes(chance.choices(alphabet, k=n)) for n in (1, 2, 3, 63, 64, 65, 257)]
    model = train(words[4:], 60, seed)
    short = run(model, words, ALL_SHORT)
    assert short == run(model, words, ALL_LONG) == run(model, words, 64) == expected(model, words)


@settings(max_examples=12 if JIT_DISABLED else 40, deadline=None)
@given(words_of, words_of, st.sets(st.integers(0, 20)), st.sampled_from([1, 2]))
def test_words_that_are_taken_whole(
    seen: list[bytes], words: list[bytes], chosen: set[int], width: int
) -> None:
    """As the definition of `ignore_merges` has it: what is a whole token is not merged."""
    model = train(seen, 10, 3)
    distinct = sorted({*words, *seen, b"ab" * 9, b"ab" * 10})
    whole = {40_000 + k: word for k, word in enumerate(distinct) if k in chosen}
    ids = {word: token_id for token_id, word in whole.items()}
    some = [*words, *distinct, b"ab", b"ab" * 11]
    wanted = [[ids[word]] if word in ids else expected(model, [word]) for word in some]
    assert run(model, some, 32, width=width, whole_words=whole) == [i for row in wanted for i in row]


@pytest.mark.parametrize("n", [511, 512, 513, 525, 1100])
def test_words_longer_than_what_queues_at_once(n: int) -> None:
    model = SlowModel(dict(enumerate([bytes([b]) for b in range(256)] + [b"aa"])), [(b"a", b"a")])
    words = [b"a", b"b" * n, b"ab", b"a" * n, b"b" * n, b"a"]
    assert run(model, words, 32) == expected(model, words)


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


def test_a_dropped_special_token_has_no_ids() -> None:
    model = SlowModel({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])
    assert run(model, [b"ab", b"|||", b"a", b"|"], ALL_SHORT, {1: DROPPED, 3: DROPPED}) == [2, 0]


def test_no_pretokens_no_ids() -> None:
    assert run(train([], 0, 0), [], ALL_SHORT) == []


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
