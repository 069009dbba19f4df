"""Checks that merges are those of exact BPE; each names the first merge that is not.

1. parts      a part is a byte or made before; no pair twice; no token too long
2. counts     every merge's count, by a replay of all words (word_replay.py)
3. order      counts never rise; of equal counts, the pair that precedes merged first
4. first      at each of the first merges, no other pair was better (slow_rule.py)
5. end        after the last merge, nothing is left that should have merged

2, 3 and 5 look at all words and all merges, in time linear in the bytes of the distinct words.
4 reads all words once per merge, so it is bounded: if they are many, it takes a sample of them, and
a pair that is better already by what the sample alone holds is better in all words too.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bpenb._arrays import N_BYTES, ByteArray, CountArray, IdArray
from bpenb.counting import WordCounts
from bpenb.errors import VerificationError
from bpenb.progress import Reporter
from bpenb.training.settings import LearningOptions
from bpenb.training.slow_rule import Pair, PairTally, precedence_key, sample_words, token_spellings
from bpenb.training.word_replay import Replay, replay_merges
from bpenb.training.word_replay_kernel import WordRows

__all__ = ["MergeChecks", "verify_merges"]

FIRST_MERGES = 500
FIRST_BYTES = 2_000_000  # of distinct words: 500 merges over them take three seconds


class MergeChecks(NamedTuple):
    """What was checked.

    Attributes:
        n_words: distinct words that the merges were replayed on: all.
        n_first_merges: merges at which every other pair was looked at.
        n_first_words: distinct words that was done on.
        replay: the words after the last merge, and what each merge did.
    """

    n_words: int
    n_first_merges: int
    n_first_words: int
    replay: Replay


class _Wrong(NamedTuple):
    """The first wrong merge that a check found."""

    rank: int
    reason: str


class _Claim:
    """The merges to check, and what is needed to speak of them."""

    def __init__(
        self, merges: IdArray, byte_order: ByteArray, options: LearningOptions, n_given: int
    ) -> None:
        self.n_given = n_given
        self.pairs: list[Pair] = [(left, right) for left, right in merges.tolist()]
        self.options = options
        self.wrong: _Wrong | None = self._wrong_parts()
        if self.wrong is None:
            self.tokens = token_spellings(merges, byte_order)
            self.key = precedence_key(options.ties, self.tokens)

    def _wrong_parts(self) -> _Wrong | None:
        seen: dict[Pair, int] = {}
        for rank, pair in enumerate(self.pairs):
            if not 0 <= min(pair) <= max(pair) < N_BYTES + rank:
                return _Wrong(rank, "a part of it is made by no merge before it")
            if seen.setdefault(pair, rank) != rank:
                return _Wrong(rank, f"it is the merge of rank {seen[pair]} once more")
        return None

    def spell(self, pair: Pair) -> str:
        return f"{self.tokens[pair[0]]!r} + {self.tokens[pair[1]]!r}"

    def is_short(self, pair: Pair) -> bool:
        longest = self.options.max_token_length
        return longest is None or len(self.tokens[pair[0]]) + len(self.tokens[pair[1]]) <= longest

    def error(self) -> VerificationError:
        assert self.wrong is not None
        rank, reason = self.wrong
        is_spelled = hasattr(self, "tokens") and rank < len(self.pairs)
        named = f" ({self.spell(self.pairs[rank])})" if is_spelled else ""
        return VerificationError(rank, f"the merge of rank {rank}{named} is not that of exact BPE: {reason}")


def verify_merges(
    counts: WordCounts,
    options: LearningOptions,
    merges: IdArray,
    byte_order: ByteArray,
    merge_counts: CountArray | None = None,
    *,
    n_given: int = 0,
    seed: int = 0,
    reporter: Reporter | None = None,
) -> MergeChecks:
    """Check that merges are what exact BPE learns from word counts.

    Args:
        counts: the words that they were learned from.
        options: how; `n_merges` is how many were asked for.
        merges: int32[n, 2] in learning ids; row = rank.
        byte_order: uint8[256], the byte that each of the learning ids 0…255 stands for.
        merge_counts: int64[n], what the trainer counted; None if nobody knows.
        n_given: merges at the front that were given, not learned from these words: they are made,
            and what was learned behind them is checked, but for 4.
        seed: of the sample of words, if there must be one.
        reporter: told of the phases `replay` and `check`.

    Returns:
        What was checked, and the replay.

    Raises:
        VerificationError: the first wrong merge, and what is wrong about it.

    Example:
        >>> counts, order = WordCounts.from_dict({"low": 5, "lower": 2}), np.arange(256, dtype=np.uint8)
        >>> right = np.array([[111, 119], [108, 256]], dtype=np.int32)
        >>> verify_merges(counts, LearningOptions(2), right, order).n_first_merges
        2
        >>> verify_merges(counts, LearningOptions(2), right[:, ::-1], order)
        Traceback (most recent call last):
            ...
        bpenb.errors.VerificationError: the merge of rank 0 (b'w' + b'o') is not that of exact BPE: \
