"""What a training starts from: nothing, a base, a checkpoint, or both; and what it becomes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bpenb.api_counts import END_OF_TEXT
from bpenb.base import Base, BaseOption, open_base
from bpenb.corpus import normalize_special_tokens
from bpenb.counting import WordCounts
from bpenb.errors import CountsError, TrainingError
from bpenb.model import BPEModel
from bpenb.patterns import DEFAULT_PATTERN, SplitPattern, resolve_pattern
from bpenb.progress import Reporter
from bpenb.training import (
    Checkpoint,
    LearningOptions,
    MergeResult,
    OpenCheckpoint,
    byte_order,
    learn,
    learning_options,
    open_checkpoint,
    replay_merges,
    training_identity,
)
from bpenb.vocab_options import VocabOptions, checked_vocab_options, with_all_special_tokens

__all__ = ["CheckpointOption", "Start", "open_start"]

CheckpointOption = Checkpoint | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Start:
    """Where a training starts, checked as far as it can be before a word is counted.

    Attributes:
        pattern, special_tokens, ties: of the training; those of the base if there is one.
        base: what ids and merges are kept of.
        checkpoint: where merges are kept.
        vocab_options: whose special tokens are among `special_tokens`.
    """

    pattern: SplitPattern
    special_tokens: tuple[str, ...]
    ties: str
    base: Base | None
    checkpoint: OpenCheckpoint | None
    vocab_options: VocabOptions

    def options(
        self,
        vocab_size: int,
        min_frequency: int,
        max_token_length: int | None,
        workers: int | None,
        min_word_count: int,
    ) -> LearningOptions:
        """Return the options of the training, and compare them with those of the checkpoint.

        Raises:
            TrainingError: one that is out of its range, or not that of the checkpoint.
            TypeError: one of a wrong type.
        """
        if self.base is None:
            options = learning_options(
                self.special_tokens, vocab_size, self.ties, min_frequency, max_token_length, workers
            )
        else:
            n_merges = self.base.n_merges_for(vocab_size)
            options = learning_options((), 256, self.ties, min_frequency, max_token_length, workers)
            options = options._replace(n_merges=n_merges)
        if self.checkpoint is not None:
            identity = training_identity(options, self.pattern.regex, self.special_tokens)
            identity |= {"min_word_count": min_word_count, "base (SHA-256)": self._base_digest()}
            self.checkpoint.check_settings(identity, options, vocab_size)
        return options

    def _base_digest(self) -> str | None:
        return None if self.base is None else self.base.digest()

    @property
    def n_base_merges(self) -> int:
        """Merges at the front that are those of the base."""
        return 0 if self.base is None else self.base.model.n_merges

    def counts_for(self, counts: WordCounts) -> WordCounts:
        """Return counts that were made before, for all special tokens of the vocab.

        Raises:
            CountsError: counts that were not cut at the special tokens of the base, or a word that
                holds a further special token.
        """
        further = set(self.vocab_options.special_tokens(()))
        if self.base is not None:
            further -= self.base.model.special_tokens.keys()
        self._check_cut(counts, further)
        return with_all_special_tokens(counts, self.special_tokens)

    def learn(self, counts: WordCounts, options: LearningOptions, reporter: Reporter) -> MergeResult:
        """Learn what follows the merges that there are, and keep the merges if they are to be kept.

        Raises:
            TrainingError: other words than those of the checkpoint.
        """
        given = None if self.base is None else self.base.given
        order = None if self.base is None else self.base.byte_order
        if self.checkpoint is None:
            return learn(counts, options, reporter, given, None, order)
        self.checkpoint.check_counts(counts)
        if self.checkpoint.stored is not None:
            given = self.checkpoint.stored.made
        with self.checkpoint.noting():
            result = learn(counts, options, reporter, given, self.checkpoint.keep, order)
        self.checkpoint.keep_all(result)
        return result

    def base_tokens(self, counts: WordCounts) -> list[bytes]:
        """Return the byte of each learning id before the first merge."""
        made = byte_order(self.ties, counts.special_tokens) if self.base is None else self.base.byte_order
        return [bytes([byte]) for byte in made.tolist()]

    def _check_cut(self, counts: WordCounts, further: set[str]) -> None:
        cut_at, wanted = set(counts.special_tokens), set(self.special_tokens)
        if self.base is not None and not wanted - further <= cut_at <= wanted:
            raise CountsError(
                f"these counts were made with special tokens {counts.special_tokens!r}; the base has "
                f"{self.special_tokens!r}: count again with those"
            )

    def model(self, result: MergeResult, counts: WordCounts) -> BPEModel:
        """Return the model of what was learned."""
        if self.base is not None:
            continued = self.base.continued(result.merges, counts.engine, counts.unicode_version)
            return self.vocab_options.complete(continued)
        learned = BPEModel.from_training(
            result.merges,
            result.byte_order,
            counts.special_tokens,
            counts.pattern,
            self.ties,
            engine=counts.engine,
            unicode_version=counts.unicode_version,
        )
        return self.vocab_options.complete(learned)

    def gains(self, counts: WordCounts, result: MergeResult) -> dict[str, Any] | None:
        """Return what report.json tells of the base: its size, bytes per token before and after; or None."""
        if self.base is None:
            return None
        replay = replay_merges(counts, self.base.given.merges, self.base.byte_order)
        before, after = replay.tokens_left(self.n_base_merges), result.n_tokens_left
        return {
            "n_vocab": self.base.model.n_vocab,
            "merges": self.n_base_merges,
            "bytes_per_token_before": counts.n_bytes / before if before else None,
            "bytes_per_token_after": counts.n_bytes / after if after else None,
        }


def open_start(
    base: BaseOption,
    checkpoint: CheckpointOption,
    resume: bool,
    pattern: str | SplitPattern | None,
    special_tokens: Iterable[str] | None,
    ties: str | None,
    vocab_options: VocabOptions | None = None,
) -> Start:
    """Return where a training starts.

    Args:
        base: a tokenizer to go on from, or its path.
        checkpoint: the file to keep merges in.
        resume: go on from the checkpoint.
        pattern, special_tokens, ties: as named; None for those of the base, or the usual ones.
        vocab_options: further special tokens, and more.

    Raises:
        TrainingError: settings that are not those of the base, or `resume` without a checkpoint.
        FormatError, OutputError: a base or a checkpoint that cannot be read, or not written.
        PatternError: an unknown pattern.
    """
    # The default is this very object, so a caller who names the same tokens is told from one who does not.
    is_named = special_tokens is not None and special_tokens is not END_OF_TEXT
    named = normalize_special_tokens(special_tokens if is_named and special_tokens is not None else ())
    extra, opened = checked_vocab_options(vocab_options), None
    if base is not None:
        opened = open_base(base, pattern, extra.special_tokens(named), ties)
        split, specials, chosen = opened.model.pattern, tuple(opened.special_tokens), opened.ties
    else:
        split = resolve_pattern(DEFAULT_PATTERN if pattern is None else pattern)
        specials = extra.special_tokens(named if is_named else END_OF_TEXT)
        chosen = "cs336" if ties is None else ties
    return Start(split, specials, chosen, opened, _opened(checkpoint, resume), extra)


def _opened(checkpoint: CheckpointOption, resume: bool) -> OpenCheckpoint | None:
    if checkpoint is None:
        if resume:
            raise TrainingError("resume needs a checkpoint (--checkpoint FILE, checkpoint=) to go on from")
        return None
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint, resume)
    elif resume:
        checkpoint = Checkpoint(checkpoint.path, True, checkpoint.force)
    return open_checkpoint(checkpoint)
