"""`bpenb train`: files of text or rows in, a tokenizer folder out."""

from __future__ import annotations

import typer

from bpenb_cli import _classic_options as classic
from bpenb_cli import _going_on as going
from bpenb_cli import _mixture as mixture
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli import _train_options as its
from bpenb_cli import _vocab_options as vocab
from bpenb_cli._classic_checks import classic_options
from bpenb_cli._train_counts import ClusterArgument, prepare_source, takes_cluster, training_files
from bpenb_cli._train_run import at_work, train_all
from bpenb_cli._train_settings import training_settings

__all__ = ["EXAMPLE", "train"]

EXAMPLE = "Example: bpenb train corpus.txt --vocab-size 50257 -o tokenizer"


@takes_cluster
def train(
    context: typer.Context,
    inputs: its.TrainInputsArgument = None,
    from_counts: its.FromCountsOption = None,
    vocab_size: its.VocabSizeOption = "32000",
    eval_files: its.EvalOption = None,
    special_token: options.SpecialTokenOption = None,
    no_special_tokens: options.NoSpecialTokensOption = False,
    bos: vocab.BosOption = None,
    eos: vocab.EosOption = None,
    pad: vocab.PadOption = None,
    unk: vocab.UnkOption = None,
    reserve_special_tokens: vocab.ReserveOption = 0,
    pad_vocab_to_multiple: vocab.PadToOption = None,
    pattern: options.PatternOption = None,
    ties: its.TiesOption = None,
    min_frequency: classic.MinFrequencyOption = None,
    merges_per_step: classic.MergesPerStepOption = 1,
    alphabet: classic.AlphabetOption = classic.Alphabet.BYTES,
    end_of_word: classic.EndOfWordOption = None,
    min_character_count: classic.MinCharacterCountOption = None,
    max_token_length: its.MaxTokenLengthOption = None,
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
    output: its.OutputOption = options.TOKENIZER,
    force: its.ForceOption = False,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    verify: its.VerifyOption = False,
    profile: its.ProfileOption = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
    cluster: ClusterArgument = None,
) -> None:
    """Train a tokenizer on files of text or rows, and save it as a folder."""
    given = dict(locals())
    sizes = its.parse_vocab_sizes(vocab_size, None if base else eval_files)
    specials = options.chosen_special_tokens(special_token, no_special_tokens)
    files, characters = training_files(context, inputs, from_counts), classic_options(given, sizes)
    start = going.going_on(base, checkpoint, resume and not cluster, force, output, specials, len(sizes))
    with at_work(given, len(sizes), characters) as show:
        settings = start | training_settings(given, characters, show)
        source, settings = prepare_source(given, files, specials, sizes, settings, characters)
        show_result = train_all(source, sizes, eval_files or [], settings, output, force, characters)
    show_result()
