"""The script for a corpus of very many distinct words, at a hundredth of its size."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tools import check_size

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="peaks are those of Linux")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("n_words", [1, 16, 17, 5000])
def test_the_text_has_every_word_as_often_as_it_says(n_words: int) -> None:
    words = Counter(b"".join(check_size.text_of(n_words)).split())
    assert len(words) == n_words
    assert sum(words.values()) == check_size.total_of(n_words)
    times = Counter(check_size.times_of(number) for number in range(n_words))
    assert Counter(words.values()) == times


def run(folder: Path, n_words: int, max_memory: str) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "tools.check_size", str(folder), "--words", str(n_words)]
    options = ["--max-memory", max_memory, "--vocab-size", "8k", "--workers", "2"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@linux_only
def test_a_million_words_within_a_budget(tmp_path: Path) -> None:
    run(tmp_path, 1000, "4GB")  # compiles
    steps = run(tmp_path, 10**6, "300MB")
    assert [step["step"] for step in steps] == ["count", "train"]
    assert all(int(str(step["peak_bytes_so_far"])) <= 300 * 10**6 for step in steps)
