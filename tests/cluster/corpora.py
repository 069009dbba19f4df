"""What tests of clusters count, and an engine without a cluster: one task after the other, here."""

from __future__ import annotations

import pickle
import random
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bpenb.cluster import Event, Stated, Task, perform
from tests.corpus.writing import ROW_KINDS, TEXT_KINDS, write_rows, write_text

WORDS = ["low", "tower", "isn't", "Zwölf", "下雨天", "🙂", "12345", "def", "x" * 40, "\u3000"]


def sample_text(n_words: int, seed: int) -> str:
    """Text with special tokens, and ever new words."""
    chance = random.Random(seed)
    words = [chance.choice(WORDS) + (str(chance.randrange(500)) if n % 3 else "") for n in range(n_words)]
    ends = [chance.choice([" ", " ", " ", "\n", "\n\n", "<|endoftext|>"]) for _ in words]
    return "".join(word + end for word, end in zip(words, ends, strict=True))


def write_corpus(folder: Path, n_words: int = 3_000) -> Path:
    """Write a folder with a file of every kind."""
    folder.mkdir()
    for seed, ending in enumerate(TEXT_KINDS):
        write_text(folder, sample_text(n_words, seed), ending)
    for seed, ending in enumerate(ROW_KINDS, 7):
        rows = [sample_text(n_words // 100, 100 * seed + n) for n in range(100)]
        write_rows(folder, rows, ending, group=10)
    return folder


class HereEngine:
    """Performs tasks in this process, each packed and unpacked as if it had travelled.

    Attributes:
        performed: how many there were.
        stop_after: so many, raise KeyboardInterrupt.
        twice: whether each is performed twice.
    """

    def __init__(self, stop_after: int | None = None, *, twice: bool = False) -> None:
        self.performed = 0
        self.stop_after = stop_after
        self.twice = twice
        self.stated = Stated("here", 4_000_000_000, 2)

    @contextmanager
    def open(self) -> Iterator[HereEngine]:
        yield self

    def workers(self) -> Sequence[Stated]:
        return [self.stated]

    def run(self, tasks: Sequence[Task]) -> Generator[Event, None, None]:
        for number, task in enumerate(tasks):
            if self.performed == self.stop_after:
                raise KeyboardInterrupt
            told: list[int] = []
            for _ in range(1 + self.twice):
                done = pickle.loads(pickle.dumps(perform(task, self.stated, told.append)))
            self.performed += 1
            assert told == sorted(told)
            yield Event(None, done, told[-1] if told else 0, 1)
            yield Event(number, done, 0, 1)
