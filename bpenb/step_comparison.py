"""What several merges per step changed: the same training exactly, beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bpenb._arrays import IdArray
from bpenb.errors import TrainingError
from bpenb.progress import Reporter
from bpenb.training import LearningOptions, MergeResult, OpenCheckpoint, check_count

__all__ = ["check_steps", "learn_and_compare"]


def check_steps(merges_per_step: int, checkpoint: OpenCheckpoint | None, verify: bool) -> None:
    """Refuse what only exact BPE has, before any work.

    Raises:
        TrainingError: several merges per step with a checkpoint, or to be verified.
    """
    if check_count("merges_per_step", merges_per_step, 1) == 1:
        return
    if checkpoint is not None:
        raise TrainingError(
            f"merges_per_step is {merges_per_step}; a checkpoint does not know where a step began: leave one "
            "out"
        )
    if verify:
        raise TrainingError(
            f"merges_per_step is {merges_per_step}, which is not exact BPE, and verify checks that merges "
            "are those of exact BPE: leave one out; the report compares the two"
        )


def learn_and_compare(
    learn: Callable[[LearningOptions, Reporter], MergeResult],
    options: LearningOptions,
    reporter: Reporter,
    base_tokens: Sequence[bytes],
    n_bytes: int,
    n_given: int = 0,
) -> tuple[MergeResult, dict[str, Any] | None]:
    """Learn, and if several merges per step were asked for, learn exactly too and compare.

    Args:
        learn: the training, by its options.
        options: what was asked for.
        reporter: its phase `merge` is the training, `exact` the other one.
        base_tokens: the bytes of each learning id before the first merge.
        n_bytes: of the text that is learned from.
        n_given: merges at the front that were given; not learned in either.

    Returns:
        The result, and what report.json tells as `steps`; None where each merge was a step.
    """
    if options.merges_per_step == 1:
        return learn(options, reporter), None
    for k in (options.merges_per_step, 1):  # compile, or load, before either is timed
        few = options._replace(n_merges=min(options.n_merges, n_given + 2), merges_per_step=k)
        learn(few, Reporter(None))
    result = learn(options, reporter)
    beside = reporter.for_another_run()
    exact = learn(options._replace(merges_per_step=1), beside)
    seconds, exact_seconds = reporter.phase_seconds["merge"], beside.phase_seconds["merge"]
    reporter.phase_seconds["exact"] = exact_seconds
    found, wanted = _tokens(base_tokens, result.merges), _tokens(base_tokens, exact.merges)
    return result, {
        "merges_per_step": options.merges_per_step,
        "first_difference": _first_difference(result.merges, exact.merges),
        "jaccard": len(found & wanted) / len(found | wanted) if found | wanted else 1.0,
        "merges": len(result.merges),
        "merges_exact": len(exact.merges),
        "bytes_per_token": n_bytes / result.n_tokens_left if result.n_tokens_left else None,
        "bytes_per_token_exact": n_bytes / exact.n_tokens_left if exact.n_tokens_left else None,
        "seconds": seconds,
        "seconds_exact": exact_seconds,
        "times_faster": exact_seconds / seconds if seconds else None,
    }


def _tokens(base_tokens: Sequence[bytes], merges: IdArray) -> set[bytes]:
    """Return the bytes of all tokens."""
    tokens = list(base_tokens)
    for left, right in merges.tolist():
        tokens.append(tokens[left] + tokens[right])
    return set(tokens)


def _first_difference(merges: IdArray, exact: IdArray) -> int | None:
    """Return the rank of the first merge that is another one, or missing; None: they are the same."""
    n = min(len(merges), len(exact))
    differs = np.flatnonzero((merges[:n] != exact[:n]).any(axis=1))
    if differs.size:
        return int(differs[0])
    return None if len(merges) == len(exact) else n
