"""Count a corpus of very many distinct words within a memory budget, and train on it.

    python -m tools.check_size FOLDER                                  # 10⁸ words, 4 GB: some minutes
    python -m tools.check_size FOLDER --words 1e6 --max-memory 300MB   # seconds

From the root of the project; FOLDER takes 18 bytes for each word of the corpus, and files on the way
take three times as much. Every word is made up from a number of its own. One in sixteen occurs twice, of
these one in sixteen four times, and so on, so most of them are as rare as most words of real text. The
counts are compared with what was written; each command's time and peak memory are printed. Linux and
macOS: the peak is what the system says of ended processes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bpenb._memory import parse_memory
from bpenb.counting import WordCounts

SYLLABLES = [a + b for a in "bdfgklmnprstvwxz" for b in ("a", "e", "i", "o")]  # 64 of two letters
SCRAMBLE = 0x9E3779B1  # odd: one to one on numbers of 30 bits
N_SYLLABLES = 5  # 64⁵ = 2³⁰ words
AT_ONCE = 1 << 20
REPEATED = 16  # one word in so many occurs again


def times_of(number: int) -> int:
    """Return how often the word of a number (from 0) occurs."""
    times = 1
    while number % REPEATED == 0 and number:
        number //= REPEATED
        times *= 2
    return times


def total_of(n_words: int) -> int:
    """Return how many words there are in the text, each as often as it occurs."""
    total, power = n_words, REPEATED
    extra = 1
    while power < n_words:
        total += extra * ((n_words - 1) // power)
        power, extra = power * REPEATED, extra * 2
    return total


def text_of(n_words: int) -> Iterator[bytes]:
    """Yield the text: every word once, then those again that are repeated, in another order each time."""
    syllables = np.array([f"{s}" for s in SYLLABLES], dtype="S2").view(np.uint8).reshape(-1, 2)
    step, times = 1, 1
    while step == 1 or step < n_words:
        for _ in range(times):
            for first in range(0 if step == 1 else step, n_words, step * AT_ONCE):
                numbers = np.arange(first, min(n_words, first + step * AT_ONCE), step, dtype=np.uint64)
                scrambled = numbers * np.uint64(SCRAMBLE) & np.uint64((1 << 30) - 1)
                letters = np.full((numbers.shape[0], 1 + 2 * N_SYLLABLES), ord(" "), dtype=np.uint8)
                for place in range(N_SYLLABLES):
                    chosen = (scrambled >> np.uint64(6 * place) & np.uint64(63)).astype(np.int64)
                    letters[:, 1 + 2 * place : 3 + 2 * place] = syllables[chosen]
                yield letters.tobytes()
        times = 1 if step == 1 else 2 * times
        step *= REPEATED


def write_corpus(path: Path, n_words: int) -> None:
    """Write the text, if it is not there from an earlier run."""
    n_bytes = (1 + 2 * N_SYLLABLES) * total_of(n_words)
    if path.exists() and path.stat().st_size == n_bytes:
        return
    with path.open("wb") as file:
        for part in text_of(n_words):
            file.write(part)
    assert path.stat().st_size == n_bytes


def run(title: str, arguments: list[str], folder: Path) -> int:
    """Run a command of bpenb, and print what it took; returns the highest peak so far, in bytes.

    Raises:
        SystemExit: it failed.
    """
    environment = os.environ | {"BPENB_TMPDIR": str(folder)}
    started = time.perf_counter()
    code = subprocess.run([sys.executable, "-m", "bpenb_cli", *arguments], env=environment).returncode
    seconds = time.perf_counter() - started
    if code:
        raise SystemExit(f"{title}: exit code {code}")
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    print(json.dumps({"step": title, "seconds": round(seconds, 1), "peak_bytes_so_far": peak}), flush=True)
    return peak


def main() -> None:
    """Write, count, compare, train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", type=float, default=1e8)
    parser.add_argument("--max-memory", default="4GB")
    parser.add_argument("--vocab-size", default="32k")
    parser.add_argument("--workers", default=str(os.cpu_count() or 1))
    arguments = parser.parse_args()
    n_words, budget = int(arguments.words), parse_memory(arguments.max_memory)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    corpus, counts_file = arguments.folder / f"words-{n_words}.txt", arguments.folder / "counts.npz"
    write_corpus(corpus, n_words)
    limits = ["--workers", arguments.workers, "--max-memory", arguments.max_memory]
    limits += ["--force", "--progress", "none"]
    run("count", ["count", str(corpus), "-o", str(counts_file), *limits], arguments.folder)
    counts = WordCounts.load(counts_file)
    assert len(counts) == n_words, f"{len(counts)} words, not {n_words}"
    assert counts.n_pretokens == total_of(n_words)
    twice = int((counts.word_counts >= 2).sum())
    assert twice == (n_words - 1) // REPEATED, f"{twice} words occur again"
    del counts
    options = ["--vocab-size", arguments.vocab_size, "--min-word-count", "2"]
    peak = run("train", ["train", str(corpus), "-o", str(arguments.folder / "tokenizer"), *options, *limits],
               arguments.folder)  # fmt: skip
    if peak > budget:
        raise SystemExit(f"{peak:,} bytes were resident; the budget is {budget:,}")


if __name__ == "__main__":
    main()
