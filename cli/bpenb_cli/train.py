"""`bpenb train`: text files in, a tokenizer folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _mixture as mixture
from bpenb_cli import _options as options
from bpenb_cli._profile import profiled
from bpenb_cli._progress import shown_progress
from bpenb_cli._summary import show_summary
from bpenb_cli._train_source import FromCountsOption, TrainInputsArgument, train_from, training_files

__all__ = ["EXAMPLE", "train"]

EXAMPLE = "Example: bpenb train corpus.txt --vocab-size 50257 -o tokenizer"


def train(
    context: typer.Context,
    inputs: TrainInputsArgument = None,
    from_counts: FromCountsOption = None,
    vocab_size: Annotated[int, typer.Option(help="Tokens at most, the 256 bytes included.")] = 32000,
    special_token: options.SpecialTokenOption = None,
    no_special_tokens: options.NoSpecialTokensOption = False,
    pattern: options.PatternOption = None,
    ties: Annotated[
        options.Ties, typer.Option(help="Which of equally frequent pairs merges first: as whose trainer.")
    ] = options.Ties.CS336,
    min_frequency: Annotated[int, typer.Option(help="Least count of a pair that is merged.")] = 1,
    max_token_length: Annotated[int | None, typer.Option(help="Longest token, in bytes.")] = None,
    min_word_count: mixture.MinWordCountOption = 1,
    max_bytes_per_source: mixture.CapOption = None,
    sample: mixture.SampleOption = None,
    seed: mixture.SeedOption = 0,
    engine: options.EngineOption = options.Engine.AUTO,
    workers: options.WorkersOption = None,
    pool: options.PoolOption = options.Pool.AUTO,
    chunk_size: options.ChunkSizeOption = None,
    max_memory: options.MaxMemoryOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = options.TOKENIZER,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder of something else.")] = False,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    profile: Annotated[Path | None, typer.Option(help="Write cProfile data to this file.")] = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Train a tokenizer on text files, and save it as a folder."""
    specials = options.chosen_special_tokens(special_token, no_special_tokens)
    files = training_files(context, inputs, from_counts)
    with shown_progress(progress, "counting", "training") as show:
        import bpenb
        from bpenb.formats import check_folder

        check_folder(output, force)  # not after an hour's work
        with profiled(profile):
            tokenizer = train_from(
                files,
                from_counts,
                specials,
                pattern,
                vocab_size=vocab_size,
                ties=ties.value,
                min_frequency=min_frequency,
                max_token_length=max_token_length,
                min_word_count=min_word_count,
                workers=bpenb.Workforce(workers, pool.value, chunk_size, max_memory=max_memory),
                progress=show,
                errors=errors.value,
                engine=engine.value,
                max_bytes_per_source=max_bytes_per_source,
                sample=sample,
                seed=seed,
            )
            tokenizer.save(output, force=force)
    assert tokenizer.report is not None
    show_summary(tokenizer.report, output)
