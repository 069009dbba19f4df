"""subword-nmt 0.3.8 as a function, and the texts that it is compared on."""

from __future__ import annotations

import io
import os
import warnings
from contextlib import redirect_stderr
from pathlib import Path

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own imports
    from subword_nmt import apply_bpe, learn_bpe

DATA = os.environ.get("BPENB_TEST_DATA")
TEXTS = ("corpus.en", "german.txt", "tinystories_sample.txt")

needs_data = pytest.mark.skipif(not DATA, reason="BPENB_TEST_DATA names no folder of reference data")


def text_of(name: str) -> str:
    assert DATA
    return Path(DATA, name).read_text("utf-8")


def learned_codes(text: str, n_merges: int, min_frequency: int = 2) -> str:
    """The file of codes that subword-nmt learns."""
    out = io.StringIO()
    with redirect_stderr(io.StringIO()):
        learn_bpe.learn_bpe(io.StringIO(text, newline=None), out, n_merges, min_frequency)
    return out.getvalue()


def segmented(text: str, codes: str) -> list[str]:
    """The tokens that subword-nmt cuts a text into, with its own mark @@ for those that go on."""
    bpe = apply_bpe.BPE(io.StringIO(codes))
    lines = io.StringIO(text, newline=None)
    return [token for line in lines for token in bpe.process_line(line).split(" ") if token.strip("\r\n")]
