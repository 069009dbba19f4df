"""The added tokens of tokenizer.json: their ids, and the flags that say how they are found in a text.

`tokenizers` looks for the tokens that are not `normalized` first, and for the others in what is left. We look
for all at once, which is the same where no two of them can stand in each other's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bpenb.errors import FormatError
from bpenb.formats.reading import checked_id, expect
from bpenb.traits import TokenFlags

__all__ = ["added_tokens", "check_flags", "parse_added_tokens"]

_USUAL = TokenFlags()
_ABSENT = {"special": False, "normalized": True, "lstrip": False, "rstrip": False, "single_word": False}


def added_tokens(ids: Mapping[str, int], flags: Mapping[str, TokenFlags]) -> list[dict[str, Any]]:
    """Return the rows of special tokens, by id."""
    rows = []
    for name, token_id in sorted(ids.items(), key=lambda item: item[1]):
        row = flags.get(name, _USUAL)
        rows.append(
            {
                "id": token_id,
                "content": name,
                "single_word": row.single_word,
                "lstrip": row.lstrip,
                "rstrip": row.rstrip,
                "normalized": row.normalized,
                "special": row.special,
            }
        )
    return rows


def parse_added_tokens(rows: Any, path: Path) -> tuple[dict[str, int], dict[str, TokenFlags]]:
    """Return the ids of added tokens, in order, and the flags of those that have others than the usual ones.

    Raises:
        FormatError: a row that is none, or a token once more.
    """
    ids: dict[str, int] = {}
    flags: dict[str, TokenFlags] = {}
    for n, row in enumerate(expect(rows, list, path, "added_tokens")):
        place = f"added_tokens[{n}]"
        token = expect(row, dict, path, place)
        content = expect(token.get("content"), str, path, f"{place}.content")
        if content in ids:
            raise FormatError(f"{path}: {place}: the token {content!r} once more")
        ids[content] = checked_id(token.get("id"), path, f"{place}.id")
        found = {
            key: expect(token.get(key, off), bool, path, f"{place}.{key}") for key, off in _ABSENT.items()
        }
        if TokenFlags(**found) != _USUAL:
            flags[content] = TokenFlags(**found)
    return ids, flags


def check_flags(
    ids: Mapping[str, int], flags: Mapping[str, TokenFlags], normalizer: str | None, path: Path
) -> None:
    """Refuse flags that we would not follow exactly.

    Raises:
        FormatError: the message names tokens and flag.
    """
    normalized = [name for name in ids if flags.get(name, _USUAL).normalized]
    others = [name for name in ids if not flags.get(name, _USUAL).normalized]
    for name in normalized:
        if normalizer and name.strip(" \t\n\r"):  # what is no space may be joined to a mark behind it
            raise FormatError(
                f"{path}: added token {name!r}: normalized is not supported together with the normalizer "
                f"{normalizer}: it would be looked for in the normalised text"
            )
        if flags[name].single_word and others:
            raise FormatError(
                f"{path}: added token {name!r}: single_word and normalized are not supported together where "
                f"other tokens are not normalized, as {others[0]!r}"
            )
    _check_apart(normalized, others, "is normalized and the other is not", path)
    plain = [name for name in ids if flags.get(name, _USUAL).is_plain]
    for key in ("lstrip", "rstrip", "single_word"):
        flagged = [name for name in ids if getattr(flags.get(name, _USUAL), key)]
        _check_apart(flagged, plain, f"has {key} and the other has not", path)


def _check_apart(some: Iterable[str], others: Iterable[str], what: str, path: Path) -> None:
    """Refuse two tokens of which one can stand in the other, or begin where the other ends."""
    by_first: dict[str, list[str]] = {}
    for other in others:
        for character in set(other):
            by_first.setdefault(character, []).append(other)
    for name in some:
        for other in by_first.get(name[0], []):
            if name in other or _overlaps(other, name):
                _refuse(name, other, what, path)
        for character in set(name):
            for other in by_first.get(character, []):
                if other in name or _overlaps(name, other):
                    _refuse(name, other, what, path)


def _overlaps(first: str, second: str) -> bool:
    """Tell whether the end of one is the beginning of the other."""
    return any(first.endswith(second[:n]) for n in range(1, min(len(first), len(second)) + 1))


def _refuse(name: str, other: str, what: str, path: Path) -> None:
    raise FormatError(
        f"{path}: added tokens {name!r} and {other!r} can overlap, and one {what}: that is not supported"
    )
