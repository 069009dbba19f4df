"""The phases of the demo: gather, train, save, load, encode, decode, compare."""

from __future__ import annotations

import filecmp
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bpenb.progress import ProgressCallback

from bpenb_cli._demo_corpus import DemoCorpus, write_corpus

__all__ = ["DemoResult", "run_demo"]


@dataclass
class DemoResult:
    """What the demo found.

    Attributes:
        corpus: the text.
        report: of the training.
        seconds: of each phase.
        n_ids: token ids that the text became.
        comes_back: whether the decoded ids are the text, byte for byte.
    """

    corpus: DemoCorpus
    report: dict[str, Any]
    seconds: dict[str, float]
    n_ids: int = 0
    comes_back: bool = False


@dataclass
class _Clock:
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - started


def run_demo(root: Path, folder: Path, vocab_size: int, show: ProgressCallback | None) -> DemoResult:
    """Do the main job once, through the same doors and files as the commands.

    Args:
        root: where the text files are.
        folder: for the corpus, the tokenizer, the ids and the decoded text.
        vocab_size: of the tokenizer.
        show: told of the progress of the training.
    """
    import bpenb
    from bpenb.dataset import read_ids
    from bpenb.encoding import decode_blocks

    clock = _Clock()
    with clock.phase("gather"):
        corpus = write_corpus(root, folder / "corpus.txt")
    with clock.phase("train"):
        trained = bpenb.train(corpus.path, vocab_size=vocab_size, progress=show)
    with clock.phase("save"):
        trained.save(folder / "tokenizer")
    with clock.phase("load"):
        tokenizer = bpenb.Tokenizer.load(folder / "tokenizer")
    with clock.phase("encode"):
        n_ids = bpenb.encode_to_files(tokenizer, corpus.path, folder / "ids.npy").n_tokens
    with clock.phase("decode"), (folder / "decoded.txt").open("wb") as decoded:
        for text in decode_blocks(tokenizer, read_ids(folder / "ids.npy")):
            decoded.write(text)
    with clock.phase("compare"):
        comes_back = filecmp.cmp(corpus.path, folder / "decoded.txt", shallow=False)
    return DemoResult(corpus, dict(trained.report or {}), clock.seconds, n_ids, comes_back)
