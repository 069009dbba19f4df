"""The public verbs of training. Each is a door: it checks everything, then runs room after room.

files or documents → count → WordCounts → learn → merges → BPEModel → Tokenizer
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from bpenb.api_counts import END_OF_TEXT, Path, Pattern, Workers, workforce_of
from bpenb.base import BaseOption
from bpenb.corpus import Documents, InputOptions, Mixture, WeightedFiles, normalize_special_tokens
from bpenb.counting import (
    CountResult,
    CountSettings,
    EngineOption,
    WordCounts,
    check_min_word_count,
    count_documents,
    count_files,
    drop_rare_words,
)
from bpenb.encoding import Tokenizer
from bpenb.errors import CountsError, TrainingError
from bpenb.going_on import CheckpointOption, Start, open_start
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import Utf8Errors
from bpenb.progress import ProgressOption, Reporter, make_reporter
from bpenb.report import training_report
from bpenb.step_comparison import check_steps, learn_and_compare
from bpenb.training import LearningOptions, MergeResult, check_memory
from bpenb.verification import verify_training
from bpenb.vocab_options import VocabOptions

if TYPE_CHECKING:
    from bpenb.cluster import Cluster

__all__ = ["train", "train_bpe", "train_from_counts", "train_from_iterator"]

Learner: TypeAlias = Callable[[WordCounts, LearningOptions, Reporter], MergeResult]


# --- training -------------------------------------------------------------------------------------


def train(
    files: WeightedFiles,
    *,
    vocab_size: int = 32000,
    special_tokens: Iterable[str] | None = END_OF_TEXT,
    pattern: Pattern | None = None,
    ties: str | None = None,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    workers: Workers = None,
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
    base: BaseOption = None,
    checkpoint: CheckpointOption = None,
    resume: bool = False,
    vocab_options: VocabOptions | None = None,
    merges_per_step: int = 1,
) -> Tokenizer:
    """Train a tokenizer on files.

    Args:
        files: of any kind, as of `count_words`.
        vocab_size: tokens at most, the 256 bytes and the special tokens included.
        special_tokens: they separate documents and are never learned.
        pattern: a name of `bpenb.patterns.PATTERNS`, or a regex of the `regex` package; None: gpt2.
        ties: which of two pairs with one count goes first: `cs336` (the greater pair of bytes; None
            too), `huggingface` or `rustbpe` (the smaller pair of ids); decides the order of ids too.
        min_frequency: a pair that occurs less often is not merged.
        max_token_length: the longest token in bytes, inclusive; None for no limit.
        workers, progress, errors, engine: as of `count_words`.
        max_memory: as of `count_words`; learning needs about 30 bytes for each byte of the distinct
            words, and is refused if that does not fit.
        min_word_count: words that occur less often are left out; the report says how much that is.
        max_bytes_per_source, sample, seed, inputs: as of `count_words`.
        verify: hold the result against slow, simple code (bpenb/verification.py).
        base: a tokenizer, or its path, to go on from. Its ids and merges stay, new ones follow; pattern
            and ties are its own, and `special_tokens` names further ones.
        checkpoint: a file to keep the merges in, every minute and if learning is broken off; it stays.
        resume: go on from the checkpoint; the result is that of a training that never stopped.
        vocab_options: special tokens with a role or in reserve, and what a model's vocab is padded to.
        merges_per_step: above 1, up to so many of the best pairs that share no token merge at once, which is
            not exact. It is then trained exactly too, and the report compares the two.

    Returns:
        The tokenizer; its `report` has the seconds of each phase and the peak memory. It has
        fewer tokens than asked if no pair is left to merge.

    Raises:
        CorpusError: a file that is missing, or not UTF-8 (with file and byte offset); a bad row.
        FormatError, OutputError: a base or checkpoint that cannot be read, or is there already.
        PatternError, TrainingError: an option out of its range, or not that of base or checkpoint;
            before any work.
        VerificationError: the result is wrong, as `verify` found.
        TypeError: an argument of a wrong type.
        WorkerError: a worker process failed or died.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low low lower")
        >>> tokenizer = train("corpus.txt", vocab_size=260)
        >>> tokenizer.merges
        [(b'o', b'w'), (b'l', b'ow'), (b' ', b'low')]
    """
    start = open_start(base, checkpoint, resume, pattern, special_tokens, ties, vocab_options)
    settings = CountSettings(start.pattern, start.special_tokens, errors, engine)
    workforce, least = workforce_of(workers, max_memory), check_min_word_count(min_word_count)
    options = start.options(vocab_size, min_frequency, max_token_length, workforce.workers, least)
    options = _in_steps(options, merges_per_step, start, verify)
    mixture = Mixture(max_bytes_per_source, sample, seed)
    reporter = make_reporter(progress)
    # The counts are nobody else's: where rare words are dropped, the memory of all words is free again.
    return _learn(
        count_files(files, settings, workforce, reporter, mixture, options=inputs),
        start, options, vocab_size, reporter, least, verify,
    )  # fmt: skip


def train_from_iterator(
    documents: Documents,
    *,
    vocab_size: int = 32000,
    special_tokens: Iterable[str] | None = END_OF_TEXT,
    pattern: Pattern | None = None,
    ties: str | None = None,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    workers: Workers = None,
    progress: ProgressOption = None,
    errors: Utf8Errors = "strict",
    engine: EngineOption = "auto",
    max_memory: int | str | None = None,
    min_word_count: int = 1,
    sample: float | None = None,
    seed: int = 0,
    verify: bool = False,
    base: BaseOption = None,
    checkpoint: CheckpointOption = None,
    resume: bool = False,
    vocab_options: VocabOptions | None = None,
    merges_per_step: int = 1,
) -> Tokenizer:
    """Train a tokenizer on documents; options, result and errors as of `train`.

    Args:
        documents: an iterable of whole documents, `str` or `bytes`, or of batches of them, as of
            `count_words_from_iterator`.

    Raises:
        TypeError: a document of another type.

    Example:
        >>> train_from_iterator(["low low lower"], vocab_size=258, special_tokens=()).merges
        [(b'o', b'w'), (b'l', b'ow')]
    """
    start = open_start(base, checkpoint, resume, pattern, special_tokens, ties, vocab_options)
    settings = CountSettings(start.pattern, start.special_tokens, errors, engine)
    workforce, least = workforce_of(workers, max_memory), check_min_word_count(min_word_count)
    options = start.options(vocab_size, min_frequency, max_token_length, workforce.workers, least)
    options = _in_steps(options, merges_per_step, start, verify)
    mixture = Mixture(sample=sample, seed=seed)
    reporter = make_reporter(progress)
    counted = count_documents(documents, settings, workforce, reporter, mixture)
    return _learn(counted, start, options, vocab_size, reporter, least, verify)


def train_from_counts(
    counts: WordCounts,
    *,
    vocab_size: int = 32000,
    special_tokens: Iterable[str] | None = None,
    pattern: Pattern | None = None,
    ties: str | None = None,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    workers: int | None = None,
    progress: ProgressOption = None,
    min_word_count: int = 1,
    verify: bool = False,
    base: BaseOption = None,
    checkpoint: CheckpointOption = None,
    resume: bool = False,
    vocab_options: VocabOptions | None = None,
    merges_per_step: int = 1,
    cluster: Cluster | None = None,
) -> Tokenizer:
    """Train a tokenizer on word counts; options, result and errors as of `train`.

    Args:
        counts: from `count_words`, `WordCounts.load`, `WordCounts.from_dict`, or `merge_counts`.
        special_tokens, pattern: those of the counts; naming others is an error.
        vocab_options: further special tokens; text that is spelled as one was counted as text.
        cluster: whose workers hold the words and count pairs, in place of this process; the result is the
            same (docs/cluster.md). It names its work folder, and goes with no base, checkpoint or steps.

    Raises:
        CountsError: a pattern or special tokens that the counts were not made with, or a word that holds
            one of the further special tokens.

    Example:
        >>> counts = WordCounts.from_dict({"low": 5, "lower": 2})
        >>> train_from_counts(counts, vocab_size=258).merges
        [(b'o', b'w'), (b'l', b'ow')]
    """
    if not isinstance(counts, WordCounts):
        raise TypeError(f"counts must be WordCounts, not {type(counts).__name__}")
    asked_specials = None if special_tokens is None else normalize_special_tokens(special_tokens)
    asked_regex = None if pattern is None else resolve_pattern(pattern).regex
    for name, asked, made in (
        ("pattern", asked_regex, counts.pattern.regex),
        ("special tokens", asked_specials, counts.special_tokens),
    ):
        if asked is not None and asked != made:
            raise CountsError(
                f"these counts were made with {name} {made!r}, not {asked!r}; count again with those"
            )
    named = counts.special_tokens
    start = open_start(base, checkpoint, resume, counts.pattern, named, ties, vocab_options)
    counts = start.counts_for(counts)
    least = check_min_word_count(min_word_count)
    options = start.options(vocab_size, min_frequency, max_token_length, workers, least)
    options = _in_steps(options, merges_per_step, start, verify)
    learner = start.learn if cluster is None else _learner_on(cluster, start, merges_per_step)
    counted = CountResult(counts, counts.n_bytes, 0)
    return _learn(counted, start, options, vocab_size, make_reporter(progress), least, verify, learner)


def train_bpe(
    input_path: Path, vocab_size: int, special_tokens: Iterable[str], **options: Any
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train a tokenizer and return it as plain Python objects (the signature of Stanford's CS336).

    Args:
        input_path: a text file.
        vocab_size: tokens at most, the 256 bytes and the special tokens included.
        special_tokens: they separate documents; their ids follow the bytes.
        **options: further options of `train`.

    Returns:
        The vocab (id → bytes), and the merges in the order they were made.

    Raises:
        BpenbError, TypeError: as `train`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low low lower")
        >>> vocab, merges = train_bpe("corpus.txt", 259, ["<|endoftext|>"])
        >>> vocab[256], vocab[258], merges
        (b'<|endoftext|>', b'low', [(b'o', b'w'), (b'l', b'ow')])
    """
    tokenizer = train(input_path, vocab_size=vocab_size, special_tokens=special_tokens, **options)
    return tokenizer.vocab, tokenizer.merges