it occurs 0 times, and b'o' + b'w' 7 times
    """
    reporter = reporter or Reporter(None)
    claim = _Claim(merges, byte_order, options, n_given)
    if claim.wrong is not None:
        raise claim.error()
    replay = replay_merges(counts, merges, byte_order, reporter)
    words = sample_words(counts, FIRST_BYTES, seed)
    n_first = min(FIRST_MERGES, len(claim.pairs)) if len(words) and not n_given else 0
    tally = PairTally(counts, words, byte_order, n_first)
    found = [
        _wrong_first(claim, tally, n_first, replay, reporter),
        _wrong_count(claim, replay, merge_counts),
        _wrong_length(claim),
        _wrong_order(claim, replay.pair_counts.tolist()),
        _wrong_end(claim, replay),
    ]
    claim.wrong = min((wrong for wrong in found if wrong is not None), key=lambda w: w.rank, default=None)
    if claim.wrong is not None:
        raise claim.error()
    return MergeChecks(len(counts), n_first, len(words), replay)


def _wrong_count(claim: _Claim, replay: Replay, merge_counts: CountArray | None) -> _Wrong | None:
    """Hold every count against the replay, and against the least that may merge."""
    least = max(1, claim.options.min_frequency)
    counted = replay.pair_counts
    claimed = counted if merge_counts is None else merge_counts
    learned = np.arange(len(counted)) >= claim.n_given
    for rank in np.flatnonzero(learned & ((claimed != counted) | (counted < least))).tolist():
        told = "" if merge_counts is None else f" ({int(claimed[rank]):,} by the trainer)"
        why = f"; the least that may merge is {least:,}" if counted[rank] < least else ""
        return _Wrong(rank, f"it occurs {int(counted[rank]):,} times{told}{why}")
    return None


def _wrong_length(claim: _Claim) -> _Wrong | None:
    """Hold every token against the longest that was allowed."""
    for rank, pair in enumerate(claim.pairs):
        if rank >= claim.n_given and not claim.is_short(pair):
            return _Wrong(rank, f"its token is longer than {claim.options.max_token_length} bytes")
    return None


def _wrong_order(claim: _Claim, counted: list[int]) -> _Wrong | None:
    """Hold every merge against all those before it that were chosen when its pair was there already.

    A count only falls, so the pair had its count of now at least: each merge chosen before must
    have a greater count, or the same and precede it by the tie rule. `least` are the ranks whose
    key is below all that come after them: the first of them from a rank on has the least key.
    """
    keys = [(count, *claim.key(pair)) for count, pair in zip(counted, claim.pairs, strict=True)]
    least: list[int] = []
    wrong: _Wrong | None = None
    for rank, pair in enumerate(claim.pairs[claim.n_given :], claim.n_given):
        born = max(max(pair) - N_BYTES + 1, claim.n_given)  # there when this rank was chosen
        at = bisect.bisect_left(least, born)
        if at < len(least) and keys[least[at]] < keys[rank]:
            end = rank if wrong is None else wrong.rank
            first = next((r for r in range(born, end) if keys[r] < keys[rank]), None)
            if first is not None:
                told = f"{claim.spell(pair)}, of rank {rank}, {counted[rank]:,} times then"
                wrong = _Wrong(first, f"it occurs {counted[first]:,} times, and {told}")
        while least and keys[least[-1]] > keys[rank]:
            least.pop()
        least.append(rank)
    return wrong


def _wrong_first(
    claim: _Claim, tally: PairTally, n_first: int, replay: Replay, reporter: Reporter
) -> _Wrong | None:
    """At each of the first merges, look for a better pair among all there are."""
    reporter.start("check", n_first, "merges")
    lengths = np.array([len(token) for token in claim.tokens[: N_BYTES + n_first]])
    longest = claim.options.max_token_length
    allowed = None if longest is None else lengths[:, None] + lengths[None, :] <= longest
    for rank, pair in enumerate(claim.pairs[:n_first]):
        counts = tally.pair_counts if allowed is None else np.where(allowed, tally.pair_counts, 0)
        rival = _better(claim, pair, int(replay.pair_counts[rank]), counts)
        if rival is not None:
            told = f"it occurs {int(replay.pair_counts[rank]):,} times, and {claim.spell(rival)}"
            return _Wrong(rank, f"{told} {int(counts[rival]):,} times")
        tally.merge(*pair, N_BYTES + rank)
        reporter.update(rank + 1)
    reporter.finish(n_first)
    return None


def _better(claim: _Claim, chosen: Pair, count: int, counts: CountArray) -> Pair | None:
    """Return the pair of a table of counts that merges before the chosen one, if there is one."""
    top = int(counts.max())
    if top < count or top == 0:
        return None
    left, right = np.nonzero(counts == top)
    best = max(zip(left.tolist(), right.tolist(), strict=True), key=claim.key)
    return best if top > count or claim.key(best) > claim.key(chosen) else None


def _wrong_end(claim: _Claim, replay: Replay) -> _Wrong | None:
    """Look at the pairs that are left after the last merge."""
    n, last = len(claim.pairs), len(claim.pairs) - 1
    stopped = n < claim.options.n_merges
    if not stopped and n == claim.n_given:
        return None
    least = max(1, claim.options.min_frequency) if stopped else int(replay.pair_counts[last])
    for pair, count in _pairs_left(replay.words, least):
        if not claim.is_short(pair):
            continue
        if stopped:
            return _Wrong(n, f"there is none, though {claim.spell(pair)} occurs {count:,} times")
        was_there = N_BYTES + last not in pair
        if was_there and (count > least or claim.key(pair) > claim.key(claim.pairs[last])):
            return _Wrong(
                last, f"it occurs {least:,} times, and {claim.spell(pair)} {count:,} times after it"
            )
    return None


def _pairs_left(words: WordRows, least: int) -> Iterator[tuple[Pair, int]]:
    """Yield the pairs in rows of tokens that occur `least` times at least, with their counts."""
    n_pairs = np.maximum(words.row_lengths.astype(np.int64) - 1, 0)
    starts = np.repeat(words.row_offsets[:-1] - np.cumsum(n_pairs) + n_pairs, n_pairs)
    places = starts + np.arange(int(n_pairs.sum()))
    keys = words.tokens[places].astype(np.int64) << 32 | words.tokens[places + 1]
    order = np.argsort(keys)
    keys, weights = keys[order], np.repeat(words.word_counts, n_pairs)[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(firsts) == 0:
        return
    counts = np.add.reduceat(weights, firsts)
    many = counts >= least
    for key, count in zip(keys[firsts][many].tolist(), counts[many].tolist(), strict=True):
        yield (key >> 32, key & 0xFFFFFFFF), count
