"""From word counts to merges.

learn          the door: checks, packs, runs the driver
ties.py        which of two equal pairs goes first, in one place
state.py       the arrays
words.py       packing and allocation             rows.py      one word's tokens, and a merge in them
index.py       first pairs and inverted index     heap.py      the array-backed heap
recount.py     stale pairs, serial and parallel   births.py    the pairs that a merge brings forth
merging.py     the merge loop                     replay.py    merges that are given
driver.py      phases                             at_work.py   the arrays of one training, growth
steps.py       several merges per step, which is not exact BPE
memory.py      whether it fits into a budget
characters.py  learn_from_tokens: words of any base tokens
sequences.py   learn_merges, apply_merges: the same on any whole numbers
checkpoint.py  the merges so far, in a file       checkpoint_file.py   its format
coordinator.py round_plan.py  the same where words lie in shards: who decides, and what is certain
word_shard.py  shard_kernels.py pair_lookup.py   one shard; rounds.py, local_shards.py: what they exchange
csr.py, pair_heap.py   kernels on plain arrays, for others

Not part of a training, and sharing nothing with it:
verify.py        verify_merges, the checks of a result, by the definition in slow_rule.py and by
word_replay.py   replay_merges, what known merges do, word by word; its kernel in word_replay_kernel.py
"""

from __future__ import annotations

from bpenb.training.at_work import GivenMerges
from bpenb.training.characters import learn_from_tokens
from bpenb.training.checkpoint import (
    Checkpoint,
    OpenCheckpoint,
    digest,
    open_checkpoint,
    training_identity,
)
from bpenb.training.csr import count_pairs, merge_word, recount_pair
from bpenb.training.door import kernels_compiled, learn, learn_shared, load_shard_kernels, warmup
from bpenb.training.driver import MergeResult
from bpenb.training.index import find_slot
from bpenb.training.memory import check_memory
from bpenb.training.pair_heap import pop_pair, push_pair
from bpenb.training.rounds import ShardLostError, Shards
from bpenb.training.sequences import apply_merges, learn_merges
from bpenb.training.settings import LearningOptions, check_count, learning_options, n_merges_for
from bpenb.training.slow_rule import replay_word, sample_words
from bpenb.training.ties import SUBWORD_NMT, TIE_MODES, byte_order, check_ties
from bpenb.training.verify import MergeChecks, verify_merges
from bpenb.training.word_replay import Replay, replay_merges
from bpenb.training.word_shard import WordShard

__all__ = [
    "SUBWORD_NMT",
    "TIE_MODES",
    "Checkpoint",
    "GivenMerges",
    "LearningOptions",
    "MergeChecks",
    "MergeResult",
    "OpenCheckpoint",
    "Replay",
    "ShardLostError",
    "Shards",
    "WordShard",
    "apply_merges",
    "byte_order",
    "check_count",
    "check_memory",
    "check_ties",
    "count_pairs",
    "digest",
    "find_slot",
    "kernels_compiled",
    "learn",
    "learn_from_tokens",
    "learn_merges",
    "learn_shared",
    "learning_options",
    "load_shard_kernels",
    "merge_word",
    "n_merges_for",
    "open_checkpoint",
    "pop_pair",
    "push_pair",
    "recount_pair",
    "replay_merges",
    "replay_word",
    "sample_words",
    "training_identity",
    "verify_merges",
    "warmup",
]
