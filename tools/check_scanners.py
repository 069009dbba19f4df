"""Compare the compiled scanners with `regex` on every string over the alphabet of telling characters.

    python -m tools.check_scanners                          # all patterns, to length 5: some ten minutes
    python -m tools.check_scanners --length 4 o200k gpt2    # seconds
    python -m tools.check_scanners --length 8 --alphabet "Aa1'!/ "

From the root of the project. The alphabet is the one of tests/pretokenize/scanning.py; the strings are
scanned by the hundred thousand as segments of one buffer, so each stands at many places of the 64-byte
blocks, between many neighbours that it must not see. Prints one line for each pattern; stops at the
first difference.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import time

from bpenb.pretokenize.classes import UNICODE_VERSION
from tests.pretokenize.scanning import ALPHABET, DISTINCT_PATTERNS, batches, check_texts, strings


def check_prefix(pattern: str, alphabet: str, length: int, prefix: str) -> int:
    """Check every string of a length that begins with `prefix`; returns how many."""
    texts = (prefix + rest for rest in strings(alphabet, length - len(prefix)))
    return sum(check_texts(pattern, batch) for batch in batches(texts))


def check_pattern(
    pool: multiprocessing.pool.Pool, pattern: str, alphabet: str, length: int, gap: str
) -> None:
    """Check every string to a length with one pattern, and print how many those were."""
    start = time.perf_counter()
    n_strings = sum(check_texts(pattern, list(strings(alphabet, n)), gap) for n in range(1, min(length, 4)))
    for n in range(min(length, 4), length + 1):
        check = functools.partial(check_prefix, pattern, alphabet, n)
        n_strings += sum(pool.imap_unordered(check, strings(alphabet, min(n - 1, 1))))
    seconds = time.perf_counter() - start
    print(
        f"{pattern:10}  {n_strings:12,} strings to length {length}  0 differences  {seconds:6.0f} s",
        flush=True,
    )


def main() -> None:
    """Check the patterns asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", default=DISTINCT_PATTERNS, metavar="PATTERN")
    parser.add_argument("--length", type=int, default=5, help="of the longest strings (5)")
    parser.add_argument("--alphabet", default=ALPHABET, help="characters; default: one for each class")
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    alphabet = "".join(dict.fromkeys(arguments.alphabet))
    print(f"{len(alphabet)} characters, Unicode {UNICODE_VERSION}: {alphabet!a}", flush=True)
    for pattern in arguments.patterns:
        check_texts(pattern, ["compile once, not in every process"])
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        for pattern in arguments.patterns:
            check_pattern(pool, pattern, alphabet, arguments.length, "<|gap|>")


if __name__ == "__main__":
    main()
