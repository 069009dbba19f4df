"""`bpenb decode`: token ids in, the bytes of the text on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bpenb_cli import _options as options
from bpenb_cli._progress import shown_progress

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["EXAMPLE", "decode"]

EXAMPLE = "Example: bpenb decode ids.npy > file.txt"


def decode(
    file: Annotated[str, typer.Argument(metavar="IDS", help="A .npy file of ids; `-` is standard input.")],
    tokenizer: options.TokenizerOption = options.TOKENIZER,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Decode token ids; the text goes to standard output, byte for byte."""
    with shown_progress(progress, "encoding") as show:
        from bpenb import Tokenizer
        from bpenb.dataset import read_ids
        from bpenb.encoding import decode_blocks
        from bpenb.progress import make_reporter

        loaded = Tokenizer.load(tokenizer)
        reporter = make_reporter(show)
        reporter.start("decode", None, "tokens")
        n_ids = 0

        def counted() -> Iterator[npt.NDArray[Any]]:
            nonlocal n_ids
            for ids in read_ids(file):
                yield ids
                n_ids += len(ids)
                reporter.update(n_ids)

        for text in decode_blocks(loaded, counted()):
            sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        reporter.finish(n_ids)
