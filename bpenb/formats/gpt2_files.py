"""vocab.json and merges.txt, as GPT-2 has them (and the CS336 course): to bytes, and back.

vocab.json   {"!": 0, "\\"": 1, ..., "Ġthe": 262, ...}
merges.txt   #version: 0.2      only ever the first line: merges may begin with "#" too
             Ġ t
             Ġ a
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bpenb.errors import FormatError
from bpenb.formats.json_lines import object_lines
from bpenb.formats.reading import check_line_count, model_errors, read_json, read_text, warn_missing_bytes
from bpenb.formats.token_strings import (
    ParsedVocab,
    append_specials,
    merges_to_strings,
    parse_merges,
    parse_vocab,
    vocab_to_strings,
)
from bpenb.model import UNKNOWN, BPEModel
from bpenb.patterns import SplitPattern

__all__ = ["load_vocab_merges", "merges_txt", "read_merges_txt", "read_vocab_json", "vocab_json"]

_HEADER = "#version"


def vocab_json(model: BPEModel) -> bytes:
    """Return the contents of vocab.json.

    Raises:
        OutputError: one string would have two ids.
    """
    return f"{object_lines(vocab_to_strings(model))}\n".encode()


def merges_txt(model: BPEModel) -> bytes:
    """Return the contents of merges.txt."""
    lines = [f"{left} {right}" for left, right in merges_to_strings(model)]
    return "\n".join([f"{_HEADER}: 0.2", *lines, ""]).encode()


def read_vocab_json(path: Path, special_tokens: Iterable[str]) -> ParsedVocab:
    """Return the tokens of a vocab.json.

    Raises:
        FormatError: not a JSON object of token to id; the message names line or token.
    """
    return parse_vocab(read_json(path), tuple(special_tokens), path, "the file")


def read_merges_txt(path: Path) -> tuple[list[tuple[bytes, bytes]], int]:
    """Return the merges of a merges.txt, and the number of the line that holds the first.

    Raises:
        FormatError: a line that is not two parts; the message names it.
    """
    text = read_text(path)
    check_line_count(text, text.count("\n"), path)
    lines = text.split("\n")  # not splitlines(): U+0085 ends a line there
    has_header = lines[0].startswith(_HEADER)
    if not lines[-1]:
        del lines[-1]
    first = 2 if has_header else 1
    found: list[str] = []
    for number, line in enumerate(lines[first - 1 :], start=first):
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise FormatError(
                f"{path}: line {number}: must be two parts and a space between, not {line[:60]!r}"
            )
        if line.endswith("\r"):
            raise FormatError(f"{path}: line {number}: ends in CR LF; give the file Unix line ends")
        found += parts
    return parse_merges(found, path, lambda n: f"line {first + n}"), first


def load_vocab_merges(
    vocab_path: Path,
    merges_path: Path,
    special_tokens: Iterable[str],
    pattern: str | SplitPattern,
) -> BPEModel:
    """Return the model of a vocab.json and a merges.txt.

    Args:
        vocab_path, merges_path: the files.
        special_tokens: without duplicates; those that the vocab lacks get ids after the highest.
        pattern: neither file tells it.

    Raises:
        FormatError: a file that is not what it should be, or two that do not belong together.
    """
    names = tuple(special_tokens)
    parsed = read_vocab_json(vocab_path, names)
    merges, first_line = read_merges_txt(merges_path)
    with model_errors(vocab_path, merges_path, first_line):
        special_ids = append_specials(parsed, names)
        model = BPEModel.from_ids(parsed.ordinary, merges, special_ids, pattern, ties=UNKNOWN)
    return warn_missing_bytes(model, vocab_path)
