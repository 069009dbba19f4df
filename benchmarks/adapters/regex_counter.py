"""`regex` and `Counter` in a pool of processes: what one writes who has no library."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import metadata

import regex
from bpenb.patterns import PATTERNS

from benchmarks.documents import plan_ranges, read_range

train = TWIN = None


def version() -> str:
    return metadata.version("regex")


def count(path: str, special: str, pattern: str) -> Callable[[], Mapping[bytes, int]]:
    workers = int(os.environ.get("BPENB_BENCH_WORKERS", "0")) or None
    jobs = ((path, *ends, special, pattern) for ends in plan_ranges(path, special))
    words: Counter[str] = Counter()
    with multiprocessing.Pool(workers) as pool:
        for part in pool.imap_unordered(_count_range, jobs):
            words.update(part)
    return lambda: {word.encode(): n for word, n in words.items()}


def _count_range(job: tuple[str, int, int, str, str]) -> Counter[str]:
    path, start, end, special, pattern = job
    find_all, words = regex.compile(PATTERNS[pattern]).findall, Counter[str]()
    for document in read_range(path, start, end).split(special):
        words.update(find_all(document))
    return words
