"""bpenb.json: what no other format of the folder has a place for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import bpenb
from bpenb._special_ids import checked_multiple, checked_roles
from bpenb.errors import FormatError
from bpenb.formats.reading import checked_id, expect, model_errors, read_json
from bpenb.model import BPEModel
from bpenb.patterns import PATTERNS, SplitPattern, resolve_pattern
from bpenb.traits import NFC, TokenFlags, Traits

__all__ = [
    "CLASSIC_FORMAT",
    "FORMAT_NAME",
    "FORMAT_VERSION",
    "Settings",
    "on_characters",
    "parse_specials",
    "read_settings",
    "settings_json",
]

FORMAT_NAME = "bpenb tokenizer"
CLASSIC_FORMAT = "bpenb tokenizer on characters"
FORMAT_VERSION = 2  # 1 knows of no traits, and is written where there are none: older releases read it


class Settings(NamedTuple):
    """How a tokenizer was made, and how much there is of it.

    Attributes:
        pattern: the split pattern.
        ties: tie mode of the training.
        engine, unicode_version: who cut the pretokens in training.
        special_tokens: id of each, in order.
        n_vocab, n_merges: to tell a file that was cut short.
        roles: the special token of each role that was named.
        pad_multiple: what the vocab of a model is padded to a multiple of.
        traits: what it does besides cutting and merging.
    """

    pattern: SplitPattern
    ties: str
    engine: str
    unicode_version: str
    special_tokens: dict[str, int]
    n_vocab: int
    n_merges: int
    roles: dict[str, str]
    pad_multiple: int
    traits: Traits


def settings_json(model: BPEModel) -> bytes:
    """Return the contents of bpenb.json."""
    traits = model.traits.to_json()
    document = {
        "format": FORMAT_NAME,
        "format_version": FORMAT_VERSION if traits else 1,
        "bpenb_version": bpenb.__version__,
        "pattern": {"name": model.pattern.name, "regex": model.pattern.regex},
        "ties": model.ties,
        "engine": model.engine,
        "unicode_version": model.unicode_version,
        "n_vocab": model.n_vocab,
        "n_merges": model.n_merges,
        "pad_vocab_to_multiple": model.pad_multiple,
        "padded_vocab_size": model.padded_vocab_size,
        "special_tokens": [{"token": name, "id": i} for name, i in model.special_tokens.items()],
        "roles": dict(model.roles),
    } | ({"traits": traits} if traits else {})
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def on_characters(path: Path) -> FormatError:
    """Return the error of a tokenizer on characters where one on bytes is needed."""
    return FormatError(
        f"{path}: a tokenizer on characters; this needs one on bytes: `bpenb encode`, `decode` and "
        "`convert` take both, and bpenb.ClassicTokenizer.load reads this one"
    )


def read_settings(path: Path) -> Settings:
    """Return the settings that a bpenb.json holds.

    Raises:
        FormatError: not such a file, or of a newer format; the message names the key.
    """
    top = expect(read_json(path), dict, path, "the file")
    if top.get("format") == CLASSIC_FORMAT:
        raise on_characters(path)
    if top.get("format") != FORMAT_NAME:
        raise FormatError(f"{path}: format must be {FORMAT_NAME!r}, not {top.get('format')!r}")
    version = expect(top.get("format_version"), int, path, "format_version")
    if not 1 <= version <= FORMAT_VERSION:
        raise FormatError(
            f"{path}: format version {version} is not known to bpenb {bpenb.__version__}, which reads "
            f"versions 1 to {FORMAT_VERSION}; it was written by bpenb {top.get('bpenb_version')}"
        )
    special_tokens = parse_specials(top.get("special_tokens"), path)
    multiple = top.get("pad_vocab_to_multiple", 1)  # this and the roles: not in older files
    with model_errors(path):
        pad_multiple = checked_multiple(expect(multiple, int, path, "pad_vocab_to_multiple"))
        roles = checked_roles(_parse_roles(top.get("roles", {}), path), special_tokens)
    return Settings(
        pattern=_parse_pattern(top.get("pattern"), path),
        ties=expect(top.get("ties"), str, path, "ties"),
        engine=expect(top.get("engine"), str, path, "engine"),
        unicode_version=expect(top.get("unicode_version"), str, path, "unicode_version"),
        special_tokens=special_tokens,
        n_vocab=checked_id(top.get("n_vocab"), path, "n_vocab"),
        n_merges=checked_id(top.get("n_merges"), path, "n_merges"),
        roles=roles,
        pad_multiple=pad_multiple,
        traits=_parse_traits(top.get("traits", {}), path),
    )


def _parse_traits(found: Any, path: Path) -> Traits:
    row = expect(found, dict, path, "traits")
    normalizer, post_processor = row.get("normalizer"), row.get("post_processor")
    if normalizer not in (None, NFC):
        raise FormatError(f"{path}: traits.normalizer is {normalizer!r}; only {NFC} is known")
    flags = {}
    for name, given in expect(row.get("flags", {}), dict, path, "traits.flags").items():
        changed = expect(given, dict, path, f"traits.flags of {name!r}")
        unknown = changed.keys() - set(TokenFlags._fields)
        if unknown:
            raise FormatError(f"{path}: traits.flags of {name!r}: unknown flag {min(unknown)!r}")
        flags[name] = TokenFlags(
            **{k: expect(v, bool, path, f"flag {k} of {name!r}") for k, v in changed.items()}
        )
    return Traits(
        ignore_merges=expect(row.get("ignore_merges", False), bool, path, "traits.ignore_merges"),
        normalizer=normalizer,
        flags=flags,
        post_processor=None if post_processor is None else _json_text(post_processor, path),
    )


def _json_text(found: Any, path: Path) -> str:
    text = expect(found, str, path, "traits.post_processor")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise FormatError(f"{path}: traits.post_processor is not JSON") from None
    return text


def _parse_pattern(found: Any, path: Path) -> SplitPattern:
    """Return the pattern; its regex decides, the name tells two of one regex apart."""
    row = expect(found, dict, path, "pattern")
    regex = expect(row.get("regex"), str, path, "pattern.regex")
    name = row.get("name")
    if name is not None and PATTERNS.get(expect(name, str, path, "pattern.name")) == regex:
        return SplitPattern(name, regex)
    with model_errors(path):
        return resolve_pattern(regex)


def parse_specials(rows: Any, path: Path) -> dict[str, int]:
    """Return the ids of the special tokens that a bpenb.json lists.

    Raises:
        FormatError: a token twice, or an entry that is none.
    """
    special_ids: dict[str, int] = {}
    for n, row in enumerate(expect(rows, list, path, "special_tokens")):
        place = f"special_tokens[{n}]"
        token = expect(expect(row, dict, path, place).get("token"), str, path, f"{place}.token")
        if token in special_ids:
            raise FormatError(f"{path}: {place}: the token {token!r} once more")
        special_ids[token] = checked_id(row.get("id"), path, f"{place}.id")
    return special_ids


def _parse_roles(found: Any, path: Path) -> dict[str, str]:
    roles = expect(found, dict, path, "roles")
    return {role: expect(name, str, path, f"roles.{role}") for role, name in roles.items()}
