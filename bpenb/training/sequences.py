"""BPE on any whole numbers (audio or motion codes, DNA, music): `learn_merges` and `apply_merges`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb._arrays import CountArray, IdArray, Int64Array, offsets_from_lengths
from bpenb._workers import resolve_workers
from bpenb.errors import TrainingError
from bpenb.progress import Reporter
from bpenb.training.at_work import NO_LIMIT, GivenMerges, LearningSettings, Training
from bpenb.training.driver import learn_rest
from bpenb.training.settings import check_count
from bpenb.training.state import N_MERGES
from bpenb.training.ties import tie_rule
from bpenb.training.words import id_tokens, pack_ids, row_lengths, unpack_rows

__all__ = ["apply_merges", "check_merges", "learn_merges"]

_MOST_TOKENS = 2**31 - 1


def learn_merges(
    tokens: npt.ArrayLike,
    offsets: npt.ArrayLike,
    counts: npt.ArrayLike | None,
    n_merges: int,
    n_base_tokens: int,
    ties: str = "cs336",
    workers: int | None = None,
) -> tuple[IdArray, CountArray]:
    """Learn the merges of exact BPE on sequences of whole numbers.

    The most frequent pair of neighbours becomes a token of its own, again and again; new ids follow
    `n_base_tokens`. A sequence is never joined to the next one. Long ones are no slower than many.

    Args:
        tokens: int32[n_tokens], all sequences one behind the other; from 0 to n_base_tokens − 1.
        offsets: int64[n_sequences + 1], where each begins.
        counts: int64[n_sequences], how often each occurs, at least 1; None: once.
        n_merges: most merges to make; fewer if no pair is left.
        n_base_tokens: ids from here on are the merges', by rank.
        ties: of equally frequent pairs `cs336` takes the greatest pair of tuples of base tokens,
            `huggingface` and `rustbpe` the smallest pair of ids.
        workers: threads; None: as many as there are processors. The result is the same for any.

    Returns:
        merges: int32[n, 2], the ids of the left and right part; row = rank.
        merge_counts: int64[n], how often the pair occurred when it was merged.

    Raises:
        TrainingError: numbers that are out of range, or do not fit together.
        TypeError: a setting or an array of a wrong type.

    Source: Sennrich, Haddow and Birch (2016), on numbers instead of characters.

    Example:
        >>> merges, merge_counts = learn_merges([7, 7, 7, 7, 5], [0, 4, 5], None, 9, 10)
        >>> merges.tolist(), merge_counts.tolist()
        ([[7, 7], [10, 10]], [3, 1])
    """
    n_base = check_count("n_base_tokens", n_base_tokens, 1)
    n_merges = check_count("n_merges", n_merges, 0)
    _check_vocab(n_base, n_merges)
    ids, bounds = _sequences(tokens, offsets, n_base)
    settings = LearningSettings(n_merges, tie_rule(ties), 1, NO_LIMIT, resolve_workers(workers))
    words, _ = pack_ids(ids, bounds, _counts(counts, bounds))
    training = Training(words, id_tokens(n_base, n_merges), settings)
    learn_rest(training, None, Reporter(None))
    n = int(training.learned.cursor[N_MERGES])
    return training.learned.merges[:n].copy(), training.learned.merge_counts[:n].copy()


def apply_merges(
    tokens: npt.ArrayLike, offsets: npt.ArrayLike, merges: npt.ArrayLike, n_base_tokens: int | None = None
) -> tuple[IdArray, Int64Array]:
    """Make merges, by rank, in sequences of whole numbers: the twin of `learn_merges`.

    Args:
        tokens, offsets: as for `learn_merges`.
        merges: int32[n, 2], as `learn_merges` returns them.
        n_base_tokens: as it was for `learn_merges`. None: the least number that `tokens` and `merges`
            agree with, which is right if the greatest base token occurs.

    Returns:
        tokens: int32[], of all sequences after the merges.
        offsets: int64[n_sequences + 1], where each begins.

    Raises:
        TrainingError: numbers that are out of range, or do not fit together.
        TypeError: an array of a wrong type.

    Example:
        >>> ids, bounds = apply_merges([7, 7, 7, 7, 5], [0, 4, 5], [[7, 7], [10, 10]], 10)
        >>> ids.tolist(), bounds.tolist()
        ([11, 5], [0, 1, 2])
    """
    pairs = _int_array("merges", merges, 2)
    if pairs.shape[1:] != (2,):
        raise TrainingError(f"merges must have two columns, left and right; its shape is {pairs.shape}")
    if n_base_tokens is None:
        n_base_tokens = _least_base(_int_array("tokens", tokens, 1), pairs)
    n_base = check_count("n_base_tokens", n_base_tokens, 1)
    _check_vocab(n_base, pairs.shape[0])
    check_merges(pairs, n_base)
    ids, bounds = _sequences(tokens, offsets, n_base)
    words, n_rows = pack_ids(ids, bounds, np.ones(bounds.shape[0] - 1, dtype=np.int64))
    settings = LearningSettings(pairs.shape[0], tie_rule("cs336"), 1, NO_LIMIT, 1)
    training = Training(words, id_tokens(n_base, pairs.shape[0]), settings)
    training.replay(GivenMerges(pairs.astype(np.int32), np.zeros(pairs.shape[0], dtype=np.int64)))
    lengths = row_lengths(words)
    merged = np.empty(int(lengths.sum()), dtype=np.int32)
    unpack_rows(words.rows, words.places, merged)
    return merged, offsets_from_lengths(lengths)[offsets_from_lengths(n_rows)]


# --- checks ---------------------------------------------------------------------------------------


def _int_array(name: str, values: npt.ArrayLike, n_dimensions: int) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = np.empty((0,) * (n_dimensions - 1) + ((2,) if n_dimensions == 2 else (0,)), dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers, not {array.dtype}")
    if array.ndim != n_dimensions:
        raise TrainingError(f"{name} must have {n_dimensions} dimensions; its shape is {array.shape}")
    if array.size and int(array.max()) >= 2**63:
        raise TrainingError(f"{name} holds {array.max()}; the greatest number is 2**63 - 1")
    return np.ascontiguousarray(array, dtype=np.int64) if n_dimensions == 2 else np.ascontiguousarray(array)


def _check_vocab(n_base: int, n_merges: int) -> None:
    if n_base + n_merges > _MOST_TOKENS:
        raise TrainingError(
            f"{n_base:,} base tokens and {n_merges:,} merges make more than 2**31 - 1 ids, which int32 holds"
        )


def _sequences(tokens: npt.ArrayLike, offsets: npt.ArrayLike, n_base: int) -> tuple[IdArray, Int64Array]:
    """Return tokens as int32 and offsets as int64, checked."""
    ids, bounds = _int_array("tokens", tokens, 1), _int_array("offsets", offsets, 1).astype(np.int64)
    if bounds.shape[0] == 0 or bounds[0] != 0 or bounds[-1] != ids.shape[0]:
        raise TrainingError(f"offsets must run from 0 to {ids.shape[0]}, the number of tokens")
    if (np.diff(bounds) < 0).any():
        at = int(np.argmax(np.diff(bounds) < 0))
        raise TrainingError(f"offsets must not fall: {bounds[at]} is followed by {bounds[at + 1]}")
    if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= n_base):
        wrong = int(np.argmax((ids < 0) | (ids >= n_base)))
        raise TrainingError(f"tokens[{wrong}] is {ids[wrong]}; base tokens run from 0 to {n_base - 1}")
    return ids.astype(np.int32), bounds


def _counts(counts: npt.ArrayLike | None, bounds: Int64Array) -> CountArray:
    """Return the counts of sequences as int64, checked."""
    n = bounds.shape[0] - 1
    if counts is None:
        return np.ones(n, dtype=np.int64)
    array = _int_array("counts", counts, 1).astype(np.int64)
    if array.shape[0] != n:
        raise TrainingError(f"{n} sequences need {n} counts, not {array.shape[0]}")
    if n and array.min() < 1:
        raise TrainingError(f"a count must be at least 1, not {array.min()}")
    lengths = np.diff(bounds)
    if np.multiply(lengths, array, dtype=np.float64).sum() > 2.0**62:
        total = sum(a * b for a, b in zip(lengths.tolist(), array.tolist(), strict=True))
        if total >= 2**63:
            raise TrainingError(f"counts × lengths add up to {total}; the greatest count is 2**63 - 1")
    return array


def _least_base(tokens: npt.NDArray[Any], merges: npt.NDArray[Any]) -> int:
    """Return the least number of base tokens that tokens and merges agree with."""
    least = int(tokens.max(initial=0)) + 1
    made = np.arange(merges.shape[0]).reshape(-1, 1)
    return max(least, int((merges - made).max(initial=0)) + 1)


def check_merges(merges: npt.NDArray[Any], n_base: int) -> None:
    """Refuse merges whose parts do not exist when they are made, or that hold a pair twice."""
    made = np.arange(merges.shape[0]).reshape(-1, 1)
    wrong = ((merges < 0) | (merges >= n_base + made)).any(axis=1)
    if wrong.any():
        rank = int(np.argmax(wrong))
        raise TrainingError(
            f"merges[{rank}] is {merges[rank].tolist()}; before it there are the ids 0 to {n_base + rank - 1}"
        )
    if np.unique(merges, axis=0).shape[0] < merges.shape[0]:
        raise TrainingError("merges holds a pair twice; after the first time there is none left to merge")
