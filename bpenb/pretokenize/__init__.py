"""Pre-tokenization: texts in, pretokens out, in this process or in many.

Two engines: `RegexEngine` runs any pattern, `CompiledEngine` the known ones at memory speed. What
belongs to the second is loaded when it is first asked for: worker processes never import Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bpenb._workers import available_workers, resolve_workers
from bpenb.pretokenize.pool import WorkerPool, default_start_method
from bpenb.pretokenize.regex_engine import RegexEngine, Utf8Errors, regex_unicode_version
from bpenb.pretokenize.word_job import DocumentBatch, RangeBatch, TextTask, WordArrays, WordCountJob

if TYPE_CHECKING:
    from bpenb.pretokenize.classes import LETTER, MARK, NUMBER, WHITESPACE, class_table
    from bpenb.pretokenize.compiled_engine import CompiledEngine, ScanBuffer, first_invalid, is_known
    from bpenb.pretokenize.invalid_text import buffer_of, find_invalid_utf8, replace_invalid
    from bpenb.pretokenize.planes import PADDING, START
    from bpenb.pretokenize.pretoken_ends import (
        CL100K,
        GPT2,
        NANOCHAT,
        QWEN2,
        SPLIT_WHITESPACE,
        ScanArrays,
        list_pretoken_ends,
        make_scan_arrays,
    )
    from bpenb.pretokenize.segments import SegmentFinder
    from bpenb.pretokenize.starts import ends_in_block
    from bpenb.pretokenize.word_keys import (
        LENGTH_MASK,
        LONG,
        MULTIPLIER,
        SECOND_MULTIPLIER,
        SHORT,
        same_bytes,
        word_key,
    )

__all__ = [
    "CL100K",
    "GPT2",
    "LENGTH_MASK",
    "LETTER",
    "LONG",
    "MARK",
    "MULTIPLIER",
    "NANOCHAT",
    "NUMBER",
    "PADDING",
    "QWEN2",
    "SECOND_MULTIPLIER",
    "SHORT",
    "SPLIT_WHITESPACE",
    "START",
    "WHITESPACE",
    "CompiledEngine",
    "DocumentBatch",
    "RangeBatch",
    "RegexEngine",
    "ScanArrays",
    "ScanBuffer",
    "SegmentFinder",
    "TextTask",
    "Utf8Errors",
    "WordArrays",
    "WordCountJob",
    "WorkerPool",
    "available_workers",
    "buffer_of",
    "class_table",
    "default_start_method",
    "ends_in_block",
    "find_invalid_utf8",
    "first_invalid",
    "is_known",
    "list_pretoken_ends",
    "make_scan_arrays",
    "regex_unicode_version",
    "replace_invalid",
    "resolve_workers",
    "same_bytes",
    "word_key",
]

_COMPILED = {
    "ends_in_block": "starts",
    "PADDING": "planes",
    "START": "planes",
    "SegmentFinder": "segments",
    "buffer_of": "invalid_text",
    "find_invalid_utf8": "invalid_text",
    "replace_invalid": "invalid_text",
    "CompiledEngine": "compiled_engine",
    "ScanBuffer": "compiled_engine",
    "first_invalid": "compiled_engine",
    "is_known": "compiled_engine",
    "CL100K": "pretoken_ends",
    "GPT2": "pretoken_ends",
    "NANOCHAT": "pretoken_ends",
    "QWEN2": "pretoken_ends",
    "SPLIT_WHITESPACE": "pretoken_ends",
    "ScanArrays": "pretoken_ends",
    "list_pretoken_ends": "pretoken_ends",
    "make_scan_arrays": "pretoken_ends",
    "LENGTH_MASK": "word_keys",
    "LONG": "word_keys",
    "MULTIPLIER": "word_keys",
    "SECOND_MULTIPLIER": "word_keys",
    "SHORT": "word_keys",
    "same_bytes": "word_keys",
    "word_key": "word_keys",
    "LETTER": "classes",
    "MARK": "classes",
    "NUMBER": "classes",
    "WHITESPACE": "classes",
    "class_table": "classes",
}


def __getattr__(name: str) -> Any:
    if name not in _COMPILED:
        raise AttributeError(f"module 'bpenb.pretokenize' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"bpenb.pretokenize.{_COMPILED[name]}"), name)
