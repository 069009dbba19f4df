"""How to count, who counts, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from bpenb._memory import parse_memory
from bpenb._workers import resolve_workers
from bpenb.counting.memory_plan import MemoryPlan
from bpenb.counting.rare import DroppedWords
from bpenb.counting.word_counts import WordCounts
from bpenb.errors import BpenbError, PatternError
from bpenb.patterns import PATTERNS, SplitPattern
from bpenb.pretokenize import Utf8Errors

__all__ = ["CountResult", "CountSettings", "EngineOption", "PoolOption", "Workforce"]

EngineOption: TypeAlias = Literal["auto", "compiled", "regex"]
PoolOption: TypeAlias = Literal["auto", "threads", "processes"]

_SMALL_INPUT = 4 << 20  # below it a pool of processes is not worth its start (0.3 s)


@dataclass(frozen=True)
class CountSettings:
    """What decides the words of a text.

    Attributes:
        pattern: the split pattern.
        special_tokens: cut out before the pattern sees the text.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
        engine: `auto` takes the compiled engine where the pattern is a known one.
        document_separator: what separates documents of text files beside the special tokens; like them
            it is cut out, but it is none of the model's. One that is a special token changes nothing: None.

    Raises:
        PatternError: the compiled engine is asked for a pattern that it does not know.
        BpenbError: no such engine, or no such way to treat errors.
    """

    pattern: SplitPattern
    special_tokens: tuple[str, ...]
    errors: Utf8Errors = "strict"
    engine: EngineOption = "auto"
    document_separator: str | None = None

    def __post_init__(self) -> None:
        if self.document_separator in self.special_tokens:
            object.__setattr__(self, "document_separator", None)
        _check_choice("errors", self.errors, ("strict", "replace"))
        _check_choice("engine", self.engine, ("auto", "compiled", "regex"))
        if self.engine == "compiled" and self.pattern.name is None:
            raise PatternError(
                f"there is no compiled engine for the pattern {self.pattern.regex!r}; "
                f"known patterns: {', '.join(PATTERNS)}; or take engine='regex'"
            )

    @property
    def boundaries(self) -> tuple[str, ...]:
        """All that is cut out of a text before the pattern sees it."""
        separator = self.document_separator
        return self.special_tokens if separator is None else (*self.special_tokens, separator)

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled engine is taken."""
        return self.engine != "regex" and self.pattern.name is not None


@dataclass(frozen=True)
class Workforce:
    """Who counts; it changes how long that takes, never the words.

    Attributes:
        workers: how many; None: as many as there are processors.
        pool: `threads` or `processes`; `auto`: threads for the compiled engine.
        task_bytes: bytes of text per unit of work; None: what measured best.
        small_input: below this many bytes no process is started.
        start_method: of processes; None: `forkserver` where there is one, else `spawn`.
        max_memory: bytes (or `512MB`, `2GB`) that this process and its workers hold at most; what
            does not fit goes to temporary files (docs/decisions/0008-memory-budget.md).
        base_memory: bytes of it that are taken for what the process held before; None: what it holds when
            counting begins, which is too much where it counts other texts at the same time.
    """

    workers: int | None = None
    pool: PoolOption = "auto"
    task_bytes: int | None = None
    small_input: int = _SMALL_INPUT
    start_method: str | None = None
    max_memory: int | str | None = None
    base_memory: int | None = None

    def __post_init__(self) -> None:
        parse_memory(self.max_memory)
        resolve_workers(self.workers)
        _check_choice("pool", self.pool, ("auto", "threads", "processes"))
        if self.task_bytes is not None and self.task_bytes < 1:
            raise BpenbError(f"the unit of work is {self.task_bytes} bytes; it must be at least 1")


class CountResult(NamedTuple):
    """What counting hands out.

    Attributes:
        counts: words and counts.
        n_bytes: of text read.
        workers_peak_rss_bytes: peak memory of all worker processes together.
        stage_seconds: of each stage (bpenb/counting/stages.py), those of all workers together.
        n_spills: how often a word table went to a temporary file.
        memory_plan: how `max_memory` was divided, if there is one.
        mixture: which part of the inputs was taken, with which weights, if not all of each once.
        dropped_words: what was left out of the counts, if that was asked for.
        inputs: how the inputs were read, and how many bad rows were skipped; None of documents.
    """

    counts: WordCounts
    n_bytes: int
    workers_peak_rss_bytes: int
    stage_seconds: Mapping[str, float] = MappingProxyType({})
    n_spills: int = 0
    memory_plan: MemoryPlan | None = None
    mixture: Mapping[str, Any] | None = None
    dropped_words: DroppedWords | None = None
    inputs: Mapping[str, Any] | None = None


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BpenbError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")
