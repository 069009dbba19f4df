"""Training on characters: count → words of characters → learn → model."""

from __future__ import annotations

import time
from collections.abc import Iterable

from bpenb.api_counts import END_OF_TEXT, Workers, workforce_of
from bpenb.classic.model import (
    END_OF_WORD,
    UNKNOWN_TOKEN,
    ClassicModel,
    check_end_of_word,
    classic_pattern,
)
from bpenb.classic.tokenizer import ClassicTokenizer
from bpenb.classic.words import ClassicWords, classic_words
from bpenb.corpus import InputOptions, Mixture, WeightedFiles, normalize_special_tokens
from bpenb.counting import (
    CountResult,
    CountSettings,
    WordCounts,
    check_min_word_count,
    count_files,
    drop_rare_words,
)
from bpenb.errors import CountsError, TrainingError
from bpenb.patterns import SplitPattern
from bpenb.pretokenize import Utf8Errors
from bpenb.progress import ProgressOption, Reporter, make_reporter
from bpenb.report import training_report
from bpenb.step_comparison import learn_and_compare
from bpenb.training import (
    SUBWORD_NMT,
    LearningOptions,
    MergeResult,
    check_count,
    check_memory,
    learn_from_tokens,
    learning_options,
)

__all__ = ["train_classic"]


def train_classic(
    source: WeightedFiles | WordCounts,
    *,
    vocab_size: int = 32000,
    n_merges: int | None = None,
    special_tokens: Iterable[str] | None = None,
    end_of_word: str = END_OF_WORD,
    min_character_count: int = 1,
    pattern: str | SplitPattern | None = None,
    ties: str | None = None,
    min_frequency: int = 2,
    workers: Workers = None,
    progress: ProgressOption = None,
    errors: Utf8Errors = "strict",
    max_memory: int | str | None = None,
    min_word_count: int = 1,
    max_bytes_per_source: int | str | None = None,
    sample: float | None = None,
    seed: int = 0,
    inputs: InputOptions | None = None,
    merges_per_step: int = 1,
) -> ClassicTokenizer:
    """Train a tokenizer on characters with an end-of-word mark, as `subword-nmt` does.

    Args:
        source: files of any kind, as of `count_words`, or word counts that were made with `pattern`.
        vocab_size: tokens at most: `<unk>`, special tokens, two for each character, merges.
        n_merges: merges at most, in place of a vocab size.
        special_tokens: they separate documents and are never learned; None: <|endoftext|>, or those
            of the counts.
        end_of_word: what is joined to the last character of a word.
        min_character_count: characters that occur less often become `<unk>`, in encoding too.
        pattern: what cuts words: None for U+0020 and line ends alone, as `subword-nmt` has it, or
            `whitespace` for all of Unicode's.
        ties: `subword-nmt` (None too): the greater pair of strings, the mark included.
        min_frequency: a pair that occurs less often is not merged.
        workers, progress, errors, max_memory, min_word_count, max_bytes_per_source, sample, seed, inputs:
            as of `train`.
        merges_per_step: as of `train`.

    Returns:
        The tokenizer. Its `report` tells under `characters` how many became unknown.

    Raises:
        CorpusError, CountsError, TrainingError, TypeError: as of `train`.
        ModelError: a mark or a pattern that cannot be, or a special token that is `<unk>` or a character.

    Source: Sennrich, Haddow and Birch (2016), in the form of codes of version 0.2.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low low lower newest newest")
        >>> tokenizer = train_classic("corpus.txt", n_merges=4)
        >>> tokenizer.merges
        [('w', 'e'), ('l', 'o'), ('we', 's'), ('wes', 't</w>')]
        >>> tokenizer.split("low newer")
        ['lo', 'w</w>', 'n', 'e', 'we', 'r</w>']
    """
    mark, split = check_end_of_word(end_of_word), classic_pattern(pattern)
    least, least_word = check_count("min_character_count", min_character_count, 0), min_word_count
    check_min_word_count(least_word)
    _check_ties(ties)
    size = check_count("vocab_size", vocab_size, 1)
    asked = None if n_merges is None else check_count("n_merges", n_merges, 0)
    workforce = workforce_of(workers, max_memory)
    how = learning_options((), 256, "cs336", min_frequency, None, workforce.workers, merges_per_step)
    reporter = make_reporter(progress)
    if isinstance(source, WordCounts):
        counted = CountResult(_checked_counts(source, pattern, special_tokens), source.n_bytes, 0)
    else:
        names = normalize_special_tokens(END_OF_TEXT if special_tokens is None else special_tokens)
        ClassicModel.from_merges((), (), names, mark)  # refuses what no model can have, before any work
        settings = CountSettings(split, names, errors)
        mixture = Mixture(max_bytes_per_source, sample, seed)
        counted = count_files(source, settings, workforce, reporter, mixture, options=inputs)
    counts, dropped = drop_rare_words(counted.counts, least_word)
    counted = counted._replace(counts=counts, dropped_words=dropped)
    if counted.memory_plan is not None:
        check_memory(counts, counted.memory_plan.budget)
    words = classic_words(counts, mark, least)
    n_fixed = 1 + len(counts.special_tokens) + 2 * len(words.characters)
    options = how._replace(n_merges=_merges_for(size, n_fixed) if asked is None else asked, ties=SUBWORD_NMT)
    return _learn(counted, words, options, n_fixed + options.n_merges, mark, least, reporter)


