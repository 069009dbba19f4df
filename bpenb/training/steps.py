"""Several merges per step: the best pairs that share no token, all counted before any of them merges.

    choose   from the top of the heap: a pair that shares a token with a chosen one is passed over for this
             step, unread; the next best is chosen, up to k of them
    merge    the chosen ones, in that order; they touch no token of each other's, so each still has the
             count that it was chosen with
    return   what was passed over goes back to the heap

A pair that is born in a step waits for the next one, however frequent it is; so the merges are no longer
those of exact BPE. Here it gains no time, since a merge costs its own postings and no pass over the words
(docs/decisions/0023-merges-per-step.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import IdArray, Int64Array
from bpenb._jit import helper, kernel
from bpenb.training.at_work import LearningSettings, Training
from bpenb.training.heap import pop, push, sift_down
from bpenb.training.merging import DONE, RECOUNT_LARGE, SLICE_ENDED, is_stale, merge_pair, missing_room
from bpenb.training.recount import recount_pair
from bpenb.training.state import (
    HEAP_SIZE,
    N_MERGES,
    N_POSTINGS_READ,
    N_RECOUNTS,
    N_STALE_CHECKS,
    TokenTable,
    WordStore,
)

__all__ = ["Step", "StepTraining", "training_for"]

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

SLICE_MERGES = 1000  # at most so many before the loop returns, and a step: bar, Ctrl-C

# Places in `Step.used`.
CHOSEN, MERGED, PASSED_OVER, NUMBER, IS_CHOOSING, LOWEST = range(6)


class Step(NamedTuple):
    """Scratch of one step.

    Attributes:
        chosen: int64[k], pair ids in their order.
        passed_over: int32[], pair ids that are off the heap until the step is over; as long as the heap.
        marks: int32[n_tokens], the number of the step that last chose a pair of the token.
        used: int64[6], how many are chosen, merged, passed over; the number of the step, from 1; whether it
            is choosing (1) or merging (0); the count below which no pair merges, whatever the floor.
    """

    chosen: Int64Array
    passed_over: IdArray
    marks: IdArray
    used: Int64Array


@helper
def choose_pairs(words, pairs, heap, tokens, learned, limits, step):
    """Choose the pairs of a step, by the rule above, until there are k or the heap is empty.

    Returns : DONE, or RECOUNT_LARGE: called again, it goes on
    """
    cursor, used, rule = learned.cursor, step.used, limits.tie_rule
    most = min(np.int64(step.chosen.shape[0]), limits.n_merges - cursor[N_MERGES])
    while used[CHOSEN] < most and cursor[HEAP_SIZE] > 0:
        p = np.int64(heap.pair_ids[0])
        left, right = pairs.keys[p] >> 32, pairs.keys[p] & 0xFFFFFFFF
        if step.marks[left] == used[NUMBER] or step.marks[right] == used[NUMBER]:
            cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], rule, tokens, pairs.keys)
            step.passed_over[used[PASSED_OVER]] = p
            used[PASSED_OVER] += 1
            continue
        cursor[N_STALE_CHECKS] += 1
        if is_stale(pairs, tokens, p):
            if pairs.posting_lengths[p] > limits.parallel_postings:
                return RECOUNT_LARGE
            cursor[N_RECOUNTS] += 1
            cursor[N_POSTINGS_READ] += pairs.posting_lengths[p]
            recount_pair(words, pairs, p, cursor[N_MERGES])
        if pairs.counts[p] < heap.counts[0] and pairs.counts[p] >= limits.min_count:
            sift_down(heap, np.int64(0), cursor[HEAP_SIZE], rule, tokens, pairs.keys, pairs.counts[p], p)
            continue
        is_best = pairs.counts[p] == heap.counts[0]
        cursor[HEAP_SIZE] = pop(heap, cursor[HEAP_SIZE], rule, tokens, pairs.keys)
        if is_best:
            step.marks[left] = step.marks[right] = used[NUMBER]
            step.chosen[used[CHOSEN]] = p
            used[CHOSEN] += 1
    if used[CHOSEN] < most and limits.min_count > used[LOWEST]:
        used[CHOSEN] = 0  # rarer pairs may belong to it: `lower_floor` begins the step again with them
    return DONE


@helper
def merge_chosen(words, pairs, heap, tokens, births, learned, limits, step):
    """Merge the chosen pairs, and put those that were passed over back, each with what it counted last.

    Returns : DONE when the step is over, or what there is no room for: called again, it goes on
    """
    cursor, used = learned.cursor, step.used
    while used[MERGED] < used[CHOSEN]:
        p = step.chosen[used[MERGED]]
        new = cursor[N_MERGES] + limits.n_base_tokens
        status = missing_room(words, pairs, births, tokens, p, new, cursor)
        if status != DONE:
            return status
        merge_pair(words, pairs, heap, tokens, births, learned, limits, p)
        used[MERGED] += 1
    size = cursor[HEAP_SIZE]
    for i in range(used[PASSED_OVER]):
        p = np.int64(step.passed_over[i])
        size = push(heap, size, limits.tie_rule, tokens, pairs.keys, pairs.counts[p], p)
    cursor[HEAP_SIZE] = size
    return DONE


@helper
def open_step(step):
    """Begin to choose the next step."""
    used = step.used
    used[CHOSEN] = used[MERGED] = used[PASSED_OVER] = 0
    used[NUMBER] += 1
    used[IS_CHOOSING] = 1


@kernel
def step_slice(words, pairs, heap, tokens, births, learned, limits, step):
    """Choose and merge step after step until all is done, or something must be done outside.

    words, pairs, heap, tokens, births, learned, limits : as of `merge_slice`
    step    : Step
    Returns : a status of merging.py; called again, it goes on where it stopped
    """
    used = step.used
    read_before = learned.cursor[N_POSTINGS_READ]
    n_before = learned.cursor[N_MERGES]
    while True:
        if used[IS_CHOOSING]:
            status = choose_pairs(words, pairs, heap, tokens, learned, limits, step)
            if status != DONE:
                return status
            if used[CHOSEN] == 0:
                open_step(step)
                return DONE
            used[IS_CHOOSING] = 0
        status = merge_chosen(words, pairs, heap, tokens, births, learned, limits, step)
        if status != DONE:
            return status
        open_step(step)
        n_read = learned.cursor[N_POSTINGS_READ] - read_before
        if n_read > limits.slice_postings or learned.cursor[N_MERGES] - n_before > SLICE_MERGES:
            return SLICE_ENDED


class StepTraining(Training):
    """A training whose merges are made in steps."""

    def __init__(self, words: WordStore, tokens: TokenTable, settings: LearningSettings) -> None:
        super().__init__(words, tokens, settings)
        self.step = Step(
            chosen=np.zeros(min(settings.merges_per_step, max(settings.n_merges, 1)), dtype=np.int64),
            passed_over=np.empty(0, dtype=np.int32),
            marks=np.zeros(tokens.prefixes.shape[0], dtype=np.int32),
            used=np.array([0, 0, 0, 1, 1, settings.min_count], dtype=np.int64),
        )

    def run_slice(self) -> int:
        """Make steps until something stops them, and do what that was; return a status of merging.py."""
        if self.step.passed_over.shape[0] < self.heap.pair_ids.shape[0]:
            grown = np.empty_like(self.heap.pair_ids)
            grown[: self.step.passed_over.shape[0]] = self.step.passed_over
            self.step = self.step._replace(passed_over=grown)
        state = (self.words, self.pairs, self.heap, self.tokens, self.births, self.learned)
        status = int(step_slice(*state, self.limits, self.step))
        self._provide(status)
        return status

    def _next_pair(self) -> int:
        used = self.step.used
        return super()._next_pair() if used[IS_CHOOSING] else int(self.step.chosen[used[MERGED]])


def training_for(words: WordStore, tokens: TokenTable, settings: LearningSettings) -> Training:
    """Return the training that the settings ask for: one merge after the other, or in steps."""
    kind = Training if settings.merges_per_step == 1 else StepTraining
    return kind(words, tokens, settings)
