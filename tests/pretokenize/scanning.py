"""The compiled scanners against `regex`: many texts at once, each a segment of one buffer."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import regex
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import START, CompiledEngine, ScanBuffer

# One pattern of each kind; `llama3` is `cl100k` by another name.
DISTINCT_PATTERNS = ("gpt2", "cl100k", "qwen2", "nanochat", "o200k", "whitespace")

# One character for each class that some pattern can tell apart, each spelled in as many bytes as matters.
ALPHABET = (
    "'stlverSE"  # contractions, lower and upper case
    "\u017f"  # folds to s
    "1\u0663"  # numbers
    " \n\r\t\u00a0\u3000"  # whitespace
    "\u00e9\u4e2d\U00020000"  # letters of two, three and four bytes: Ll, Lo, Lo
    "\u01c5\u02b0"  # Lt, Lm
    "\u0301"  # a mark
    "/!\u2026"  # the rest
)
SMALL_ALPHABETS = (
    "a1! \n\t\u00a0'",
    "'slveS\u017f ",
    "Aa\u4e2d\u0301's/\n",
    "\u00e9\u2026\u0663\u3000\r \U00020000\u0301",
)


def strings(alphabet: str, length: int) -> Iterator[str]:
    """Every string of a length over an alphabet."""
    return map("".join, itertools.product(alphabet, repeat=length))


def batches(texts: Iterable[str], size: int = 1 << 17) -> Iterator[list[str]]:
    """Lists of at most `size` texts."""
    iterator = iter(texts)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


@functools.cache
def engine_of(pattern: str) -> CompiledEngine:
    """The compiled engine of a pattern."""
    return CompiledEngine(resolve_pattern(pattern))


@functools.cache
def _buffer() -> ScanBuffer:
    """One buffer for all texts, so that what an earlier text left behind would show."""
    return ScanBuffer(1 << 16)


def marked_bytes(pattern: str, data: bytes, segments: np.ndarray) -> np.ndarray:
    """Return bool[len(data)]: where the compiled engine lets a pretoken start."""
    buffer = _buffer()
    buffer.fill(data)
    assert engine_of(pattern).mark(buffer, np.ascontiguousarray(segments, dtype=np.int64))
    bits = buffer.planes[START, : len(data) // 64 + 1].view(np.uint8)
    return np.unpackbits(bits, count=len(data), bitorder="little").astype(bool)


def check_texts(pattern: str, texts: Sequence[str], gap: str = "") -> int:
    """Scan texts as segments of one buffer, `gap` behind each; all must be cut as `regex` cuts them.

    Returns how many texts that were. A gap is what a special token is: text of no segment.
    """
    stretches = list(itertools.chain.from_iterable((text, gap) for text in texts)) if gap else texts
    data = "".join(stretches).encode()
    in_bytes = np.frombuffer(data, dtype=np.uint8)
    characters = np.append(np.flatnonzero(in_bytes & 0xC0 != 0x80), len(data))  # where each one starts
    ends = np.cumsum(np.fromiter(map(len, stretches), dtype=np.int64, count=len(stretches)))
    segments = characters[np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)]
    segments = segments[:: 2 if gap else 1]

    found = map(regex.compile(resolve_pattern(pattern).regex, regex.V0).findall, texts)
    if gap:
        found = itertools.chain.from_iterable(([*pretokens], [gap]) for pretokens in found)
    lengths = np.fromiter(map(len, itertools.chain.from_iterable(found)), dtype=np.int64)
    assert lengths.sum() == characters.size - 1  # the pattern loses nothing
    expected = np.zeros(len(data), dtype=bool)
    expected[characters[np.cumsum(lengths) - lengths]] = True

    wrong = np.flatnonzero(marked_bytes(pattern, data, segments) != expected)
    for at in wrong.tolist():
        number = int(np.searchsorted(segments[:, 0], at, side="right")) - 1
        start, end = segments[number].tolist()
        if at < end:  # within a gap anything goes
            raise AssertionError(f"{pattern}: {texts[number]!r} at byte {start}, wrong at byte {at - start}")
    return len(texts)
