"""`bpenb encode`: a text file in, token ids as .npy on standard output."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bpenb_cli import _options as options
from bpenb_cli._progress import shown_progress

__all__ = ["EXAMPLE", "encode"]

EXAMPLE = "Example: bpenb encode file.txt > ids.npy"


def encode(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A text file, UTF-8; `-` is standard input.")],
    tokenizer: options.TokenizerOption = options.TOKENIZER,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Encode a text file; the ids go to standard output as a NumPy array (uint16 or uint32)."""
    with shown_progress(progress, "encoding") as show:
        from bpenb import Tokenizer
        from bpenb.dataset import NpyWriter
        from bpenb.encoding import encode_file_blocks
        from bpenb.progress import make_reporter

        loaded = Tokenizer.load(tokenizer)
        reporter = make_reporter(show)
        with NpyWriter("-", loaded.n_vocab) as out:
            reporter.start("encode", None, "tokens")
            source = sys.stdin.buffer if file == "-" else file
            for ids in encode_file_blocks(loaded, source, errors=errors.value):
                out.write(ids)
                reporter.update(out.n_ids)
        reporter.finish(out.n_ids)
