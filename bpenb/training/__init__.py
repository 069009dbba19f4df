"""From word counts to merges.

learn          the door: checks, packs, runs the driver
ties.py        which of two equal pairs goes first, in one place
state.py       the arrays
index.py       first pairs and inverted index     heap.py      the array-backed heap
recount.py     stale pairs, serial and parallel   merging.py   the merge loop
driver.py      phases, growth, threads            words.py     packing and allocation
memory.py      whether it fits into a budget
"""

from __future__ import annotations

from bpenb.training.door import kernels_compiled, learn, warmup
from bpenb.training.driver import MergeResult
from bpenb.training.memory import check_memory
from bpenb.training.settings import LearningOptions, check_count, learning_options, n_merges_for
from bpenb.training.ties import TIE_MODES, check_ties

__all__ = [
    "TIE_MODES",
    "LearningOptions",
    "MergeResult",
    "check_count",
    "check_memory",
    "check_ties",
    "kernels_compiled",
    "learn",
    "learning_options",
    "n_merges_for",
    "warmup",
]
