"""Corpora of every kind, tokenizers whose ids an oracle knows, and looks at what was written."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb import Tokenizer
from bpenb.dataset import Manifest, SplitWriter
from bpenb.dataset.part_file import PartFile
from bpenb.patterns import PATTERNS
from bpenb.preparing import encoding, run
from bpenb.preparing.journal import Journal
from bpenb.preparing.shuffle import Shuffler
from bpenb.preparing.splits import TwoSplits
from tests.corpus.writing import ROW_KINDS, TEXT_KINDS, write_rows, write_text
from tests.encoding.slow import train
from tests.oracles.dataset import Rules

EOT = "<|endoftext|>"
SPECIALS = ["<|endoftext|>", "<s>", "<s><s>"]
CUSTOM = r"[^\s\d]+|\d|\s"  # no safe cut but at special tokens
WORDS = [
    b"low",
    b" lower",
    b" lowest",
    b"newest",
    b" the",
    b"1234",
    b"\n\n",
    "下雨天".encode(),
    b"<s",
    b"aaaa",
]
MODEL = train(WORDS, 40, seed=5)

Input = str | list[str]
MASK = 2**64 - 1


def tokenizer(pattern: str = "gpt2", specials: Sequence[str] = SPECIALS) -> Tokenizer:
    return Tokenizer(MODEL.vocab, MODEL.merges, specials, pattern)


def rules_of(made: Tokenizer, **changes: Any) -> Rules:
    """The rules of a tokenizer made here, as the oracle takes them."""
    eot = made.special_tokens.get(EOT)
    pattern = PATTERNS.get(made.model.pattern.name or "", made.model.pattern.regex)
    rules = Rules(MODEL.vocab, MODEL.merges, pattern, dict(made.special_tokens), eot)
    return replace(rules, **changes)


def write_inputs(folder: Path, inputs: Sequence[Input], kinds: Sequence[int] = ()) -> list[Path]:
    """Write texts and rows as files of many kinds; `kinds` chooses."""
    folder.mkdir(exist_ok=True)
    paths = []
    for number, content in enumerate(inputs):
        kind = kinds[number] if number < len(kinds) else number
        if isinstance(content, str):
            paths.append(write_text(folder, content, TEXT_KINDS[kind % len(TEXT_KINDS)], f"in{number}"))
        else:
            paths.append(write_rows(folder, content, ROW_KINDS[kind % len(ROW_KINDS)], f"in{number}"))
    return paths


@contextmanager
def small_buffers(buffer_bytes: int = 64) -> Iterator[None]:
    """Buffers of a few words, and all the threads that are asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "BUFFER_BYTES", buffer_bytes)
        patch.setattr(encoding, "LEAST_BUFFER_BYTES", 16)
        yield


@contextmanager
def busy_journal() -> Iterator[None]:
    """A journal that is written before every buffer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "JOURNAL_SECONDS", 0.0)
        yield


def contents(folder: Path) -> dict[str, bytes]:
    """Every file in a folder and below, hidden ones too, by its name."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def sample_text(n_words: int, seed: int, eot: str = EOT) -> str:
    """Words of chance, with special tokens among them."""
    chance = np.random.default_rng(seed)
    words = ["low", " lower", " lowest", " newest", "\n\n", " 1234", " 下雨天", "'s", " ", "<s>", "!", eot]
    return "".join(words[k] for k in chance.integers(0, len(words), n_words))


def sample_rows(n_rows: int, seed: int) -> list[str]:
    """Rows of chance, some empty, one long."""
    rows = [sample_text(n, seed + n) for n in np.random.default_rng(seed).integers(0, 20, n_rows)]
    return [*rows[: n_rows // 2], sample_text(200, seed), *rows[n_rows // 2 :]]


def mix(x: int) -> int:
    """SplitMix64, by plain numbers."""
    x = x + 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


# --- breaking off ---------------------------------------------------------------------------------


class BrokenOff(Exception):  # noqa: N818 (as KeyboardInterrupt: no error of ours)
    """Stands for a kill, or whatever else ends a run."""


STEPS = (
    (run.DatasetRun, "_take"),
    (Journal, "save"),
    (Journal, "remove"),
    (SplitWriter, "complete"),
    (SplitWriter, "publish"),
    (PartFile, "publish"),
    (PartFile, "settle"),
    (Manifest, "write"),
    (run.DatasetRun, "clean_up"),
    (TwoSplits, "write"),
    (Shuffler, "sync"),
    (Shuffler, "finish"),
)


class Breaker:
    """Breaks off before or after the n-th step of a run, counted from 1; 0 breaks nothing off."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.n_steps = self.breaks_at = 0
        self.names: list[str] = []
        for owner, name in STEPS:
            patch.setattr(owner, name, self._stepping(getattr(owner, name), f"{owner.__name__}.{name}"))

    def start(self, breaks_at: int) -> None:
        self.n_steps, self.breaks_at, self.names = 0, breaks_at, []

    def _step(self, name: str) -> None:
        self.n_steps += 1
        self.names.append(name)
        if self.n_steps == self.breaks_at:
            raise BrokenOff(name)

    def _stepping(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def step(*args: Any, **keywords: Any) -> Any:
            self._step(f"before {name}")
            result = function(*args, **keywords)
            self._step(f"after {name}")
            return result

        return step


def leave_all(dataset_run: run.DatasetRun) -> None:
    """What a kill does in place of `abandon`: nothing, but for the files of this process."""
    for writer in dataset_run._writers.values():
        writer.close()
    if dataset_run._shuffler is not None:
        dataset_run._shuffler.close()