def _check_ties(ties: str | None) -> None:
    if ties not in (None, SUBWORD_NMT):
        raise TrainingError(
            f"ties {ties!r} are not for characters: the tie mode is {SUBWORD_NMT!r}, by the strings of a pair"
        )


def _merges_for(vocab_size: int, n_fixed: int) -> int:
    if vocab_size < n_fixed:
        raise TrainingError(
            f"vocab_size is {vocab_size}; {UNKNOWN_TOKEN}, special tokens and two forms of each character "
            f"need {n_fixed} at least: ask for more, or leave out rare characters (min_character_count, "
            "--min-character-count)"
        )
    return vocab_size - n_fixed


def _checked_counts(
    counts: WordCounts, pattern: str | SplitPattern | None, special_tokens: Iterable[str] | None
) -> WordCounts:
    classic_pattern(counts.pattern)
    if pattern is not None and classic_pattern(pattern).regex != counts.pattern.regex:
        raise CountsError(f"these counts were made with the pattern {str(counts.pattern)!r}, not {pattern!r}")
    if special_tokens is not None and normalize_special_tokens(special_tokens) != counts.special_tokens:
        raise CountsError(f"these counts were made with special tokens {counts.special_tokens!r}")
    return counts


def _learn(
    counted: CountResult,
    words: ClassicWords,
    options: LearningOptions,
    vocab_size: int,
    mark: str,
    min_character_count: int,
    reporter: Reporter,
) -> ClassicTokenizer:
    strings = [form for c in words.characters for form in (c, c + mark)]
    base_tokens = [string.encode() for string in strings]

    def learn(chosen: LearningOptions, told: Reporter) -> MergeResult:
        return learn_from_tokens(words.tokens, words.offsets, words.counts, base_tokens, chosen, told)

    result, steps = learn_and_compare(learn, options, reporter, base_tokens, int(counted.counts.n_bytes))
    started = time.perf_counter()
    for left, right in result.merges.tolist():
        strings.append(strings[left] + strings[right])
    merges = [(strings[left], strings[right]) for left, right in result.merges.tolist()]
    counts = counted.counts
    model = ClassicModel.from_merges(words.characters, merges, counts.special_tokens, mark, counts.pattern)
    tokenizer = ClassicTokenizer(model)
    # Words that nothing was learned from are encoded like any other; an unknown character is a token.
    further = sum(n * len(tokenizer.encode_ordinary(word)) for word, n in words.left_out.items())
    among_them = sum(n * sum(map(word.count, words.unknown)) for word, n in words.left_out.items())
    n_tokens_left = result.n_tokens_left + further + words.n_unknown - among_them
    result = result._replace(n_tokens_left=n_tokens_left)
    reporter.phase_seconds["model"] = time.perf_counter() - started
    report = training_report(
        counted, options, vocab_size, result, model, reporter.phase_seconds, steps=steps
    ) | {"characters": words.report(min_character_count)}
    report["settings"] |= {"alphabet": "characters", "end_of_word": mark}
    return tokenizer.with_report(report)
