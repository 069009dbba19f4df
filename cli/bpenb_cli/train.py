"""`bpenb train`: text files in, a tokenizer folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _options as options
from bpenb_cli._profile import profiled
from bpenb_cli._progress import shown_progress
from bpenb_cli._train_options import EvalOption, VerifyOption, VocabSizeOption, parse_vocab_sizes
from bpenb_cli._train_run import rooms, train_one, train_several

__all__ = ["EXAMPLE", "train"]

EXAMPLE = "Example: bpenb train corpus.txt --vocab-size 50257 -o tokenizer"


def train(
    inputs: Annotated[list[Path], typer.Argument(metavar="INPUT", help="Text files, UTF-8.")],
    vocab_size: VocabSizeOption = "32000",
    eval_files: EvalOption = None,
    special_token: Annotated[
        list[str] | None,
        typer.Option(
            help="Separates documents and is never learned; may be given several times.",
            show_default=options.DEFAULT_SPECIAL_TOKEN,
        ),
    ] = None,
    no_special_tokens: Annotated[bool, typer.Option("--no-special-tokens", help="Have none.")] = False,
    pattern: Annotated[str, typer.Option(help=f"One of {options.PATTERN_NAMES}, or a regex.")] = "gpt2",
    ties: Annotated[
        options.Ties, typer.Option(help="Which of equally frequent pairs merges first: as whose trainer.")
    ] = options.Ties.CS336,
    min_frequency: Annotated[int, typer.Option(help="Least count of a pair that is merged.")] = 1,
    max_token_length: Annotated[int | None, typer.Option(help="Longest token, in bytes.")] = None,
    engine: options.EngineOption = options.Engine.AUTO,
    workers: options.WorkersOption = None,
    pool: options.PoolOption = options.Pool.AUTO,
    chunk_size: options.ChunkSizeOption = None,
    max_memory: options.MaxMemoryOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = options.TOKENIZER,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder of something else.")] = False,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    verify: VerifyOption = False,
    profile: Annotated[Path | None, typer.Option(help="Write cProfile data to this file.")] = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Train a tokenizer on text files, and save it as a folder."""
    if special_token and no_special_tokens:
        raise typer.BadParameter("--special-token and --no-special-tokens exclude each other")
    sizes = parse_vocab_sizes(vocab_size, eval_files)
    with shown_progress(progress, *rooms(verify)) as show:
        import bpenb

        settings = {
            "special_tokens": () if no_special_tokens else special_token or [options.DEFAULT_SPECIAL_TOKEN],
            "pattern": pattern,
            "ties": ties.value,
            "min_frequency": min_frequency,
            "max_token_length": max_token_length,
            "workers": bpenb.Workforce(workers, pool.value, chunk_size, max_memory=max_memory),
            "progress": show,
            "errors": errors.value,
            "engine": engine.value,
            "verify": verify,
        }
        with profiled(profile):
            if len(sizes) == 1:
                show_result = train_one(inputs, sizes[0], settings, output, force)
            else:
                show_result = train_several(inputs, sizes, eval_files or [], settings, output, force)
    show_result()
