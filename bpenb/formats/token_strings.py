"""Tokens as the strings of vocab.json and tokenizer.json: bytes in printable form, special tokens raw.

A special token stands there as it is. One that is an ordinary token as well (both have one id)
stands in both forms, which are often the same string.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bpenb._byte_map import all_from_printable, from_printable, is_printable, to_printable
from bpenb.errors import FormatError, OutputError
from bpenb.formats.reading import checked_id, expect
from bpenb.model import BPEModel

__all__ = [
    "ParsedVocab",
    "append_specials",
    "merges_to_strings",
    "parse_merges",
    "parse_vocab",
    "vocab_to_strings",
]


class ParsedVocab(NamedTuple):
    """A vocab as `BPEModel.from_ids` takes it.

    Attributes:
        ordinary: the bytes of each id.
        special_ids: id of each special token that the vocab holds.
    """

    ordinary: dict[int, bytes]
    special_ids: dict[str, int]


def vocab_to_strings(model: BPEModel) -> dict[str, int]:
    """Return the id of each token string, by id.

    Raises:
        OutputError: one string would have two ids; no format holds that.
    """
    rows = [(token_id, to_printable(token)) for token_id, token in model.ordinary_vocab().items()]
    rows += [(token_id, name) for name, token_id in model.special_tokens.items()]
    strings: dict[str, int] = {}
    for token_id, string in sorted(rows):
        other = strings.setdefault(string, token_id)
        if other != token_id:
            raise OutputError(
                f"the tokenizer cannot be saved: the string {string!r} stands for two tokens, ids {other} "
                f"and {token_id}, of which one is a special token; no file format can hold both: "
                "choose another special token"
            )
    return strings


def merges_to_strings(model: BPEModel) -> list[tuple[str, str]]:
    """Return the two parts of every merge in printable form, by rank."""
    printable = {token_id: to_printable(token) for token_id, token in model.ordinary_vocab().items()}
    return [(printable[left], printable[right]) for left, right in model.merges.tolist()]


def parse_vocab(strings: Any, special_tokens: Collection[str], path: Path, key: str) -> ParsedVocab:
    """Return the ordinary tokens, and the ids of the special tokens, of a JSON object of token to id.

    Args:
        strings: as read.
        special_tokens: they are taken as they are, before anything is read as printable form.
        path, key: where the object stands, for messages.

    Raises:
        FormatError: not token to id, or an id that two tokens have.
    """
    parsed = ParsedVocab({}, {})
    names = set(special_tokens)
    vocab = expect(strings, dict, path, key)
    ordinary: dict[str, int] = {}
    for string, value in vocab.items():
        token_id = checked_id(value, path, f"the id of token {string!r}")
        if string in names:
            parsed.special_ids[string] = token_id
            if not (is_printable(string) and from_printable(string) == string.encode()):
                continue
        ordinary[string] = token_id
    try:
        tokens = all_from_printable(list(ordinary))
        if "" in ordinary:
            raise ValueError
    except ValueError:  # find it
        tokens = [_parse_token(string, path, key) for string in ordinary]
    for token_id, token in zip(ordinary.values(), tokens, strict=True):
        _add(parsed.ordinary, token_id, token, path)
    return parsed


def _add(ordinary: dict[int, bytes], token_id: int, token: bytes, path: Path) -> None:
    other = ordinary.setdefault(token_id, token)
    if other != token:
        raise FormatError(
            f"{path}: tokens {to_printable(other)!r} and {to_printable(token)!r} have the same id {token_id}"
        )


def _parse_token(string: str, path: Path, key: str) -> bytes:
    """Return the bytes of a token in printable form.

    Raises:
        FormatError: empty, or a character that stands for no byte.
    """
    if not string:
        raise FormatError(f"{path}: {key} holds an empty token")
    try:
        return from_printable(string)
    except ValueError as error:
        raise FormatError(
            f"{path}: {key}: token {string!r}: {error}; if it is a special token, name it as one"
        ) from None


def parse_merges(
    parts: Sequence[str], path: Path, place_of: Callable[[int], str]
) -> list[tuple[bytes, bytes]]:
    """Return merges whose parts, in printable form, stand one after the other.

    Args:
        parts: two for each merge.
        path: the file, for messages.
        place_of: returns where in it merge number n stands.

    Raises:
        FormatError: a part that is empty, or holds a character that stands for no byte.
    """
    try:
        tokens = all_from_printable(parts)
        if not all(parts):
            raise ValueError
    except ValueError:  # find it
        tokens = [_parse_token(part, path, place_of(n // 2)) for n, part in enumerate(parts)]
    return list(zip(tokens[::2], tokens[1::2], strict=True))


def append_specials(parsed: ParsedVocab, special_tokens: Iterable[str]) -> dict[str, int]:
    """Return the ids of the special tokens, in order; those not in the vocab come after the highest id."""
    next_id = max([*parsed.ordinary, *parsed.special_ids.values()], default=-1) + 1
    special_ids: dict[str, int] = {}
    for name in special_tokens:
        if name in parsed.special_ids:
            special_ids[name] = parsed.special_ids[name]
        elif name not in special_ids:
            special_ids[name], next_id = next_id, next_id + 1
    return special_ids
