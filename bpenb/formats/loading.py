"""Finding out what a path holds, and reading it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bpenb._vocab_checks import checked_special_names
from bpenb.errors import FormatError
from bpenb.formats import gpt2_files
from bpenb.formats.classic_kind import is_classic
from bpenb.formats.folder import MERGES, SETTINGS, TOKENIZER, VOCAB, read_folder, settled_folder
from bpenb.formats.hf_json import parse_tokenizer_json
from bpenb.formats.reading import model_errors, read_json, warn_missing_bytes
from bpenb.formats.reencoding import find_not_reencoded
from bpenb.formats.settings import on_characters, read_settings
from bpenb.formats.tiktoken_file import read_tiktoken, recover_merges
from bpenb.model import UNKNOWN, BPEModel
from bpenb.patterns import DEFAULT_PATTERN, SplitPattern, resolve_pattern
from bpenb.traits import Traits

__all__ = ["load_model", "load_vocab_merges"]

_FOLDER_KINDS = f"{SETTINGS}, {TOKENIZER}, or {VOCAB} with {MERGES}"


def load_model(path: str | os.PathLike[str], *, pattern: str | SplitPattern | None = None) -> BPEModel:
    """Read a tokenizer that bpenb or somebody else saved.

    Args:
        path: a folder that was saved by bpenb or has a tokenizer.json, or vocab.json and
            merges.txt; or one such file; or a .tiktoken file. vocab.json and .tiktoken take
            pattern and special tokens from a bpenb.json beside them.
        pattern: the split pattern, where no file tells it: needed for a .tiktoken file;
            vocab.json is taken for GPT-2's without.

    Raises:
        FormatError: not a tokenizer, or a damaged one; the message names the file, and line or key.
        PatternError: an unknown pattern.
    """
    place = settled_folder(Path(path))
    asked = None if pattern is None else resolve_pattern(pattern)
    if not place.exists():
        raise FormatError(f"{place}: there is no such file or folder")
    model = _load_folder(place, asked) if place.is_dir() else _load_file(place, asked)
    if asked is not None and asked.regex != model.pattern.regex:
        raise FormatError(f"{place}: its split pattern is {str(model.pattern)!r}, not {str(asked)!r}")
    return model


def load_vocab_merges(
    vocab_path: str | os.PathLike[str],
    merges_path: str | os.PathLike[str],
    special_tokens: Iterable[str] | None,
    pattern: str | SplitPattern,
) -> BPEModel:
    """Read a vocab.json and a merges.txt, bytes spelled in GPT-2's printable characters.

    Args:
        vocab_path: JSON of token to id.
        merges_path: a merge a line, two parts with a space between.
        special_tokens: those in the vocab keep their id, the others get ids after the highest.
        pattern: neither file tells it.

    Raises:
        FormatError: a file that is not what it should be, with line or token, or two that do not
            belong together.
        ModelError: an empty special token.
        PatternError: an unknown pattern.
    """
    names = checked_special_names(() if special_tokens is None else special_tokens)
    return gpt2_files.load_vocab_merges(Path(vocab_path), Path(merges_path), names, resolve_pattern(pattern))


def _load_folder(folder: Path, pattern: SplitPattern | None) -> BPEModel:
    if (folder / SETTINGS).exists():
        return read_folder(folder)
    for name in (TOKENIZER, VOCAB):
        if (folder / name).exists():
            return _load_file(folder / name, pattern)
    raise FormatError(f"{folder}: holds no tokenizer: there is no {_FOLDER_KINDS}")


def _load_file(path: Path, pattern: SplitPattern | None) -> BPEModel:
    if path.name.endswith(".tiktoken"):
        return _load_tiktoken(path, pattern)
    if path.name == SETTINGS:
        return read_folder(path.parent)
    if not path.name.endswith(".json"):
        if is_classic(path):
            raise on_characters(path)
        raise FormatError(f"{path}: not a tokenizer: must be a folder, a .json or a .tiktoken file")
    document = read_json(path)
    if isinstance(document, dict) and isinstance(document.get("model"), dict):
        return parse_tokenizer_json(document, path)
    if not path.name.endswith(VOCAB):
        raise FormatError(f"{path}: not a tokenizer.json: it has no object `model`")
    if path.name == VOCAB and (path.parent / SETTINGS).exists():
        return read_folder(path.parent)
    merges_path = path.with_name(path.name.removesuffix(VOCAB) + MERGES)
    return gpt2_files.load_vocab_merges(path, merges_path, (), pattern or resolve_pattern(DEFAULT_PATTERN))


def _load_tiktoken(path: Path, pattern: SplitPattern | None) -> BPEModel:
    special_ids: dict[str, int] = {}
    traits = Traits()
    ties = engine = unicode_version = UNKNOWN
    roles: dict[str, str] = {}
    pad_multiple = 1
    if (path.parent / SETTINGS).exists():
        settings = read_settings(path.parent / SETTINGS)
        special_ids, pattern = settings.special_tokens, settings.pattern
        ties, engine, unicode_version = settings.ties, settings.engine, settings.unicode_version
        roles, pad_multiple = settings.roles, settings.pad_multiple
        traits = settings.traits
    if pattern is None:
        raise FormatError(
            f"{path}: a .tiktoken file does not tell its split pattern; give it (pattern=, or "
            "bpenb convert --pattern)"
        )
    vocab = read_tiktoken(path)
    with model_errors(path):
        merges = recover_merges(vocab)
        model = BPEModel.from_ids(vocab, merges, special_ids, pattern, ties, engine, unicode_version)
        model = model.with_roles(roles, pad_multiple)
    wrong = find_not_reencoded(model)
    if wrong is not None:
        raise FormatError(f"{path}: token {wrong} ({vocab[wrong]!r}) is not what its own bytes merge to")
    return warn_missing_bytes(replace(model, traits=traits), path)
