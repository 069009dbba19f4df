"""Counting: texts in, `WordCounts` out, the only product that crosses a process, a file or a machine."""

from bpenb.counting.count import (
    CountResult,
    CountSettings,
    EngineOption,
    PoolOption,
    Workforce,
    count_documents,
    count_files,
)
from bpenb.counting.in_threads import kernels_compiled, warmup
from bpenb.counting.memory_plan import MemoryPlan
from bpenb.counting.table import WordTable, word_key
from bpenb.counting.word_counts import WordCounts

__all__ = [
    "CountResult",
    "CountSettings",
    "EngineOption",
    "MemoryPlan",
    "PoolOption",
    "WordCounts",
    "WordTable",
    "Workforce",
    "count_documents",
    "count_files",
    "kernels_compiled",
    "warmup",
    "word_key",
]
