"""`bpenb encode`: files of text or rows in, token ids out: as .npy on standard output, or training files."""

from __future__ import annotations

import typer

from bpenb_cli import _dataset_options as dataset
from bpenb_cli import _encode_options as encoding
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli._amounts import amount_of
from bpenb_cli._choices import Specials
from bpenb_cli._either_kind import open_run
from bpenb_cli._encode_checks import check_options
from bpenb_cli._file_kinds import TokenFiles
from bpenb_cli._progress import shown_progress

__all__ = ["EXAMPLE", "encode"]

EXAMPLE = (
    "Example: bpenb encode file.txt > ids.npy; bpenb encode corpus/ -o data --format llmc --shard-tokens 100M"
)


def encode(
    context: typer.Context,
    inputs: encoding.EncodeInputsArgument,
    tokenizer: options.TokenizerOption = options.TOKENIZER,
    special: encoding.SpecialOption = Specials.ALL,
    append_eot: encoding.AppendEotOption = False,
    prepend_eot: encoding.PrependEotOption = False,
    eot: encoding.EotOption = None,
    field: reading.FieldOption = "text",
    document_separator: reading.SeparatorOption = None,
    skip_bad_rows: reading.SkipBadRowsOption = False,
    errors: options.ErrorsOption = options.Utf8Errors.STRICT,
    workers: options.WorkersOption = None,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
    output: dataset.OutputOption = None,
    format: dataset.FormatOption = TokenFiles.NPY,
    shard_tokens: dataset.ShardTokensOption = None,
    seq_len: dataset.SeqLenOption = None,
    val_fraction: dataset.ValFractionOption = 0.0,
    shuffle: dataset.ShuffleOption = False,
    seed: dataset.SeedOption = 0,
    max_memory: dataset.ShuffleMemoryOption = None,
    no_document_index: dataset.NoDocumentIndexOption = False,
    resume: dataset.ResumeOption = False,
    force: dataset.ForceOption = False,
    count_only: encoding.CountOnlyOption = False,
    per_file: encoding.PerFileOption = False,
    as_json: encoding.JsonOption = False,
) -> None:
    """Encode text or rows: the ids go to standard output as a NumPy array, or to training files (-o)."""
    check_options(context, count_only=count_only, to_files=output is not None)
    shards, row = amount_of("--shard-tokens", shard_tokens), amount_of("--seq-len", seq_len)
    with shown_progress(progress, "encoding") as show:
        from bpenb import EncodeSettings, OutputSettings

        settings = EncodeSettings(
            inputs=reading.input_options(field, document_separator, skip_bad_rows),
            errors=errors.value,
            special=special.value,
            append_eot=append_eot,
            prepend_eot=prepend_eot,
            eot=eot,
            val_fraction=val_fraction,
            shuffle=shuffle,
            seed=seed,
            max_memory=max_memory,
        )
        run = open_run(context, tokenizer, inputs, settings, workers, show)
        if count_only:
            run.count(per_file, as_json)
        elif output is None:
            run.to_stdout()
        else:
            run.to_files(
                output, OutputSettings(format.value, shards, row, not no_document_index), resume, force
            )
