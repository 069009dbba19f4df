"""A text of any size, with as many distinct words as a web corpus of that size.

    python -m benchmarks.noise OUT --gb 12 --corpora FOLDER

The corpora are written again and again; in every copy some letters are replaced by others, chosen
by a seed, so that words keep coming up that were never seen: at the usual rate, 12 GB hold about as
many distinct words as OpenWebText (6.6 million). The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import SPECIAL, corpora_folder, find_corpora

RATE = 0.0036  # letters that change
_PIECE = 1 << 25
_SEPARATOR = re.compile(re.escape(SPECIAL).encode())
_A, _Z = ord("a"), ord("z")


def with_noise(text: bytes, rng: np.random.Generator, rate: float) -> bytes:
    """Return a text in which some of the letters a to z are others; separators stay."""
    letters = np.frombuffer(text, dtype=np.uint8).copy()
    places = rng.integers(0, letters.size, rng.binomial(letters.size, rate))
    places = places[(letters[places] >= _A) & (letters[places] <= _Z)]
    letters[places] = rng.integers(_A, _Z + 1, places.size, dtype=np.uint8)
    noisy = bytearray(letters.tobytes())
    for found in _SEPARATOR.finditer(text):
        noisy[found.start() : found.end()] = found.group()
    return bytes(noisy)


def pieces(paths: list[Path]) -> Iterator[bytes]:
    """Yield the texts over and over, in pieces that end at a line's end."""
    for path in itertools.cycle(paths):
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece + file.readline()


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gb", type=float, default=12.0)
    parser.add_argument("--corpora", type=Path, metavar="FOLDER")
    parser.add_argument("--corpus", action="append", default=[], help="a name or a path; again for more")
    parser.add_argument("--rate", type=float, default=RATE, help="share of the letters that change")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    paths = [corpus.path for corpus in find_corpora(options.corpus, corpora_folder(options.corpora))]
    rng = np.random.default_rng(options.seed)
    left = int(options.gb * 1e9)
    with options.out.open("xb") as out:
        for piece in pieces(paths):
            some = piece if len(piece) <= left else piece[: piece.rfind(b"\n", 0, left) + 1]
            out.write(with_noise(some, rng, options.rate))
            left -= len(some)
            if len(some) < len(piece) or left == 0:
                break


if __name__ == "__main__":
    main()
