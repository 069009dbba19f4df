"""The crew: who reads in which thread, which of several errors is raised, what Ctrl-C leaves behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bpenb.corpus import FilledRoom, TakeRoom
from bpenb.counting import CountSettings, Workforce, count_documents, count_files
from bpenb.counting.crew import Crew
from bpenb.counting.in_threads import buffer_bytes_for
from bpenb.errors import InvalidUtf8Error
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import CompiledEngine

SETTINGS = CountSettings(resolve_pattern("gpt2"), ("<s>",))
FOUR = Workforce(4, task_bytes=1_000)


def bpenb_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("bpenb")]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_of_several_errors_the_first_of_the_text_is_raised(workers: int, tmp_path: Path) -> None:
    """Whichever thread meets which first; in files, read by all, and in documents, read by one."""
    path = tmp_path / "text.txt"
    documents = [b"low lower lowest " * 50 for _ in range(200)]
    for number in (60, 61, 62, 150):
        documents[number] = documents[number][:-3] + b"\xff  "
    path.write_bytes(b"<s>".join(documents))
    at = sum(len(document) + 3 for document in documents[:60]) + len(documents[60]) - 3
    for _ in range(5):
        workforce = Workforce(workers, task_bytes=2_000)
        with pytest.raises(InvalidUtf8Error, match=f"byte {at}"):
            count_files(path, SETTINGS, workforce)
        with pytest.raises(InvalidUtf8Error, match="document 60: "):
            count_documents(documents, SETTINGS, workforce)
    assert not bpenb_threads()


def test_an_error_of_the_text_comes_before_a_later_one_of_the_iterable() -> None:
    def documents() -> Iterator[bytes]:
        for number in range(40):
            yield b"low \xff" if number == 30 else b"low lower lowest " * 50
        raise ZeroDivisionError

    for _ in range(5):
        with pytest.raises(InvalidUtf8Error, match="document 30"):
            count_documents(documents(), SETTINGS, FOUR)


def test_an_iterable_is_read_in_the_thread_of_its_user() -> None:
    """A database cursor, or a context, may know its thread."""
    seen = set()

    def documents() -> Iterator[str]:
        for _ in range(50):
            seen.add(threading.get_ident())
            yield "low lower lowest " * 50

    count_documents(documents(), SETTINGS, FOUR)
    assert seen == {threading.get_ident()}


def test_all_threads_count() -> None:
    """Those that do not read take what was read; the reader counts when all buffers are full."""
    counting: dict[int, int] = {}
    together = threading.Barrier(3)

    class Engine(CompiledEngine):
        def mark(self, *arguments: object) -> bool:
            thread = threading.get_ident()
            if thread not in counting:
                together.wait(60)  # nobody gets on until all three are at it
            counting[thread] = counting.get(thread, 0) + 1
            return super().mark(*arguments)  # type: ignore[arg-type]

    def fill(take: TakeRoom) -> Iterator[FilledRoom]:
        for _ in range(60):
            filled = FilledRoom(take())
            filled.room.text[:4] = ord("a")
            filled.add(4, "text", 0)
            yield filled.close()

    for in_turns in (True, False):
        counting.clear()
        crew = Crew(Engine(resolve_pattern("gpt2")), "strict", 3, 100)
        crew.count(fill, in_turns, lambda: None)
        assert sum(counting.values()) == 60 and crew.n_bytes == 240
        assert len(counting) == 3
        word_bytes, _, word_counts = crew.finish()
        assert word_bytes.tobytes() == b"aaaa" and word_counts.tolist() == [60]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_that_hangs_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """It is read by the calling thread, so Ctrl-C gets through; here its writer just takes its time."""
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb") as pipe:
            for _ in range(5):
                pipe.write(b"low lower lowest " * 100)
                pipe.flush()
                time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    counted = count_files(path, SETTINGS, FOUR)
    writer.join()
    assert counted.counts.n_pretokens == 5 * 300 + 1 and counted.n_bytes == 8_500


@pytest.mark.parametrize("in_turns", [True, False])
def test_an_interrupt_ends_all_threads(in_turns: bool) -> None:
    def fill(take: TakeRoom) -> Iterator[FilledRoom]:
        while True:
            filled = FilledRoom(take())
            filled.room.text[:4] = ord("a")
            filled.add(4, "text", 0)
            yield filled.close()

    def interrupt() -> None:
        if crew.n_bytes > 400:
            raise KeyboardInterrupt

    crew = Crew(CompiledEngine(resolve_pattern("gpt2")), "strict", 3, 100)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        crew.count(fill, in_turns, interrupt)
    assert time.monotonic() - started < 30  # it would go on for ever
    assert not bpenb_threads()


def test_buffers_are_a_share_of_the_text() -> None:
    assert buffer_bytes_for(None, 4) == buffer_bytes_for(10**12, 4) == 1 << 21
    assert buffer_bytes_for(32_000_000, 2) == 1_000_000
    assert buffer_bytes_for(0, 2) == 1 << 17
