"""Several merges per step: the best pairs that share no token, all counted before any of them merges.

    choose   from the top of the heap: a pair that shares a token with a chosen one is passed over for this
             step, unread; the next best is chosen, up to k of them
    merge    the chosen ones, in that order; they touch no token of each other's, so each still has the
             count that it was chosen with
    return   what was passed over goes back to the heap

What it saves: a pair that merges take occurrences from is counted again once a step, not once a merge.
What it costs: a pair that is born in a step waits for the next one, however frequent it is; so the
merges are no longer those of exact BPE (docs/decisions/0023-merges-per-step.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bpenb._arrays import IdArray, Int64Array
from bpenb._jit import kernel
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

CHOSEN, MERGED, PASSED_OVER, NUMBER = range(4)  # places in `Step.used`


class Step(NamedTuple):
    """Scratch of one step.

    Attributes:
        chosen: int64[k], pair ids in their order.
        passed_over: int32[], pair ids that are off the heap until the step is over.
        marks: int32[n_tokens], the number of the step that last chose a pair of the token.
        used: int64[4], how many are chosen, merged, passed over; the number of the step, from 1.
    """

    chosen: Int64Array
    passed_over: IdArray
    marks: IdArray
    used: Int64Array


@kernel
def choose_pairs(words, pairs, heap, tokens, learned, limits, step):
    """Choose the pairs of a step, by the rule above, until there are k or the heap is empty.

    words, pairs, heap, tokens, learned, limits : as of `merge_slice`
    step    : Step; `chosen` is as long as the step may become
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
    return DONE


@kernel
def merge_chosen(words, pairs, heap, tokens, births, learned, limits, step):
    """Merge the chosen pairs, and put those that were passed over back, each with what it counted last.

    words, pairs, heap, tokens, births, learned, limits : as of `merge_slice`
    step    : Step
    Returns : a status of merging.py; called again, it goes on. SLICE_ENDED: the step is over
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
    used[PASSED_OVER] = 0
    return SLICE_ENDED


class StepTraining(Training):
    """A training whose slices are steps of several merges."""

    def __init__(self, words: WordStore, tokens: TokenTable, settings: LearningSettings) -> None:
        super().__init__(words, tokens, settings)
        n_tokens = tokens.prefixes.shape[0]
        self.step = Step(
            chosen=np.zeros(min(settings.merges_per_step, max(settings.n_merges, 1)), dtype=np.int64),
            passed_over=np.empty(0, dtype=np.int32),
            marks=np.zeros(n_tokens, dtype=np.int32),
            used=np.zeros(4, dtype=np.int64),
        )
        self.is_choosing = False

    def run_slice(self) -> int:
        """Choose and merge a step, or as much of it as there is room for; return a status of merging.py."""
        state = (self.words, self.pairs, self.heap, self.tokens)
        used = self.step.used
        if used[MERGED] == used[CHOSEN] and not self.is_choosing:
            self._open_step()
        if self.is_choosing:
            status = int(choose_pairs(*state, self.learned, self.limits, self.step))
            self._provide(status)
            if status != DONE:
                return status
            self._close_choice()
            if not used[CHOSEN]:
                return DONE
        status = int(merge_chosen(*state, self.births, self.learned, self.limits, self.step))
        self._provide(status)
        return status

    def _open_step(self) -> None:
        used = self.step.used
        used[:] = (0, 0, 0, used[NUMBER] + 1)
        if self.step.passed_over.shape[0] < self.heap.pair_ids.shape[0]:
            self.step = self.step._replace(passed_over=np.empty_like(self.heap.pair_ids))
        self.is_choosing = True

    def _close_choice(self) -> None:
        """Take the choice as it is, or none where the heap was empty early and rarer pairs may belong to it.

        Nothing is merged then, and `lower_floor` begins the step again with them.
        """
        used, n_made = self.step.used, int(self.learned.cursor[N_MERGES])
        most = min(self.step.chosen.shape[0], self.limits.n_merges - n_made)
        if used[CHOSEN] < most and self.limits.min_count > self.min_count:
            used[CHOSEN] = 0
        self.is_choosing = False

    def _next_pair(self) -> int:
        used = self.step.used
        if used[MERGED] < used[CHOSEN] and not self.is_choosing:
            return int(self.step.chosen[used[MERGED]])
        return super()._next_pair()


def training_for(words: WordStore, tokens: TokenTable, settings: LearningSettings) -> Training:
    """Return the training that the settings ask for: one merge after the other, or in steps."""
    kind = Training if settings.merges_per_step == 1 else StepTraining
    return kind(words, tokens, settings)
