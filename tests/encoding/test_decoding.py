"""Decoding: every kind of ids, every length of token, streams, and what has no token."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from bpenb.encoding import Tokenizer, decode_blocks
from bpenb.encoding.decoder import PIECE, Decoder
from bpenb.encoding.id_arrays import AS_THEY_ARE, BLOCK
from bpenb.encoding.token_rows import ROOM_BEHIND, ROW_BYTES, decode_some, make_token_rows, measure_rows
from bpenb.errors import UnknownTokenError
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding import slow

# Lengths at which a row or a machine word is full, and a hole.
tokens_of = st.lists(
    st.one_of(st.binary(max_size=6), st.sampled_from([0, 7, 8, 9, 14, 15, 16, 17, 31, 300]).map(bytes)),
    min_size=1,
    max_size=9,
)


def csr(tokens: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.array([0, *accumulate(map(len, tokens))], dtype=np.int64)
    return np.frombuffer(b"".join(tokens), dtype=np.uint8), offsets


def vocab_of(tokens: list[bytes]) -> dict[int, bytes]:
    return {i: token for i, token in enumerate(tokens) if token}


# --- kernels --------------------------------------------------------------------------------------


@pytest.mark.kernels
@settings(max_examples=60, deadline=None)
@given(tokens_of, st.data(), st.sampled_from(AS_THEY_ARE), st.integers(0, 40))
def test_pieces_joined_are_the_definition(
    tokens: list[bytes], data: st.DataObject, dtype: Any, spare: int
) -> None:
    known = [i for i, token in enumerate(tokens) if token] or [0]
    numbers = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=20)) * data.draw(
        st.integers(1, 9)
    )
    if data.draw(st.booleans()):
        holes = [i for i, token in enumerate(tokens) if not token]
        wrong = [*holes, len(tokens), 65535] + ([-1, -(2**31)] if dtype.kind == "i" else [])
        numbers.insert(data.draw(st.integers(0, len(numbers))), data.draw(st.sampled_from(wrong)))
    ids = np.array(numbers, dtype=dtype)
    ids.flags.writeable = False
    rows = make_token_rows(*csr(tokens))
    n_out = max(map(len, tokens)) + spare + ROOM_BEHIND
    around = np.full(n_out + 2 * ROW_BYTES, 7, dtype=np.uint8)
    out = around[ROW_BYTES : ROW_BYTES + n_out]
    n_written, joined, done = np.zeros(1, dtype=np.int64), b"", 0
    while 0 <= done < len(ids):
        before, done = done, int(decode_some(ids, done, rows, out, n_written))
        assert done < 0 or done > before
        joined += out[: n_written[0]].tobytes()
    assert set(around[:ROW_BYTES].tolist() + around[ROW_BYTES + n_out :].tolist()) == {7}
    expected = slow.decode(numbers, vocab_of(tokens))
    assert measure_rows(ids, rows) == sum(len(tokens[i]) for i in numbers if 0 <= i < len(tokens))
    if isinstance(expected, int):
        assert done == ~expected
        assert joined == slow.decode(numbers[:expected], vocab_of(tokens))
    else:
        assert joined == expected


@pytest.mark.kernels
@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17])
@pytest.mark.parametrize("spare", range(4))
def test_nothing_is_written_outside(length: int, spare: int) -> None:
    rows = make_token_rows(*csr([b"x" * length]))
    ids = np.zeros(99, dtype=np.int64)
    ids.flags.writeable = False
    n_out = 3 * length + spare + ROOM_BEHIND
    around = np.full(n_out + 2 * ROW_BYTES, 7, dtype=np.uint8)
    n_written = np.zeros(1, dtype=np.int64)
    n = int(decode_some(ids, 0, rows, around[ROW_BYTES : ROW_BYTES + n_out], n_written))
    assert n == 3 + spare // length
    assert int(n_written[0]) == n * length
    assert around[ROW_BYTES:][: n * length].tobytes() == b"x" * (n * length)
    assert set(around[:ROW_BYTES].tolist() + around[ROW_BYTES + n_out :].tolist()) == {7}


@pytest.mark.kernels
@pytest.mark.parametrize("wrong", [-1, 3, 4, 2**31, -(2**63), 2**63 - 1, 2**60])
def test_the_first_id_without_a_token(wrong: int) -> None:
    rows = make_token_rows(*csr([b"a", b"bc", b"x" * 20, b""]))
    ids = np.array([0, 2, wrong, 1, -5])
    ids.flags.writeable = False
    n_written = np.zeros(1, dtype=np.int64)
    assert decode_some(ids, 0, rows, np.zeros(99, dtype=np.uint8), n_written) == ~2


# --- any kind of ids ------------------------------------------------------------------------------

TOKENS = [b"a", b"bcd", b"", "é中".encode(), b"\xf0\x9f", b"x" * 15, b"y" * 16, b"z" * 4000]
KNOWN = [i for i, token in enumerate(TOKENS) if token]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(vocab_of(TOKENS), [])


def _unaligned(ids: list[int]) -> np.ndarray:
    room = np.zeros(4 * len(ids) + 1, dtype=np.uint8)
    array = room[1:].view(np.int32)
    array[:] = ids
    assert not array.flags.aligned or not ids
    return array


FORMS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "NumPy integers": lambda ids: [np.uint16(i) for i in ids],
    **{dtype: lambda ids, d=dtype: np.array(ids, dtype=d) for dtype in
       ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">u2", ">i4", ">i8", ">u8", "longlong", "ulonglong")},
    "every second": lambda ids: np.repeat(np.array(ids, dtype=np.uint16), 2)[::2],
    "backwards": lambda ids: np.array(ids[::-1], dtype=np.uint64)[::-1],
    "a column": lambda ids: np.array([ids, ids], dtype=np.int32).T[:, 1],
    "unaligned": _unaligned,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(KNOWN), max_size=12), st.integers(1, 300))
def test_every_form(tokenizer: Tokenizer, form: str, some: list[int], times: int) -> None:
    ids = some * times  # up to several pieces
    made = FORMS[form](ids)
    is_array = isinstance(made, np.ndarray)
    before = made.copy() if is_array else None
    assert tokenizer.decode_bytes(made) == slow.decode(ids, vocab_of(TOKENS))
    if is_array:
        assert made.flags.writeable
        assert np.array_equal(made, before)
    assert tokenizer.decode(FORMS[form](ids)) == b"".join(TOKENS[i] for i in ids).decode(errors="replace")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("position", [0, 1, BLOCK, 3 * BLOCK + 5])
def test_an_unknown_id_is_named_with_its_position(tokenizer: Tokenizer, form: str, position: int) -> None:
    ids = [1] * (3 * BLOCK + 9)
    ids[position] = 2
    ids[position + 1 :] = [100] * len(ids[position + 1 :])
    message = rf"no token has the id 2: the vocab has a hole there; it is at position {position}$"
    with pytest.raises(UnknownTokenError, match=message):
        tokenizer.decode(FORMS[form](ids))


@pytest.mark.parametrize(
    ("ids", "named", "position"),
    [
        ([1, 2**63, 2], 2**63, 1),
        ([1, 2, 2**63], 2, 1),
        ([0, 2**70], 2**70, 1),
        ([0, -(2**70), -1], -(2**70), 1),
        ([0, np.uint64(2**64 - 1)], 2**64 - 1, 1),
        (np.array([0, 1, 2**64 - 1], np.uint64), 2**64 - 1, 2),
        (np.array([0, 1, 2**63], ">u8"), 2**63, 2),
        (np.array([0, -1], np.int8), -1, 1),
        (np.array([0, 65535, 70000], np.uint32), 65535, 1),
        (np.array([2**32, 0], np.int64), 2**32, 0),
    ],
)
def test_ids_beyond_every_vocab(tokenizer: Tokenizer, ids: Any, named: int, position: int) -> None:
    with pytest.raises(UnknownTokenError, match=f"the id {named}: .* at position {position}$"):
        tokenizer.decode_bytes(ids)


def test_a_wrong_type_is_told_before_an_unknown_id(tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError, match="not bool"):
        tokenizer.decode([99, True])


def test_the_kernel_has_a_signature_for_each_dtype_of_files_and_no_other(tokenizer: Tokenizer) -> None:
    for form in FORMS.values():
        for n in (1, 3 * PIECE // 4000):
            tokenizer.decode_bytes(form([7] * n))
    for kernel in (decode_some, measure_rows):
        assert len(getattr(kernel, "signatures", [])) <= len(AS_THEY_ARE), kernel


def test_a_token_longer_than_a_piece() -> None:
    long = b"ab" * PIECE
    tokenizer = Tokenizer({0: b"a", 1: long}, [])
    assert tokenizer.decode_bytes([0, 1, 1, 0]) == b"a" + long + long + b"a"
    assert b"".join(map(bytes, decode_blocks(tokenizer, [[0, 1], [1, 0]]))) == b"a" + long * 2 + b"a"


def test_a_vocab_without_tokens() -> None:
    decoder = Decoder(np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
    assert decoder.decode([]) == b""
    with pytest.raises(UnknownTokenError):
        decoder.decode([0])


# --- streams --------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(KNOWN), max_size=40), st.lists(st.integers(0, 40)), st.integers(1, 40))
def test_blocks_joined_are_the_whole(
    tokenizer: Tokenizer, some: list[int], cuts: list[int], times: int
) -> None:
    ids = some * times
    bounds = sorted([0, *(min(cut, len(ids)) for cut in cuts), len(ids)])
    blocks = [ids[a:b] for a, b in pairwise(bounds)]
    mixed = (np.array(block, dtype=np.uint16) if n % 2 else block for n, block in enumerate(blocks))
    assert b"".join(map(bytes, decode_blocks(tokenizer, mixed))) == tokenizer.decode_bytes(ids)


def test_blocks_are_asked_for_one_by_one(tokenizer: Tokenizer) -> None:
    asked = []

    def blocks() -> Iterator[list[int]]:
        for n in range(3):
            asked.append(n)
            yield [n % 2]

    views = decode_blocks(tokenizer, blocks())
    assert asked == []
    assert (bytes(next(views)), asked) == (b"a", [0])
    assert (bytes(next(views)), asked) == (b"bcd", [0, 1])


def test_a_stream_takes_one_buffer(tokenizer: Tokenizer) -> None:
    ids = np.full(50_000, 6, dtype=np.uint16)  # 800 KB
    for _ in decode_blocks(tokenizer, [ids]):
        pass  # compiled, and the rows made
    tracemalloc.start()
    n_bytes = sum(len(view) for view in decode_blocks(tokenizer, (ids for _ in range(40))))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_bytes == 40 * 50_000 * 16
    assert peak < 3 * PIECE


def test_the_position_of_an_unknown_id_in_a_stream(tokenizer: Tokenizer) -> None:
    views = decode_blocks(tokenizer, [[0, 1], np.array([1, 1, 9])])
    assert bytes(next(views)) == b"abcd"
    with pytest.raises(UnknownTokenError, match=r"the id 9: ids go from 0 to 7; it is at position 4$"):
        next(views)


@pytest.mark.parametrize("block", [5, "ab", [True], np.array([[1]])])
def test_blocks_of_a_wrong_kind(tokenizer: Tokenizer, block: Any) -> None:
    with pytest.raises(TypeError):
        list(decode_blocks(tokenizer, [block]))
