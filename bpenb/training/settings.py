"""The door's checks: what a user may ask of a training."""

from __future__ import annotations

from typing import NamedTuple

from bpenb._arrays import N_BYTES
from bpenb._byte_map import BYTE_TO_CHARACTER
from bpenb._vocab_checks import MAX_IDS
from bpenb._workers import resolve_workers
from bpenb.errors import TrainingError
from bpenb.training.ties import check_ties

__all__ = ["LearningOptions", "check_count", "learning_options", "n_merges_for"]


class LearningOptions(NamedTuple):
    """What a user may ask of a training.

    Attributes:
        n_merges: most merges to make; fewer if no pair is left.
        ties: `cs336`, `huggingface` or `rustbpe`.
        min_frequency: least count of a pair that merges; below 1 counts as 1.
        max_token_length: longest token in bytes, inclusive; None for no limit.
        workers: threads for the recount of frequent pairs; the result is the same for any.
        merges_per_step: above 1, up to so many of the best pairs that share no token merge at once
            (bpenb/training/steps.py), which is not exact BPE.
    """

    n_merges: int
    ties: str = "cs336"
    min_frequency: int = 1
    max_token_length: int | None = None
    workers: int = 1
    merges_per_step: int = 1


def check_count(name: str, value: object, least: int) -> int:
    """Return `value` if it is a whole number of at least `least`.

    Raises:
        TypeError: not an int (a bool is none).
        TrainingError: below `least`.
    """
    index = getattr(value, "__index__", None)  # numpy integers are welcome
    if isinstance(value, bool) or index is None:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    number = int(index())
    if number < least:
        raise TrainingError(f"{name} is {number}; it must be at least {least}")
    return number


def n_merges_for(vocab_size: int, special_tokens: tuple[str, ...], ties: str) -> int:
    """Return how many merges fill a vocab of `vocab_size` tokens.

    The rest are the 256 bytes and the special tokens; in `huggingface` mode a special token
    that is written as a byte takes no id of its own.

    Raises:
        TrainingError: the size does not even hold those, or is above every possible id, or the tie
            mode is unknown.
        TypeError: not an int.

    Example:
        >>> n_merges_for(1000, ("<|endoftext|>",), "cs336")
        743
    """
    check_ties(ties)
    size = check_count("vocab_size", vocab_size, 0)
    fixed = N_BYTES + len(special_tokens)
    if ties == "huggingface":
        fixed -= len(set(special_tokens) & set(BYTE_TO_CHARACTER))
    if size > MAX_IDS:
        raise TrainingError(f"vocab_size is {size}; a vocab has {MAX_IDS} tokens at most")
    if size < fixed:
        raise TrainingError(
            f"vocab_size is {size}; 256 bytes and {fixed - N_BYTES} special tokens need {fixed} at least"
        )
    return size - fixed


def learning_options(
    special_tokens: tuple[str, ...],
    vocab_size: int,
    ties: str,
    min_frequency: int,
    max_token_length: int | None,
    workers: int | None,
    merges_per_step: int = 1,
) -> LearningOptions:
    """Return the options of a training, checked before any work.

    Args:
        special_tokens: that take part of the vocab.
        vocab_size: tokens at most.
        ties, min_frequency, max_token_length: as in `LearningOptions`.
        workers: threads; None: as many as there are processors.
        merges_per_step: as in `LearningOptions`.

    Raises:
        TrainingError: a setting out of its range.
        TypeError: a setting of a wrong type.

    Example:
        >>> learning_options((), 300, "cs336", 1, None, 2).n_merges
        44
    """
    longest = None if max_token_length is None else check_count("max_token_length", max_token_length, 1)
    return LearningOptions(
        n_merges=n_merges_for(vocab_size, special_tokens, ties),
        ties=check_ties(ties),
        min_frequency=check_count("min_frequency", min_frequency, 0),
        max_token_length=longest,
        workers=resolve_workers(workers),
        merges_per_step=check_count("merges_per_step", merges_per_step, 1),
    )
