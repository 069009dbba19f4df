"""`bpenb count`: files of text or rows in, a file of word counts out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _mixture as mixture
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli._cluster_options import ClusterArgument, ResumeOption, takes_cluster
from bpenb_cli._counts_summary import show_count
from bpenb_cli._progress import shown_progress

__all__ = ["EXAMPLE", "count"]

EXAMPLE = "Example: bpenb count corpus.txt --shard 1/2 -o counts-1.npz"


@takes_cluster
def count(
    inputs: mixture.InputsArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("counts.npz"),
    shard: Annotated[
        str | None, typer.Option(help="i/n counts the i-th of n shares; a complete one is left as it is.")
    ] = None,
    special_token: options.SpecialTokenOption = None,
    no_special_tokens: options.NoSpecialTokensOption = False,
    pattern: options.PatternOption = None,
    max_bytes_per_source: mixture.CapOption = None,
    sample: mixture.SampleOption = None,
    seed: mixture.SeedOption = 0,
    field: reading.FieldOption = "text",
    document_separator: reading.SeparatorOption = None,
    skip_bad_rows: reading.SkipBadRowsOption = False,
    engine: options.EngineOption = options.Engine.AUTO,
    workers: options.WorkersOption = None,
    pool: options.PoolOption = options.Pool.AUTO,
    chunk_size: options.ChunkSizeOption = None,
    max_memory: options.MaxMemoryOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace any file; count a shard again.")] = False,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
    resume: ResumeOption = False,
    cluster: ClusterArgument = None,
) -> None:
    """Count the words of files, to train from or to merge; shards can be counted on many machines."""
    specials = options.chosen_special_tokens(special_token, no_special_tokens)
    files = mixture.weighted_files(inputs)
    if resume and cluster is None:
        raise typer.BadParameter("--resume is for --scheduler, --scheduler-file or --local-cluster")
    with shown_progress(progress, "counting") as show:
        import bpenb

        report = bpenb.count_to_file(
            files,
            output,
            force=force,
            pattern=pattern or "gpt2",
            special_tokens=[options.DEFAULT_SPECIAL_TOKEN] if specials is None else specials,
            progress=show,
            inputs=reading.input_options(field, document_separator, skip_bad_rows),
            shard=shard,
            cluster=cluster,
            **mixture.taken(max_bytes_per_source, sample, seed),
            **reading.reading(errors, engine, workers, pool, chunk_size, max_memory),
        )
    show_count(report)