# --- behind the doors -----------------------------------------------------------------------------


def _in_steps(options: LearningOptions, merges_per_step: int, start: Start, verify: bool) -> LearningOptions:
    check_steps(merges_per_step, start.checkpoint, verify)
    return options._replace(merges_per_step=merges_per_step)


def _learner_on(cluster: Cluster, start: Start, merges_per_step: int) -> Learner:
    """Return what learns on a cluster."""
    for name, value in (("base", start.base), ("checkpoint", start.checkpoint)):
        if value is not None:
            raise TrainingError(f"{name} and cluster exclude each other: go on from it on one machine")
    if merges_per_step != 1:
        raise TrainingError("merges_per_step and cluster exclude each other: what it learns is exact")
    # Only who asks for a cluster waits for its modules.
    from bpenb.api_cluster import learn_on_cluster

    return lambda counts, options, reporter: learn_on_cluster(cluster, counts, options, reporter)


def _learn(
    counted: CountResult,
    start: Start,
    options: LearningOptions,
    vocab_size: int,
    reporter: Reporter,
    min_word_count: int,
    verify: bool,
    learner: Learner | None = None,
) -> Tokenizer:
    learner = learner or start.learn
    counts, dropped = drop_rare_words(counted.counts, min_word_count)
    counted = counted._replace(counts=counts, dropped_words=dropped)
    if counted.memory_plan is not None:
        check_memory(counts, counted.memory_plan.budget)
    result, steps = learn_and_compare(
        lambda chosen, told: learner(counts, chosen, told),
        options,
        reporter,
        start.base_tokens(counts),
        counts.n_bytes,
        start.n_base_merges,
    )
    started = time.perf_counter()
    model = start.model(result, counts)
    reporter.phase_seconds["model"] = time.perf_counter() - started
    n_given = start.n_base_merges
    checked = verify_training(counts, options, result, model, reporter, n_given) if verify else None
    seconds, gains = reporter.phase_seconds, start.gains(counts, result)
    report = training_report(counted, options, vocab_size, result, model, seconds, checked, gains, steps)
    return Tokenizer.from_model(model, warm=False, report=report)
