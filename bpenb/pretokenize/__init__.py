"""Pre-tokenization: texts in, pretokens out, in this process or in many."""

from bpenb._workers import available_workers, resolve_workers
from bpenb.pretokenize.pool import WorkerPool, default_start_method
from bpenb.pretokenize.regex_engine import RegexEngine, Utf8Errors, regex_unicode_version
from bpenb.pretokenize.word_job import DocumentBatch, RangeBatch, TextTask, WordArrays, WordCountJob

__all__ = [
    "DocumentBatch",
    "RangeBatch",
    "RegexEngine",
    "TextTask",
    "Utf8Errors",
    "WordArrays",
    "WordCountJob",
    "WorkerPool",
    "available_workers",
    "default_start_method",
    "regex_unicode_version",
    "resolve_workers",
]
