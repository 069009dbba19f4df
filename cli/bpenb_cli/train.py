"""`bpenb train`: text files in, a tokenizer folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _going_on as going
from bpenb_cli import _options as options
from bpenb_cli._gains import rates, show_gains
from bpenb_cli._profile import profiled
from bpenb_cli._progress import shown_progress
from bpenb_cli._summary import show_summary

__all__ = ["EXAMPLE", "train"]

EXAMPLE = "Example: bpenb train corpus.txt --vocab-size 50257 -o tokenizer"


def train(
    inputs: Annotated[list[Path], typer.Argument(metavar="INPUT", help="Text files, UTF-8.")],
    vocab_size: Annotated[int, typer.Option(help="Tokens at most, the 256 bytes included.")] = 32000,
    special_token: Annotated[
        list[str] | None,
        typer.Option(
            help="Separates documents and is never learned; may be given several times.",
            show_default=options.DEFAULT_SPECIAL_TOKEN,
        ),
    ] = None,
    no_special_tokens: Annotated[bool, typer.Option("--no-special-tokens", help="Have none.")] = False,
    pattern: options.PatternOption = None,
    ties: options.TiesOption = None,
    min_frequency: Annotated[int, typer.Option(help="Least count of a pair that is merged.")] = 1,
    max_token_length: Annotated[int | None, typer.Option(help="Longest token, in bytes.")] = None,
    engine: options.EngineOption = options.Engine.AUTO,
    workers: options.WorkersOption = None,
    pool: options.PoolOption = options.Pool.AUTO,
    chunk_size: options.ChunkSizeOption = None,
    max_memory: options.MaxMemoryOption = None,
    base: going.BaseOption = None,
    evaluate: going.EvalOption = None,
    checkpoint: going.CheckpointOption = None,
    resume: going.ResumeOption = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = options.TOKENIZER,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder of something else.")] = False,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    profile: Annotated[Path | None, typer.Option(help="Write cProfile data to this file.")] = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Train a tokenizer on text files, and save it as a folder."""
    if no_special_tokens and (special_token or base):
        raise typer.BadParameter("--no-special-tokens excludes --special-token and --base")
    start = going.going_on(base, evaluate, checkpoint, resume, force, output)
    with shown_progress(progress, "counting", "training") as show:
        import bpenb
        from bpenb.formats import check_folder

        check_folder(output, force)  # not after an hour's work
        before = rates(base, evaluate, errors.value, pattern)
        with profiled(profile):
            tokenizer = bpenb.train(
                list(inputs),
                vocab_size=vocab_size,
                special_tokens=() if no_special_tokens else special_token,
                pattern=pattern,
                ties=ties and ties.value,
                min_frequency=min_frequency,
                max_token_length=max_token_length,
                workers=bpenb.Workforce(workers, pool.value, chunk_size, max_memory=max_memory),
                progress=show,
                errors=errors.value,
                engine=engine.value,
                **start,
            )
            tokenizer.save(output, force=force)
        show_gains(tokenizer, evaluate, before, errors.value)
    assert tokenizer.report is not None
    show_summary(tokenizer.report, output)
