"""`train_sweep`: one training at the largest vocab size, and a tokenizer for each size.

A training is greedy: the merges of a smaller vocab are the first ones of a larger. So one training
gives all tokenizers, and one replay of all merges over the words of a text tells how many tokens
the text has with each (bpenb/training/word_replay.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from bpenb.corpus import (
    InputOptions,
    InputPath,
    Mixture,
    WeightedFiles,
    normalize_special_tokens,
    resolve_files,
)
from bpenb.counting import (
    CountResult,
    CountSettings,
    EngineOption,
    WordCounts,
    Workforce,
    check_min_word_count,
    count_files,
    drop_rare_words,
)
from bpenb.encoding import Tokenizer
from bpenb.errors import CountsError, TrainingError
from bpenb.model import BPEModel
from bpenb.patterns import DEFAULT_PATTERN, SplitPattern, resolve_pattern
from bpenb.pretokenize import Utf8Errors
from bpenb.progress import ProgressOption, Reporter, make_reporter
from bpenb.report import training_report
from bpenb.sweep_table import Sweep, SweepRow, TextFit
from bpenb.training import (
    LearningOptions,
    MergeResult,
    Replay,
    check_memory,
    learn,
    learning_options,
    n_merges_for,
    replay_merges,
)
from bpenb.verification import Verification, verify_training
from bpenb.vocab_options import VocabOptions, checked_vocab_options, with_all_special_tokens

__all__ = ["train_sweep"]

Files: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

TRAINING_WORDS = "training words"  # the name of that text in the table


def train_sweep(
    source: WeightedFiles | WordCounts,
    vocab_sizes: Iterable[int],
    *,
    eval_files: Files = (),
    special_tokens: Iterable[str] | None = None,
    pattern: str | SplitPattern | None = None,
    ties: str = "cs336",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    workers: int | Workforce | None = None,
    progress: ProgressOption = None,
    errors: Utf8Errors = "strict",
    engine: EngineOption = "auto",
    max_memory: int | str | None = None,
    min_word_count: int = 1,
    max_bytes_per_source: int | str | None = None,
    sample: float | None = None,
    seed: int = 0,
    inputs: InputOptions | None = None,
    verify: bool = False,
    vocab_options: VocabOptions | None = None,
) -> Sweep:
    """Train once, and return a tokenizer for each of several vocab sizes.

    Each tokenizer is the one that a training at its size gives. Options and errors are as of
    `train`, but for these:

    Args:
        source: files as of `train`, or word counts.
        vocab_sizes: the sizes, in any order; the training is at the largest.
        eval_files: further texts to count the tokens of, of any kind; nothing is learned from them.
        special_tokens, pattern: None for those of the counts, or for the defaults of `train`.

    Returns:
        The tokenizers, and the table of sizes and texts. If no pair was left before the largest
        sizes, what there is stands for them once.

    Raises:
        TrainingError: no size, one that is given twice, or one that does not hold the 256 bytes
            and the special tokens; before any work.
        CorpusError: an eval file that is missing (before any work) or not UTF-8.
        CountsError: a pattern or special tokens that the counts were not made with.

    Example:
        >>> sweep = train_sweep(WordCounts.from_dict({"low": 5, "lower": 2}), [258, 256])
        >>> [(row.vocab_size, row.fits[0].n_tokens) for row in sweep.rows]
        [(256, 25), (258, 11)]
        >>> sweep.tokenizers[258].merges
        [(b'o', b'w'), (b'l', b'ow')]
    """
    workforce = workers if isinstance(workers, Workforce) else Workforce(workers)
    workforce = workforce if max_memory is None else replace(workforce, max_memory=max_memory)
    extra = checked_vocab_options(vocab_options)
    settings = _settings(source, special_tokens, pattern, errors, engine)
    settings = replace(settings, special_tokens=extra.special_tokens(settings.special_tokens))
    if isinstance(source, WordCounts):
        source = with_all_special_tokens(source, settings.special_tokens)
    sizes = _checked_sizes(vocab_sizes, settings.special_tokens, ties)
    options = learning_options(
        settings.special_tokens, sizes[-1], ties, min_frequency, max_token_length, workforce.workers
    )
    least, mixture = check_min_word_count(min_word_count), Mixture(max_bytes_per_source, sample, seed)
    paths = resolve_files(eval_files) if eval_files else []
    if not isinstance(source, WordCounts):
        resolve_files(source)
    reporter = make_reporter(progress)
    # The eval files first: what is wrong with them is known before the long work.
    evaluated = _count_eval_files(paths, settings, workforce, reporter, inputs)
    if isinstance(source, WordCounts):
        counted = CountResult(source, source.n_bytes, 0)
    else:
        counted = count_files(source, settings, workforce, reporter, mixture, options=inputs)
    counts, dropped = drop_rare_words(counted.counts, least)
    counted = counted._replace(counts=counts, dropped_words=dropped)
    return _Run(counted, options, sizes, evaluated, reporter, extra).finish(verify)


# --- checks ---------------------------------------------------------------------------------------


def _settings(
    source: WeightedFiles | WordCounts,
    special_tokens: Iterable[str] | None,
    pattern: str | SplitPattern | None,
    errors: Utf8Errors,
    engine: EngineOption,
) -> CountSettings:
    """Return how texts are counted: as asked, and as the counts were made."""
    specials = None if special_tokens is None else normalize_special_tokens(special_tokens)
    split = None if pattern is None else resolve_pattern(pattern)
    if not isinstance(source, WordCounts):
        return CountSettings(
            split or resolve_pattern(DEFAULT_PATTERN),
            ("<|endoftext|>",) if specials is None else specials,
            errors,
            engine,
        )
    for name, asked, made in (
        ("special tokens", specials, source.special_tokens),
        ("pattern", split and split.regex, source.pattern.regex),
    ):
        if asked is not None and asked != made:
            raise CountsError(
                f"these counts were made with {name} {made!r}, not {asked!r}; count again with those"
            )
    return CountSettings(source.pattern, source.special_tokens, errors, engine)


def _checked_sizes(vocab_sizes: Iterable[int], special_tokens: tuple[str, ...], ties: str) -> list[int]:
    """Return the sizes, ascending."""
    if isinstance(vocab_sizes, str | bytes) or not isinstance(vocab_sizes, Iterable):
        raise TypeError(f"vocab_sizes must be a sequence of int, not {type(vocab_sizes).__name__}")
    sizes: list[int] = []
    for size in vocab_sizes:
        n_merges_for(size, special_tokens, ties)
        if int(size) in sizes:
            raise TrainingError(f"vocab_sizes has {size} twice; a sweep writes each size once")
        sizes.append(int(size))
    if not sizes:
        raise TrainingError("vocab_sizes is empty; a sweep needs one size at least")
    return sorted(sizes)


def _count_eval_files(
    paths: Sequence[InputPath],
    settings: CountSettings,
    workforce: Workforce,
    reporter: Reporter,
    inputs: InputOptions | None,
) -> list[tuple[str, WordCounts]]:
    started = time.perf_counter()
    # As encoding reads them: by the compiled engine, where it knows the pattern.
    settings = replace(settings, engine="auto")
    counted = [
        (str(path), count_files(path, settings, workforce, reporter, options=inputs).counts) for path in paths
    ]
    if paths:
        reporter.phase_seconds.pop("count", None)  # the phase `count` is that of the training text
        reporter.phase_seconds["eval"] = time.perf_counter() - started
    return counted


# --- the work ---------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """A training at the largest size, and what is to be made of it."""

    counted: CountResult
    options: LearningOptions
    sizes: list[int]
    evaluated: list[tuple[str, WordCounts]]
    reporter: Reporter
    vocab_options: VocabOptions

    def finish(self, verify: bool) -> Sweep:
        counts = self.counted.counts
        if self.counted.memory_plan is not None:
            check_memory(counts, self.counted.memory_plan.budget)
        result = learn(counts, self.options, self.reporter)
        checked = self._verify(result) if verify else None
        texts = [(TRAINING_WORDS, counts), *self.evaluated]
        replays = [
            (name, replay_merges(words, result.merges, result.byte_order, self.reporter))
            for name, words in texts
        ]
        asked = {self._n_merges(size, result): size for size in self.sizes}  # the greatest of equal ones
        rows, tokenizers = [], {}
        for n_merges, size in asked.items():
            tokenizer = self._tokenizer(result, n_merges, size, replays[0][1], checked)
            fits = tuple(TextFit(name, r.n_bytes, r.tokens_left(n_merges)) for name, r in replays)
            rows.append(SweepRow(tokenizer.n_vocab, n_merges, fits))
            tokenizers[tokenizer.n_vocab] = tokenizer
        not_reached = tuple(s for s in self.sizes if self._n_merges(s) > len(result.merges))
        return Sweep(tuple(rows), tokenizers, not_reached)

    def _n_merges(self, size: int, result: MergeResult | None = None) -> int:
        n = n_merges_for(size, self.counted.counts.special_tokens, self.options.ties)
        return n if result is None else min(n, len(result.merges))

    def _model(self, result: MergeResult, n_merges: int) -> BPEModel:
        counts = self.counted.counts
        model = BPEModel.from_training(
            result.merges[:n_merges],
            result.byte_order,
            counts.special_tokens,
            counts.pattern,
            self.options.ties,
            engine=counts.engine,
            unicode_version=counts.unicode_version,
        )
        return self.vocab_options.complete(model)

    def _verify(self, result: MergeResult) -> Verification:
        model = self._model(result, len(result.merges))
        return verify_training(self.counted.counts, self.options, result, model, self.reporter)

    def _tokenizer(
        self, result: MergeResult, n_merges: int, size: int, replay: Replay, checked: Verification | None
    ) -> Tokenizer:
        """Return the tokenizer of the first merges; its report is that of the one training."""
        model = self._model(result, n_merges)
        first = result._replace(
            merges=result.merges[:n_merges],
            merge_counts=result.merge_counts[:n_merges],
            n_tokens_left=replay.tokens_left(n_merges),
        )
        seconds = self.reporter.phase_seconds
        report = training_report(self.counted, self.options, size, first, model, seconds, checked)
        return Tokenizer.from_model(model, warm=False, report=report)
