"""The folder that a tokenizer on characters is saved as.

bpenb.json       characters, mark, pattern, special tokens; it says that this is such a folder
codes.txt        the merges as subword-nmt has them; we read these two
tokenizer.json   for Hugging Face's `tokenizers`
report.json      what the training measured, if it was trained here
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bpenb
from bpenb.classic.codes import codes_text, parse_codes, read_codes
from bpenb.classic.hf_json import classic_tokenizer_json
from bpenb.classic.model import UNKNOWN_TOKEN, ClassicModel
from bpenb.errors import BpenbError, FormatError
from bpenb.formats import (
    CLASSIC_FILES,
    CLASSIC_FORMAT,
    SETTINGS,
    check_replaceable,
    checked_id,
    expect,
    parse_specials,
    read_json,
    settled,
    write_folder,
)

__all__ = ["check_classic_folder", "read_classic", "save_classic", "save_tokenizer_json"]

CODES, TOKENIZER, REPORT = "codes.txt", "tokenizer.json", "report.json"
FORMAT_VERSION = 1


def check_classic_folder(path: str | os.PathLike[str], force: bool = False) -> None:
    """Raise now what `save_classic` would raise because of the folder.

    Raises:
        OutputError: a file, or a folder of something else and no `force`.
    """
    check_replaceable(Path(path), CLASSIC_FILES, SETTINGS, force)


def save_classic(
    model: ClassicModel,
    path: str | os.PathLike[str],
    report: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Save a model as a folder; arguments and errors as of `bpenb.formats.save_folder`."""
    files = {
        CODES: codes_text(model),
        TOKENIZER: classic_tokenizer_json(model),
        SETTINGS: _settings_json(model),
    }
    if report is not None:
        files[REPORT] = (json.dumps(report, ensure_ascii=False, indent=2, default=str) + "\n").encode()
    write_folder(Path(path), files, CLASSIC_FILES, SETTINGS, force)


def save_tokenizer_json(model: ClassicModel, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a folder with tokenizer.json alone; errors as of `save_classic`."""
    write_folder(Path(path), {TOKENIZER: classic_tokenizer_json(model)}, (), TOKENIZER, force)


def read_classic(path: str | os.PathLike[str]) -> ClassicModel:
    """Return the model of a folder that `save_classic` wrote, or of a file of codes.

    Raises:
        FormatError: neither, or files that are damaged or do not belong together.
    """
    place = settled(Path(path), CLASSIC_FILES, SETTINGS)
    if place.is_file() and place.name != SETTINGS:
        warnings.warn(
            f"{place}: codes hold no alphabet; characters that they do not merge become {UNKNOWN_TOKEN} "
            "(ClassicTokenizer.from_codes takes further ones)",
            stacklevel=3,
        )
        return read_codes(place)
    folder = place.parent if place.name == SETTINGS else place
    settings_path, codes_path = folder / SETTINGS, folder / CODES
    top = expect(read_json(settings_path), dict, settings_path, "the file")
    if top.get("format") != CLASSIC_FORMAT:
        raise FormatError(
            f"{settings_path}: format must be {CLASSIC_FORMAT!r}, not {top.get('format')!r}; a tokenizer on "
            "bytes is read by Tokenizer.load"
        )
    version = expect(top.get("format_version"), int, settings_path, "format_version")
    if version != FORMAT_VERSION:
        raise FormatError(
            f"{settings_path}: format version {version} is unknown to bpenb {bpenb.__version__}, which reads "
            f"version {FORMAT_VERSION}; it was written by bpenb {top.get('bpenb_version')}"
        )
    special_ids = parse_specials(top.get("special_tokens"), settings_path)
    strings = [expect(top.get(k), str, settings_path, k) for k in ("characters", "end_of_word", "pattern")]
    try:
        model = ClassicModel.from_merges(strings[0], parse_codes(codes_path), special_ids, *strings[1:])
    except FormatError:
        raise
    except BpenbError as error:
        raise FormatError(f"{folder}: {error}") from error
    _check(model, special_ids, top, settings_path)
    return model


def _settings_json(model: ClassicModel) -> bytes:
    document = {
        "format": CLASSIC_FORMAT,
        "format_version": FORMAT_VERSION,
        "bpenb_version": bpenb.__version__,
        "characters": "".join(model.characters),
        "end_of_word": model.end_of_word,
        "pattern": model.pattern.regex,
        "special_tokens": [{"token": name, "id": i} for name, i in model.special_tokens.items()],
        "n_vocab": model.n_vocab,
        "n_merges": model.n_merges,
    }
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def _check(model: ClassicModel, special_ids: dict[str, int], top: dict[str, Any], path: Path) -> None:
    if special_ids != model.special_tokens:
        raise FormatError(f"{path}: special_tokens must have the ids 1 to {len(special_ids)}, in their order")
    for key, found in (("n_vocab", model.n_vocab), ("n_merges", model.n_merges)):
        expected = checked_id(top.get(key), path, key)
        if found != expected:
            raise FormatError(
                f"{path.parent}: {key} is {found}, but {expected} in {SETTINGS}: cut short, or of another"
            )
