"""`bpenb train`: files of text or rows in, a tokenizer folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _going_on as going
from bpenb_cli import _mixture as mixture
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli import _vocab_options as vocab
from bpenb_cli._profile import profiled
from bpenb_cli._progress import shown_progress
from bpenb_cli._train_options import EvalOption, TiesOption, VerifyOption, VocabSizeOption, parse_vocab_sizes
from bpenb_cli._train_run import check_output, learning, rooms, train_all
from bpenb_cli._train_source import FromCountsOption, TrainInputsArgument, prepare_source, training_files

__all__ = ["EXAMPLE", "train"]

EXAMPLE = "Example: bpenb train corpus.txt --vocab-size 50257 -o tokenizer"


def train(
    context: typer.Context,
    inputs: TrainInputsArgument = None,
    from_counts: FromCountsOption = None,
    vocab_size: VocabSizeOption = "32000",
    eval_files: EvalOption = None,
    special_token: options.SpecialTokenOption = None,
    no_special_tokens: options.NoSpecialTokensOption = False,
    bos: vocab.BosOption = None,
    eos: vocab.EosOption = None,
    pad: vocab.PadOption = None,
    unk: vocab.UnkOption = None,
    reserve_special_tokens: vocab.ReserveOption = 0,
    pad_vocab_to_multiple: vocab.PadToOption = None,
    pattern: options.PatternOption = None,
    ties: TiesOption = None,
    min_frequency: Annotated[int, typer.Option(help="Least count of a pair that is merged.")] = 1,
    max_token_length: Annotated[int | None, typer.Option(help="Longest token, in bytes.")] = None,
    min_word_count: mixture.MinWordCountOption = 1,
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
    base: going.BaseOption = None,
    checkpoint: going.CheckpointOption = None,
    resume: going.ResumeOption = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = options.TOKENIZER,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder of something else.")] = False,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    verify: VerifyOption = False,
    profile: Annotated[Path | None, typer.Option(help="Write cProfile data to this file.")] = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Train a tokenizer on files of text or rows, and save it as a folder."""
    sizes = parse_vocab_sizes(vocab_size, None if base else eval_files)
    specials = options.chosen_special_tokens(special_token, no_special_tokens)
    files = training_files(context, inputs, from_counts)
    start = going.going_on(base, checkpoint, resume, force, output, specials, len(sizes))
    with shown_progress(progress, *rooms(verify or base is not None)) as show, profiled(profile):
        settings = start | learning(min_frequency, max_token_length, min_word_count, ties, verify, show)
        settings |= vocab.vocab_options(reserve_special_tokens, pad_vocab_to_multiple, bos, eos, pad, unk)
        settings |= {"inputs": reading.input_options(field, document_separator, skip_bad_rows)}
        settings |= mixture.taken(max_bytes_per_source, sample, seed)
        settings |= reading.reading(errors, engine, workers, pool, chunk_size, max_memory)
        check_output(output, force, len(sizes))
        source, settings = prepare_source(files, from_counts, specials, pattern, settings)
        show_result = train_all(source, sizes, eval_files or [], settings, output, force)
    show_result()
