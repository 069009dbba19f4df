"""The driver of encoding: a model's tables, who cuts its text, and workers that remember words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from bpenb._arrays import ByteArray, IdArray, Int64Array
from bpenb.corpus import FilledRoom, TakeRoom
from bpenb.encoding.crew import EncodeCrew, EncodedText
from bpenb.encoding.desk import SHORT_TEXT, Desk
from bpenb.encoding.engine import make_engine
from bpenb.encoding.splitter import Splitter
from bpenb.encoding.streaming import safe_blocks
from bpenb.encoding.worker import EncodeTables, make_tables
from bpenb.model import BPEModel
from bpenb.pretokenize import ScanBuffer

__all__ = ["Encoder"]

# mypy: disable-error-code="no-untyped-call"

TEXT_BLOCK = 1 << 20  # bytes of a text in memory that are encoded at a time


class Encoder:
    """Encodes bytes; threads may share it, for each call takes a worker that no other has.

    Args:
        model: checked already.

    Attributes:
        splitter: recognises the special tokens.
        ordinary: takes them for text like any other.
    """

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        self._engine = make_engine(model.pattern)
        self._desks: list[Desk] = []  # pop and append are atomic
        self.splitter = self.splitter_for(model.special_tokens)
        self.ordinary = self.splitter_for({})

    def splitter_for(self, special_tokens: Mapping[str, int], dropped: Iterable[str] = ()) -> Splitter:
        """Return who cuts at these special tokens alone, and at `dropped` strings, which get no ids."""
        return Splitter(self._engine, self._model.pattern, special_tokens, dropped, self._model.traits)

    @functools.cached_property
    def tables(self) -> EncodeTables:
        """What the model says to the kernel, at first use: building it compiles."""
        return make_tables(self._model)

    def warmup(self) -> None:
        """Compile what encoding needs; no byte has to be in the vocab for that."""
        self.encode_block(b"", self.ordinary, 0, "nothing")

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        """Lend a worker."""
        desk = self._take_desk()
        try:
            yield desk
        finally:
            self._desks.append(desk)

    def _take_desk(self) -> Desk:
        """Return a worker that no other call has."""
        try:
            return self._desks.pop()
        except IndexError:
            return Desk(self.tables)

    def encode(self, text: bytes, splitter: Splitter, name: str = "the text") -> IdArray:
        """Encode a text that is in memory.

        Args:
            text: valid UTF-8.
            splitter: `splitter` or `ordinary`, or of `splitter_for`.
            name: of the text; for messages.

        Returns:
            int32[n] token ids.

        Raises:
            EncodingError: a byte that the vocab lacks.
        """
        if len(text) <= SHORT_TEXT:
            with self._desk() as desk:
                ids = desk.encode(text, splitter)
                if ids is not None:
                    return ids.astype(np.int32)
        if len(text) <= TEXT_BLOCK:
            return self.encode_block(text, splitter, 0, name)
        blocks = safe_blocks([text], splitter, first=TEXT_BLOCK, limit=TEXT_BLOCK)
        return np.concatenate(list(self.encode_blocks(blocks, splitter, name)))

    def encode_to_list(self, text: bytes, splitter: Splitter) -> list[int]:
        """Encode a text into a list; arguments and errors as of `encode`."""
        if len(text) <= SHORT_TEXT:
            desk = self._take_desk()  # not by `_desk`: 0.9 µs of 7
            try:
                ids = desk.encode(text, splitter)
                if ids is not None:
                    return ids.tolist()  # type: ignore[no-any-return]
            finally:
                self._desks.append(desk)
        return self.encode(text, splitter).tolist()  # type: ignore[no-any-return]

    def encode_blocks(self, blocks: Iterator[bytes], splitter: Splitter, name: str) -> Iterator[IdArray]:
        """Encode the safe blocks of one text, each as it comes."""
        position = 0
        for block in blocks:
            yield self.encode_block(block, splitter, position, name)
            position += len(block)

    def encode_block(self, text: bytes, splitter: Splitter, position: int, name: str) -> IdArray:
        """Encode a block, which begins `position` bytes into the text called `name`."""
        with self._desk() as desk:
            buffer, out = desk.buffer, desk.out
            if len(text) > SHORT_TEXT:
                buffer = ScanBuffer(len(text))
                out = np.empty(desk.worker.out_bytes(len(text)), dtype=np.uint8)
            buffer.fill(text)
            filled = FilledRoom(buffer)
            filled.add(len(text), name, position)
            return desk.worker.encode(filled, splitter, "strict", out).ids.astype(np.int32)

    def encode_words(self, word_bytes: ByteArray, word_offsets: Int64Array) -> tuple[IdArray, Int64Array]:
        """Encode words one by one: no split pattern, no special token.

        Args:
            word_bytes: uint8[n_bytes], all words one after the other.
            word_offsets: int64[n_words + 1], where each begins.

        Returns:
            int32[n_ids] token ids, and int64[n_words + 1] where those of each word begin.

        Raises:
            EncodingError: a byte that the vocab lacks.
        """
        with self._desk() as desk:
            return desk.worker.encode_words(word_bytes, word_offsets)

    def crew(
        self,
        workers: int,
        fill: Callable[[TakeRoom], Iterator[FilledRoom]],
        splitter: Splitter,
        *,
        errors: str = "strict",
        row_splitter: Splitter | None = None,
        buffer_bytes: int = TEXT_BLOCK,
        in_turns: bool,
    ) -> Generator[EncodedText]:
        """Encode buffers of text with several threads, in order; arguments as of `EncodeCrew`."""
        desks = [self._take_desk() for _ in range(workers)]
        crew = EncodeCrew(
            [desk.worker for desk in desks],
            splitter,
            row_splitter or splitter,
            errors,
            buffer_bytes,
            in_turns=in_turns,
        )
        try:
            yield from crew.encode(fill)
        finally:
            self._desks += [desk for desk in desks if desk.worker not in crew.left_behind]
