"""From word counts to merges.

learn          the door: checks, packs, runs the driver
ties.py        which of two equal pairs goes first, in one place
state.py       the arrays
index.py       first pairs and inverted index     heap.py      the array-backed heap
recount.py     stale pairs, serial and parallel   merging.py   the merge loop
driver.py      phases, growth, threads            words.py     packing and allocation
memory.py      whether it fits into a budget

verify_merges  the checks of a result: verify.py, by a replay on all words and by slow_rule.py
replay_merges  what known merges do to the words: replay.py, its kernel in replay_words.py
"""

from __future__ import annotations

from bpenb.training.door import kernels_compiled, learn, warmup
from bpenb.training.driver import MergeResult
from bpenb.training.memory import check_memory
from bpenb.training.replay import Replay, replay_merges
from bpenb.training.settings import LearningOptions, check_count, learning_options, n_merges_for
from bpenb.training.slow_rule import replay_word, sample_words
from bpenb.training.ties import TIE_MODES, byte_order, check_ties
from bpenb.training.verify import MergeChecks, verify_merges

__all__ = [
    "TIE_MODES",
    "LearningOptions",
    "MergeChecks",
    "MergeResult",
    "Replay",
    "byte_order",
    "check_count",
    "check_memory",
    "check_ties",
    "kernels_compiled",
    "learn",
    "learning_options",
    "n_merges_for",
    "replay_merges",
    "replay_word",
    "sample_words",
    "verify_merges",
    "warmup",
]
