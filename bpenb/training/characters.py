"""Learning on characters: words that are sequences of base tokens of any bytes, by the same kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bpenb._arrays import CountArray, IdArray, Int64Array
from bpenb.progress import Reporter
from bpenb.training.at_work import NO_LIMIT, LearningSettings
from bpenb.training.driver import MergeResult, learn_rest, merge_result
from bpenb.training.settings import LearningOptions, check_count
from bpenb.training.steps import training_for
from bpenb.training.ties import CS336
from bpenb.training.words import pack_ids, string_tokens

__all__ = ["learn_from_tokens"]


def learn_from_tokens(
    tokens: IdArray,
    offsets: Int64Array,
    counts: CountArray,
    base_tokens: Sequence[bytes],
    options: LearningOptions,
    reporter: Reporter | None = None,
) -> MergeResult:
    """Learn merges from words that are cut into base tokens already; the caller made them, so they fit.

    Args:
        tokens: int32[], of all words, one behind the other; ids into `base_tokens`.
        offsets: int64[n_words + 1], where each word begins.
        counts: int64[n_words], how often each occurs.
        base_tokens: the bytes of each id, all different; they decide ties, as in `cs336`.
        options: what to learn; a token may be as long as it likes.
        reporter: told of the phase `merge`.

    Returns:
        Merges int32[n, 2]: ids from `len(base_tokens)` on are the merges', by rank. No byte order.

    Raises:
        TrainingError: a setting out of its range, or more words than a training holds.

    Example:
        >>> words = np.array([0, 1, 0, 1], np.int32), np.array([0, 2, 4]), np.array([1, 1])
        >>> options = LearningOptions(9, min_frequency=2)
        >>> learn_from_tokens(*words, [b"l", b"o</w>"], options).merges.tolist()
        [[0, 1]]
    """
    settings = LearningSettings(
        n_merges=check_count("n_merges", options.n_merges, 0),
        tie_rule=CS336,
        min_count=max(1, check_count("min_frequency", options.min_frequency, 0)),
        max_token_length=NO_LIMIT,
        workers=check_count("workers", options.workers, 1),
        merges_per_step=check_count("merges_per_step", options.merges_per_step, 1),
    )
    reporter = reporter or Reporter(None)
    reporter.start("merge", settings.n_merges, "merges")
    words, _ = pack_ids(tokens, offsets, counts)
    training = training_for(words, string_tokens(base_tokens, settings.n_merges), settings)
    learn_rest(training, None, reporter)
    return merge_result(training, np.empty(0, dtype=np.uint8))
