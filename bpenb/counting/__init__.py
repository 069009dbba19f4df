"""Counting: texts in, `WordCounts` out, the only product that crosses a process, a file or a machine."""

from bpenb.counting.count import CountResult, CountSettings, count_documents, count_files
from bpenb.counting.table import WordTable
from bpenb.counting.word_counts import WordCounts

__all__ = ["CountResult", "CountSettings", "WordCounts", "WordTable", "count_documents", "count_files"]
