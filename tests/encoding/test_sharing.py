"""One tokenizer for many: threads at once, other processes, and after calls that failed half-way."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from bpenb.encoding import Tokenizer, decode_blocks
from bpenb.errors import EncodingError, UnknownTokenError
from tests.encoding.slow import SlowModel, decode, train
from tests.oracles.encoder import encode

EOT, PAD = "<|endoftext|>", "<pad>"
MODEL = train([b"lower", b"lowest", b"newest", "é中".encode()] * 2, 25, 3)
N_THREADS = 8


def make() -> Tokenizer:
    """One that has compiled nothing and made no table yet."""
    return Tokenizer.from_model(Tokenizer(MODEL.vocab, MODEL.merges, [EOT, PAD], "gpt2").model, warm=False)


def text_of(n: int) -> str:
    return f"lower{n} é中 newest{EOT}lowest 😀{PAD} " * (n + 1) + "low" * 40


def expected(tokenizer: Tokenizer, text: str, specials: list[str]) -> list[int]:
    from bpenb.patterns import PATTERNS

    return encode(text, tokenizer.vocab, MODEL.merges, specials, PATTERNS["gpt2"])


def do_everything(tokenizer: Tokenizer, n: int) -> None:
    """Every way to encode and decode; raises AssertionError where one is wrong."""
    text = text_of(n)
    ids = expected(tokenizer, text, [EOT, PAD])
    some = expected(tokenizer, text, [PAD])
    for dtype in (np.uint16, np.int32, np.uint32, np.int64)[n % 4 :]:
        assert tokenizer.decode_bytes(np.array(ids, dtype=dtype)) == text.encode()
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode(text, allowed_special={PAD}, disallowed_special=()) == some
    assert tokenizer.encode_ordinary(text) == expected(tokenizer, text, [])
    assert list(tokenizer.encode_iterable(text.splitlines(keepends=True))) == ids
    assert tokenizer.encode_batch([text, "low"]) == [ids, tokenizer.encode("low")]
    encoding = tokenizer.encode_with_offsets(text)
    assert [text.encode()[a:b] for a, b in encoding.byte_spans] == [tokenizer.token_bytes(i) for i in ids]
    assert decode(ids, tokenizer.vocab) == text.encode()
    assert tokenizer.decode(ids) == text
    assert b"".join(map(bytes, decode_blocks(tokenizer, [ids, ids]))) == text.encode() * 2
    decoder = tokenizer.stream_decoder()
    assert "".join([*(decoder.push([i]) for i in ids), decoder.finish()]) == text
    with pytest.raises(UnknownTokenError, match=f"position {len(ids)}"):
        tokenizer.decode([*ids, 10**6])
    with pytest.raises(EncodingError, match="disallowed"):
        tokenizer.encode(text, allowed_special={PAD})


def test_eight_threads_at_once() -> None:
    tokenizer = make()
    together = threading.Barrier(N_THREADS)

    def work(n: int) -> int:
        together.wait()  # so that they also meet in the first use
        for _ in range(3):
            do_everything(tokenizer, n)
        return n

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert list(pool.map(work, range(N_THREADS))) == list(range(N_THREADS))


def test_threads_decode_large_arrays_at_once() -> None:
    tokenizer = make()
    vocab = tokenizer.vocab
    ids = np.random.default_rng(0).choice(sorted(vocab), 200_000)
    whole = b"".join(vocab[i] for i in ids.tolist())
    arrays = [ids.astype(dtype) for dtype in (np.uint16, np.int32, np.uint32, np.int64)] * 2
    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(decoded == whole for decoded in pool.map(tokenizer.decode_bytes, arrays))


def in_child(pickled: bytes, n: int) -> int:
    do_everything(pickle.loads(pickled), n)
    return os.getpid()


def test_pickled_into_a_spawned_process() -> None:
    tokenizer = make()
    do_everything(tokenizer, 2)  # with tables made, splitters kept
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        child = pool.submit(in_child, pickle.dumps(tokenizer), 3)
        assert child.result(timeout=240) != os.getpid()


def _interrupted(items: list[Any]) -> Iterator[Any]:
    yield from items
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        (lambda t: t.encode("low\ud800"), EncodingError),
        (lambda t: t.encode(f"low{EOT}", allowed_special=()), EncodingError),
        (lambda t: t.encode_batch(["low", "lower", 5]), TypeError),
        (lambda t: list(t.encode_iterable(_interrupted(["lower "] * 9000))), KeyboardInterrupt),
        (lambda t: t.decode([*t.encode("lower"), -1]), UnknownTokenError),
        (lambda t: t.decode(_interrupted([1, 2])), KeyboardInterrupt),
        (lambda t: list(decode_blocks(t, _interrupted([t.encode("lower")]))), KeyboardInterrupt),
    ],
)
def test_a_call_that_fails_leaves_nothing_behind(
    failing: Callable[[Tokenizer], Any], error: type[BaseException]
) -> None:
    tokenizer = make()
    for _ in range(2):
        with pytest.raises(error):
            failing(tokenizer)
        do_everything(tokenizer, 1)


def test_a_missing_byte_leaves_nothing_behind() -> None:
    model = SlowModel({0: b"a", 1: b"b", 2: b"ab", 3: b" "}, [(b"a", b"b")])
    tokenizer = Tokenizer(model.vocab, model.merges)
    for _ in range(3):
        with pytest.raises(EncodingError, match="offset 5"):
            tokenizer.encode("ab abz ab")
        assert tokenizer.encode("ab ab") == [2, 3, 2]


def test_streams_given_up_half_way() -> None:
    tokenizer = make()
    ids = tokenizer.encode_iterable(text_of(n) for n in range(50))
    views = decode_blocks(tokenizer, ([i] for i in tokenizer.encode("lower newest")))
    decoder = tokenizer.stream_decoder()
    decoder.push(tokenizer.encode("é")[:1])
    next(ids), next(views)
    do_everything(tokenizer, 1)  # between two steps of the others
    assert [next(ids), *ids][:5] == expected(tokenizer, text_of(0), [EOT, PAD])[1:6]
    views.close()
    with pytest.raises(StopIteration):
        next(views)
    do_everything(tokenizer, 1)
