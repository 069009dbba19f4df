"""A crew of threads: order kept, errors where they belong, nobody left, whatever takes how long."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bpenb import Tokenizer
from bpenb.corpus import FilledRoom, TakeRoom, fill_from_documents
from bpenb.encoding.worker import Encoded, EncodeWorker
from bpenb.errors import EncodingError
from tests.soon import wait_until

TOKENIZER = Tokenizer({i: bytes([i]) for i in range(256) if i != 255} | {256: b"th"}, [(b"t", b"h")], ["<s>"])
DOCUMENTS = [f"the <s> {n} th".encode() * (n % 4) for n in range(150)]
BOTH_MODES = pytest.mark.parametrize("in_turns", [True, False])


def crew_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "bpenb-encode"]


def watched(call: Callable[[], Any], seconds: float = 120) -> Any:
    """Call in a thread; fail if it does not come back. Errors pass through."""
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(call())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "a deadlock"
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


def nobody_left() -> None:
    assert wait_until(lambda: not crew_threads())


def fill_of(items: Iterator[bytes] | list[bytes]) -> Callable[[TakeRoom], Iterator[FilledRoom]]:
    finder = TOKENIZER.encoder.splitter.finder
    return lambda take: fill_from_documents(([item] for item in items), finder, take)


def crew(items: Iterator[bytes] | list[bytes], n: int, *, in_turns: bool, buffer_bytes: int = 32) -> Any:
    encoder = TOKENIZER.encoder
    return encoder.crew(n, fill_of(items), encoder.splitter, buffer_bytes=buffer_bytes, in_turns=in_turns)


def ids_of(texts: Iterator[Any]) -> list[int]:
    return [i for text in texts for i in text.encoded.ids.tolist()]


EXPECTED = [i for document in DOCUMENTS for i in TOKENIZER.encode(document.decode())]


def slow_down(monkeypatch: pytest.MonkeyPatch, seed: int, most: float = 0.004) -> Callable[[], None]:
    """Every encoding sleeps for a while of chance; returns what readers and consumers sleep by."""
    chance, original = random.Random(seed), EncodeWorker.encode

    def sleep() -> None:
        time.sleep(most * chance.random() ** 4)

    def encode(self: EncodeWorker, *args: Any) -> Encoded:
        sleep()
        result = original(self, *args)
        sleep()
        return result

    monkeypatch.setattr(EncodeWorker, "encode", encode)
    return sleep


@BOTH_MODES
@pytest.mark.parametrize("workers", [1, 2, 3, 8, 24])
@pytest.mark.parametrize("slow", ["reader", "consumer", "neither"])
def test_order_is_kept(monkeypatch: pytest.MonkeyPatch, in_turns: bool, workers: int, slow: str) -> None:
    sleep = slow_down(monkeypatch, workers)

    def items() -> Iterator[bytes]:
        for document in DOCUMENTS:
            if slow == "reader":
                sleep()
            yield document

    def run() -> list[int]:
        found: list[int] = []
        for text in crew(items(), workers, in_turns=in_turns):
            if slow == "consumer":
                sleep()
            found += text.encoded.ids.tolist()
        return found

    assert watched(run) == EXPECTED
    assert not crew_threads()


@BOTH_MODES
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("n_good", [0, 1, 40])
def test_an_error_comes_where_its_text_would(
    monkeypatch: pytest.MonkeyPatch, in_turns: bool, workers: int, n_good: int
) -> None:
    """Of reading, of encoding (in whatever thread), and of an unknown kind: all before it is there first."""
    slow_down(monkeypatch, n_good)

    def reading() -> Iterator[bytes]:
        yield from DOCUMENTS[:n_good]
        raise RuntimeError("from the reader")

    wrong = [*DOCUMENTS[:n_good], b"\xff", *DOCUMENTS, b"\xff"]
    lacking = [*DOCUMENTS[:n_good], b"x" * 40, *DOCUMENTS]
    original = EncodeWorker.encode

    def encode(self: EncodeWorker, filled: FilledRoom, *args: Any) -> Encoded:
        if filled.room.text[: filled.n_bytes].tobytes().startswith(b"x" * 40):
            raise MemoryError("in a worker")
        return original(self, filled, *args)

    monkeypatch.setattr(EncodeWorker, "encode", encode)
    for items, error, match in ((reading(), RuntimeError, "from the reader"),
                                (wrong, EncodingError.__mro__[1], f"document {n_good}: byte 0 is not valid"),
                                (lacking, MemoryError, "in a worker")):  # fmt: skip
        found: list[int] = []

        def run(items: Any = items, found: list[int] = found) -> None:
            for text in crew(items, workers, in_turns=in_turns, buffer_bytes=1 << 6):
                found.extend(text.encoded.ids.tolist())

        with pytest.raises(error, match=match):
            watched(run)
        before = [i for document in DOCUMENTS[:n_good] for i in TOKENIZER.encode(document.decode())]
        assert found == before[: len(found)]
        assert len(before) - len(found) < 64
        nobody_left()


@BOTH_MODES
@pytest.mark.parametrize("workers", [1, 3, 8])
@pytest.mark.parametrize("n_taken", [0, 1, 20])
def test_closed_early(monkeypatch: pytest.MonkeyPatch, in_turns: bool, workers: int, n_taken: int) -> None:
    """By close, by an error of the consumer, or by Ctrl-C there: all threads end, and the input is closed."""
    slow_down(monkeypatch, 3)
    for error in (None, KeyError("mine"), KeyboardInterrupt()):
        closed: list[bool] = []

        def items(closed: list[bool] = closed) -> Iterator[bytes]:
            try:
                while True:
                    yield b"the th " * 3
            finally:
                closed.append(True)

        def run(error: BaseException | None = error, items: Any = items) -> None:
            texts = crew(items(), workers, in_turns=in_turns)
            try:
                for _ in range(n_taken):
                    next(texts)
                if error is not None:
                    raise error
            finally:
                texts.close()

        if error is None:
            watched(run)
        else:
            with pytest.raises(type(error)):
                watched(run)
        nobody_left()
        assert closed or not n_taken


def test_a_worker_that_is_left_behind_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread is still at work: two threads on one cache would mix their words."""
    original, is_stuck, go_on = EncodeWorker.encode, threading.Event(), threading.Event()
    stuck: list[EncodeWorker] = []

    def encode(self: EncodeWorker, filled: FilledRoom, *args: Any) -> Encoded:
        is_thread = threading.current_thread().name == "bpenb-encode"
        if is_thread and filled.place(0).unit > 0 and not is_stuck.is_set():
            stuck.append(self)
            is_stuck.set()
            go_on.wait(120)
        return original(self, filled, *args)

    monkeypatch.setattr(EncodeWorker, "encode", encode)
    made = Tokenizer(TOKENIZER.vocab, TOKENIZER.merges)
    encoder = made.encoder
    texts = encoder.crew(2, fill_of(iter(DOCUMENTS)), encoder.splitter, buffer_bytes=32, in_turns=True)
    for _ in range(100):  # until the thread has taken one
        if is_stuck.wait(0.05):
            break
        next(texts)
    assert is_stuck.is_set()
    texts.close()
    assert crew_threads()
    assert stuck[0] not in [desk.worker for desk in encoder._desks]
    go_on.set()
    nobody_left()


def test_many_callers_share_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_down(monkeypatch, 4, most=0.001)
    found: list[list[int]] = []

    def call(number: int) -> None:
        for _ in range(3):
            found.append(ids_of(crew(iter(DOCUMENTS), 1 + number % 3, in_turns=number % 2 == 0)))

    callers = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert found == [EXPECTED] * 18
    nobody_left()


def test_no_text_at_all() -> None:
    for in_turns in (True, False):
        for workers in (1, 4):
            assert watched(lambda w=workers, t=in_turns: ids_of(crew([], w, in_turns=t))) == []
    nobody_left()
