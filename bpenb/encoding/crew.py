"""A crew of threads that encode buffers of text; their ids come out in the order of the text.

    buffer → [a free thread: pieces → starts → ids] → … → the calling thread takes them in order

The calling thread is one of the crew: while the next ids are not ready, it encodes as well. A few
buffers, and a few more for ids, go round, so memory does not grow with the text. Whoever reads takes
the room for its ids first; so the earliest text in hand always has some, and nobody waits in a circle.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray
from bpenb.corpus import FilledRoom, TakeRoom
from bpenb.encoding.splitter import Splitter
from bpenb.encoding.worker import Encoded, EncodeWorker
from bpenb.pretokenize import ScanBuffer

__all__ = ["EncodeCrew", "EncodedText"]

_PATIENCE = 0.5  # seconds that Ctrl-C waits for threads that are stuck in a read


class EncodedText(NamedTuple):
    """A buffer's text and its ids, valid until the next one is asked for.

    Attributes:
        filled: where the text is from; its buffer holds another text already.
        encoded: the ids.
    """

    filled: FilledRoom
    encoded: Encoded


class _Taken(NamedTuple):
    number: int
    filled: FilledRoom
    out: ByteArray


class _StoppedError(Exception):
    """Nobody wants more text."""


class EncodeCrew:
    """Encodes buffers in threads; the ids do not depend on how many, nor on the buffers.

    Args:
        workers: one for each thread; the first one is the calling thread's.
        splitter: knows the special tokens.
        row_splitter: of rows and other whole documents; mostly the same.
        errors: `strict` or `replace`.
        buffer_bytes: text per buffer.
        in_turns: whether any thread may read; else the calling one does, for what may block or knows
            its thread, and hands the text to the others.

    Attributes:
        left_behind: workers of threads that had not ended when `encode` did; nobody else may use them.
    """

    def __init__(
        self,
        workers: list[EncodeWorker],
        splitter: Splitter,
        row_splitter: Splitter,
        errors: str,
        buffer_bytes: int,
        *,
        in_turns: bool,
    ) -> None:
        self._workers = workers
        self._splitter, self._row_splitter, self._errors = splitter, row_splitter, errors
        self._in_turns = in_turns
        self._handed: queue.SimpleQueue[_Taken | None] = queue.SimpleQueue()
        self._rooms = [ScanBuffer(buffer_bytes) for _ in range(len(workers) + 1)]
        self._outs = [np.empty(0, dtype=np.uint8) for _ in range(2 * len(workers) + 1)]
        self._reading = threading.Lock()
        self._changed = threading.Condition()
        self._results: dict[int, EncodedText | Exception] = {}  # by number of the text
        self._out_of: dict[int, ByteArray] = {}
        self._n_read = 0
        self._read_all = self._stopped = False
        self.left_behind: list[EncodeWorker] = []

    def encode(self, fill: Callable[[TakeRoom], Iterator[FilledRoom]]) -> Iterator[EncodedText]:
        """Yield the ids of everything that `fill` puts into buffers, in order.

        Args:
            fill: takes a function that returns a free buffer, and yields filled ones.

        Raises:
            Exception: of reading or encoding, where its text's ids would come.
        """
        texts = fill(self._take_room)
        threads = [
            threading.Thread(target=self._work, args=(w, texts), name="bpenb-encode", daemon=True)
            for w in self._workers[1:]
        ]
        for thread in threads:
            thread.start()
        number = 0
        try:
            while (result := self._wait_for(number, texts)) is not None:
                if isinstance(result, Exception):
                    raise result
                yield result
                with self._changed:
                    self._outs.append(self._out_of.pop(number))
                    self._changed.notify_all()
                number += 1
        finally:
            with self._changed:
                self._stopped = True
                self._changed.notify_all()
            for _ in threads:
                self._handed.put(None)
            given_up = time.monotonic() + _PATIENCE
            for thread in threads:
                thread.join(max(0.0, given_up - time.monotonic()))
            self.left_behind = [
                worker for worker, thread in zip(self._workers[1:], threads, strict=True) if thread.is_alive()
            ]
            if not self.left_behind and isinstance(texts, Generator):
                texts.close()  # and its files: who holds the error that ended this holds `texts`, too
            self._rooms.clear()
            self._results.clear()

    def _wait_for(self, number: int, texts: Iterator[FilledRoom]) -> EncodedText | Exception | None:
        """Return the ids of a text when they are ready, helping until then; None behind the last text."""
        while True:
            with self._changed:
                if number in self._results:
                    return self._results.pop(number)
                if self._read_all and number >= self._n_read:
                    return None
                out = self._outs.pop() if self._outs and not self._read_all else None
                if out is None and self._handed.empty():
                    self._changed.wait()
                    continue
            if out is None:
                self._help()
            elif (taken := self._read(texts, out)) is not None:
                if self._in_turns or len(self._workers) == 1:
                    self._encode(self._workers[0], taken)
                else:
                    self._handed.put(taken)

    def _work(self, worker: EncodeWorker, texts: Iterator[FilledRoom]) -> None:
        """Read and encode in a thread, or encode what is handed to it, until there is no more text."""
        if not self._in_turns:
            while (handed := self._handed.get()) is not None:
                self._encode(worker, handed)
            return
        while (out := self._take_out()) is not None:
            taken = self._read(texts, out)
            if taken is not None:
                self._encode(worker, taken)

    def _take_out(self) -> ByteArray | None:
        """Return room for ids when there is some; None if there is nothing left to do."""
        with self._changed:
            self._changed.wait_for(lambda: self._outs or self._read_all or self._stopped)
            return None if self._read_all or self._stopped else self._outs.pop()

    def _read(self, texts: Iterator[FilledRoom], out: ByteArray) -> _Taken | None:
        """Return the next text with its number; None if there is none, or reading has failed."""
        with self._reading:
            filled = None
            if not self._read_all and not self._stopped:
                try:
                    filled = next(texts, None)
                except Exception as error:
                    self._results[self._n_read] = error
                    self._out_of[self._n_read] = out
                    self._n_read += 1
            if filled is not None and not self._stopped:
                self._n_read += 1
                return _Taken(self._n_read - 1, filled, out)
            with self._changed:
                self._read_all = True
                self._outs.append(out)
                self._changed.notify_all()
            return None

    def _encode(self, worker: EncodeWorker, taken: _Taken) -> None:
        """Encode a text, and give its buffer back."""
        number, filled, out = taken
        result: EncodedText | Exception
        try:
            n_bytes = worker.out_bytes(filled.n_bytes)
            if out.shape[0] < n_bytes:
                out = np.empty(n_bytes, dtype=np.uint8)  # pages that are not written take no memory
            splitter = self._row_splitter if filled.holds_documents else self._splitter
            result = EncodedText(filled, worker.encode(filled, splitter, self._errors, out))
        except Exception as error:
            result = error
        assert isinstance(filled.room, ScanBuffer)
        with self._changed:
            self._results[number] = result
            self._out_of[number] = out
            self._rooms.append(filled.room)
            self._changed.notify_all()

    def _take_room(self) -> ScanBuffer:
        """Return a free buffer.

        Raises:
            _StoppedError: nobody will free one any more.
        """
        while True:
            with self._changed:
                if self._rooms:
                    return self._rooms.pop()
                if self._stopped:
                    raise _StoppedError
                if self._in_turns or self._handed.empty():
                    self._changed.wait()
                    continue
            self._help()

    def _help(self) -> None:
        """Encode what was handed to others, if they have not taken it yet."""
        try:
            taken = self._handed.get_nowait()
        except queue.Empty:
            return
        assert taken is not None
        self._encode(self._workers[0], taken)
