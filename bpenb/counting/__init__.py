"""Counting: texts in, `WordCounts` out, the only product that crosses a process, a file or a machine."""

from bpenb.counting.count import (
    count_documents,
    count_files,
    count_sources,
    made_by,
    nothing_counted,
    settle_shard,
    shard_of,
    shard_to_count,
    sources_to_count,
)
from bpenb.counting.in_threads import kernels_compiled, load_kernels, warmup
from bpenb.counting.memory_plan import MemoryPlan
from bpenb.counting.merge import merge_counts, plan_merge
from bpenb.counting.output import check_merge_output, complete_counts
from bpenb.counting.rare import DroppedWords, check_min_word_count, drop_rare_words
from bpenb.counting.runs import RunBlock, StoredWords, Words, merge_blocks
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
    "RunBlock",
    "Shard",
    "StoredWords",
    "WordCounts",
    "WordTable",
    "Words",
    "Workforce",
    "check_merge_output",
    "check_min_word_count",
    "complete_counts",
    "count_documents",
    "count_files",
    "count_sources",
    "describe_missing",
    "drop_rare_words",
    "kernels_compiled",
    "load_kernels",
    "made_by",
    "merge_blocks",
    "merge_counts",
    "nothing_counted",
    "plan_merge",
    "read_share",
    "settle_shard",
    "shard_of",
    "shard_to_count",
    "sources_to_count",
    "warmup",
]
