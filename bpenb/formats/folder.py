"""The folder that a tokenizer is saved as: every format, and our settings beside them.

tokenizer.json            for Hugging Face's `tokenizers` and all that reads it
tokenizer_config.json     beside it, for `transformers`: the roles of special tokens
vocab.json, merges.txt    as GPT-2 and the CS336 course have them; we read these
tokenizer.tiktoken        for `tiktoken`; left out, with a warning, where it cannot hold the model
bpenb.json                pattern, special tokens, their roles, padding, ties, Unicode version
token_bytes.npy           how many bytes each id stands for
report.json               what the training measured, if it was trained here
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bpenb.errors import FormatError, OutputError
from bpenb.formats.byte_counts import token_bytes_npy
from bpenb.formats.gpt2_files import merges_txt, read_merges_txt, read_vocab_json, vocab_json
from bpenb.formats.hf_config import TOKENIZER_CONFIG, tokenizer_config_json
from bpenb.formats.hf_json import tokenizer_json
from bpenb.formats.hf_split import warn_if_cut_differently
from bpenb.formats.reading import expect, model_errors, read_json, warn_missing_bytes
from bpenb.formats.replacing import check_replaceable, is_ours, settled, write_folder
from bpenb.formats.settings import Settings, read_settings, settings_json
from bpenb.formats.tiktoken_file import tiktoken_file
from bpenb.model import BPEModel

__all__ = [
    "BYTE_COUNTS",
    "MERGES",
    "SETTINGS",
    "TIKTOKEN",
    "TOKENIZER",
    "VOCAB",
    "check_folder",
    "is_tokenizer_folder",
    "read_folder",
    "read_training_report",
    "save_folder",
    "settled_folder",
]

TOKENIZER, VOCAB, MERGES, SETTINGS = "tokenizer.json", "vocab.json", "merges.txt", "bpenb.json"
TIKTOKEN, REPORT = "tokenizer.tiktoken", "report.json"
BYTE_COUNTS = "token_bytes.npy"
_OF_CHARACTERS = "codes.txt"  # of a tokenizer on characters: such a folder may be replaced
_FILES = (TOKENIZER, TOKENIZER_CONFIG, VOCAB, MERGES, TIKTOKEN, BYTE_COUNTS, SETTINGS, REPORT, _OF_CHARACTERS)


def check_folder(path: str | os.PathLike[str], force: bool = False) -> None:
    """Raise now what `save_folder` would raise because of the folder, before hours of work.

    Raises:
        OutputError: a file, or a folder of something else and no `force`.
    """
    check_replaceable(Path(path), _FILES, SETTINGS, force)


def save_folder(
    model: BPEModel,
    path: str | os.PathLike[str],
    report: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Save a model as a folder; a crash leaves the old one or the new one.

    Args:
        model: what to save.
        path: a folder that is missing, empty or holds a bpenb tokenizer and nothing else; it is
            replaced as a whole.
        report: written as report.json; None for none.
        force: write into any other folder too, file by file; foreign files stay as they are.

    Raises:
        OutputError: a folder that must not be overwritten or cannot be written, or a model that
            no file can hold (one string with two ids).
    """
    target = Path(path)
    check_folder(target, force)
    warn_if_cut_differently(model.pattern)
    files = {
        TOKENIZER: tokenizer_json(model),
        TOKENIZER_CONFIG: tokenizer_config_json(model),
        BYTE_COUNTS: token_bytes_npy(model),
        VOCAB: vocab_json(model),
        MERGES: merges_txt(model),
        SETTINGS: settings_json(model),
    }
    try:
        files[TIKTOKEN] = tiktoken_file(model)
    except OutputError as error:
        warnings.warn(f"{TIKTOKEN} is left out: {error}", stacklevel=3)
    if report is not None:
        files[REPORT] = (json.dumps(report, ensure_ascii=False, indent=2, default=_plain) + "\n").encode()
    write_folder(target, files, _FILES, SETTINGS, force)


def _plain(value: Any) -> Any:
    """Return what JSON can hold for numbers and arrays of numpy, and for paths."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def is_tokenizer_folder(path: Path) -> bool:
    """Tell whether a folder holds a tokenizer that `save_folder` wrote, and nothing else."""
    return path.is_dir() and is_ours(path, _FILES, SETTINGS)


def settled_folder(path: Path) -> Path:
    """Return where to read the folder `path`: elsewhere only after a crash while it was saved."""
    return settled(path, _FILES, SETTINGS)


def read_folder(folder: Path) -> BPEModel:
    """Return the model of a folder that `save_folder` wrote.

    Raises:
        FormatError: a file that is missing or damaged, or files that do not belong together.
    """
    settings = read_settings(folder / SETTINGS)
    vocab_path, merges_path = folder / VOCAB, folder / MERGES
    parsed = read_vocab_json(vocab_path, settings.special_tokens)
    merges, first_line = read_merges_txt(merges_path)
    for name, token_id in settings.special_tokens.items():
        if parsed.special_ids.get(name) != token_id:
            found = parsed.special_ids.get(name, "none")
            raise FormatError(
                f"{vocab_path}: special token {name!r} has id {found}, but {token_id} in {SETTINGS}"
            )
    with model_errors(vocab_path, merges_path, first_line):
        model = BPEModel.from_ids(
            parsed.ordinary,
            merges,
            settings.special_tokens,
            settings.pattern,
            settings.ties,
            settings.engine,
            settings.unicode_version,
        ).with_roles(settings.roles, settings.pad_multiple)
    _check_sizes(model, settings, folder)
    return warn_missing_bytes(replace(model, traits=settings.traits), vocab_path)


def read_training_report(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the report of the training that a folder was saved with.

    Args:
        path: where a tokenizer is; None is returned if that is no folder of ours, or has no report.

    Raises:
        FormatError: a report.json that is damaged.
    """
    folder = settled_folder(Path(path))
    if not (folder / SETTINGS).is_file() or not (folder / REPORT).is_file():
        return None
    return expect(read_json(folder / REPORT), dict, folder / REPORT, "it")


def _check_sizes(model: BPEModel, settings: Settings, folder: Path) -> None:
    sizes = ((VOCAB, "n_vocab", model.n_vocab), (MERGES, "n_merges", model.n_merges))
    for name, key, found in sizes:
        expected = getattr(settings, key)
        if found != expected:
            raise FormatError(
                f"{folder / name}: {key} is {found}, but {expected} in {SETTINGS}: cut short, or of another"
            )
