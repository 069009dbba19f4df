"""The codes of subword-nmt, version 0.2: a merge a line, by rank, the mark part of the strings.

    #version: 0.2
    l o
    lo w</w>

They hold no alphabet, no special tokens and no ids.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from bpenb._atomic import atomic_write
from bpenb.classic.model import END_OF_WORD, ClassicModel, check_end_of_word
from bpenb.errors import FormatError, ModelError, OutputError
from bpenb.formats import read_text
from bpenb.patterns import SplitPattern

__all__ = ["VERSION", "codes_text", "parse_codes", "read_codes", "save_codes"]

VERSION = "#version: 0.2"


def codes_text(model: ClassicModel) -> bytes:
    """Return the contents of a file of codes."""
    lines = [VERSION, *(f"{left} {right}" for left, right in model.merge_pairs())]
    return ("\n".join(lines) + "\n").encode()


def save_codes(model: ClassicModel, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a file of codes.

    Raises:
        OutputError: another mark than subword-nmt's, or a path that must not be overwritten.
    """
    if model.end_of_word != END_OF_WORD:
        raise OutputError(
            f"subword-nmt knows the end-of-word mark {END_OF_WORD!r} alone, and this tokenizer has "
            f"{model.end_of_word!r}; write it as bpenb or hf"
        )
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"{target} is a folder; a file of codes needs a name of its own")
    if target.exists() and not force:
        raise OutputError(f"{target} exists; choose another name, or replace it (force=True, --force)")
    with atomic_write(target) as file:
        file.write(codes_text(model))


def parse_codes(path: Path) -> list[tuple[str, str]]:
    """Return the merges of a file of codes; of one that stands there twice the first counts.

    Raises:
        FormatError: not such a file, or of another version; the message names the line.
    """
    # Lines end where subword-nmt has it: a token may hold U+0085 or U+2028.
    first, *lines = read_text(path).rstrip("\n").split("\n")
    if first.strip() != VERSION:
        raise FormatError(
            f"{path}: line 1: must be {VERSION!r}, not {first[:40]!r}: others have the end-of-word mark "
            "as a token of its own, which is not supported"
        )
    merges: dict[tuple[str, str], None] = {}
    for number, line in enumerate(lines, 2):
        parts = line.strip("\r\n ").split(" ")
        if len(parts) != 2 or not all(parts):
            raise FormatError(f"{path}: line {number}: must be two parts with a space between, not {line!r}")
        merges.setdefault((parts[0], parts[1]))
    return list(merges)


def read_codes(
    path: str | os.PathLike[str],
    characters: Iterable[str] = (),
    special_tokens: Iterable[str] = (),
    end_of_word: str = END_OF_WORD,
    pattern: str | SplitPattern | None = None,
) -> ClassicModel:
    """Return the model of a file of codes; arguments as of `ClassicTokenizer.from_codes`.

    Raises:
        FormatError: not such a file.
    """
    place, mark = Path(path), check_end_of_word(end_of_word)
    merges = parse_codes(place)
    parts = [part.removesuffix(mark) for pair in merges for part in pair]
    known = {part for part in parts if len(part) == 1} | set(characters)
    try:
        return ClassicModel.from_merges(known, merges, special_tokens, mark, pattern)
    except ModelError as error:
        raise FormatError(f"{place}: {error} (merge 0 is in line 2)") from error
