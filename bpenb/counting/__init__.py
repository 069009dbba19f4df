"""Counting: texts in, `WordCounts` out, the only product that crosses a process, a file or a machine."""

from bpenb.counting.count import count_documents, count_files, made_by, shard_to_count
from bpenb.counting.in_threads import kernels_compiled, warmup
from bpenb.counting.memory_plan import MemoryPlan
from bpenb.counting.merge import merge_counts, plan_merge
from bpenb.counting.output import check_merge_output, complete_counts
from bpenb.counting.rare import DroppedWords, check_min_word_count, drop_rare_words
from bpenb.counting.runs import Words
from bpenb.counting.settings import CountResult, CountSettings, EngineOption, PoolOption, Workforce
from bpenb.counting.shards import Shard, describe_missing, read_share
from bpenb.counting.table import WordTable
from bpenb.counting.word_counts import WordCounts

__all__ = [
    "CountResult",
    "CountSettings",
    "DroppedWords",
    "EngineOption",
    "MemoryPlan",
    "PoolOption",
    "Shard",
    "WordCounts",
    "WordTable",
    "Words",
    "Workforce",
    "check_merge_output",
    "check_min_word_count",
    "complete_counts",
    "count_documents",
    "count_files",
    "describe_missing",
    "drop_rare_words",
    "kernels_compiled",
    "made_by",
    "merge_counts",
    "plan_merge",
    "read_share",
    "shard_to_count",
    "warmup",
]
