"""`ClassicModel`: what a training on characters gives; strings and arrays that never change.

    id      0      1                2    3        4    5        …   6
           ┌───────┬───────────────┬────┬────────┬────┬────────┬───┬─────────┐
    string │ <unk> │ <|endoftext|> │ a  │ a</w>  │ b  │ b</w>  │ … │ ab</w>  │
           └───────┴───────────────┴────┴────────┴────┴────────┴───┴─────────┘
             unknown  special tokens  characters by code point,     merges by rank
                      as given        each within a word, then at its end

Every character has both forms, whether the corpus had them or not: a known character is never unknown
because of its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bpenb._arrays import IdArray
from bpenb.corpus import normalize_special_tokens
from bpenb.errors import ModelError
from bpenb.patterns import PATTERNS, SPACES, SplitPattern, resolve_pattern

__all__ = ["END_OF_WORD", "UNKNOWN_TOKEN", "ClassicModel", "check_end_of_word", "classic_pattern"]

END_OF_WORD = "</w>"
UNKNOWN_TOKEN = "<unk>"


def check_end_of_word(mark: object) -> str:
    """Return the end-of-word mark, checked.

    Raises:
        ModelError: a mark that cannot be told from a character, or that holds whitespace.
        TypeError: no str.
    """
    if not isinstance(mark, str):
        raise TypeError(f"end_of_word must be a str, not {type(mark).__name__}")
    if len(mark) < 2 or re.search(r"\s", mark) or any("\ud800" <= c <= "\udfff" for c in mark):
        raise ModelError(
            f"end_of_word is {mark!r}; it must have two characters or more, none of them whitespace, "
            f"so that no character of a text is taken for it: {END_OF_WORD!r} is the usual one"
        )
    return mark


def classic_pattern(pattern: str | SplitPattern | None) -> SplitPattern:
    """Return the pattern that cuts text into words and what is between them.

    Args:
        pattern: None or SPACES for U+0020 and line ends, as subword-nmt cuts; or `whitespace`.

    Raises:
        ModelError: another pattern.
    """
    resolved = SplitPattern(None, SPACES) if pattern in (None, SPACES) else resolve_pattern(pattern or SPACES)
    if resolved.regex not in (SPACES, PATTERNS["whitespace"]):
        raise ModelError(
            f"pattern {str(resolved)!r} is not for characters: words are what stands between spaces, so the "
            f"pattern is {SPACES!r} (the usual one: U+0020 and line ends), or whitespace (all of Unicode's)"
        )
    return resolved


@dataclass(frozen=True, eq=False, repr=False)
class ClassicModel:
    """A BPE tokenizer on characters. Make one by `from_merges`, which checks it.

    Attributes:
        characters: by code point.
        end_of_word: the mark that is joined to the last character of a word.
        special_tokens: id of each, in the order given.
        pattern: what cuts text into words.
        tokens: the string of every id.
        merges: int32[n_merges, 2], ids of the two parts; row = rank.
        merge_ids: int32[n_merges], id of the result.
    """

    characters: tuple[str, ...]
    end_of_word: str
    special_tokens: dict[str, int]
    pattern: SplitPattern
    tokens: tuple[str, ...]
    merges: IdArray
    merge_ids: IdArray

    # What byte-level models have and reports tell of.
    roles: ClassVar[dict[str, str]] = {}
    pad_multiple: ClassVar[int] = 1

    @classmethod
    def from_merges(
        cls,
        characters: Iterable[str],
        merges: Sequence[tuple[str, str]],
        special_tokens: Iterable[str] = (),
        end_of_word: str = END_OF_WORD,
        pattern: str | SplitPattern | None = None,
    ) -> ClassicModel:
        """Return the checked model of merges that are spelled as strings.

        Args:
            characters: in any order.
            merges: by rank; the mark is part of the strings. Two that make the same string make one token,
                as subword-nmt has it.
            special_tokens: in the order of their ids.
            end_of_word, pattern: as of `train_classic`.

        Raises:
            ModelError: a merge of a string that is no token yet, or twice; a string that would be two tokens.

        Example:
            >>> model = ClassicModel.from_merges("ba", [("a", "b</w>")])
            >>> model.tokens
            ('<unk>', 'a', 'a</w>', 'b', 'b</w>', 'ab</w>')
        """
        mark = check_end_of_word(end_of_word)
        known = tuple(sorted(set(characters)))
        wrong = [c for c in known if len(c) != 1 or "\ud800" <= c <= "\udfff"]
        if wrong:
            raise ModelError(f"{wrong[0]!r} is no character")
        names = normalize_special_tokens(special_tokens)
        tokens = [UNKNOWN_TOKEN, *names]
        for character in known:
            tokens += [character, character + mark]
        id_of = {token: i for i, token in enumerate(tokens)}
        if len(id_of) < len(tokens):
            twice = next(token for i, token in enumerate(tokens) if id_of[token] != i)
            raise ModelError(f"the special token {twice!r} is spelled as another token; rename it")
        taken, rows, made = {UNKNOWN_TOKEN, *names}, [], []
        seen: set[tuple[str, str]] = set()
        for rank, pair in enumerate(merges):
            for part in pair:
                if part not in id_of or part in taken:
                    raise ModelError(f"merge {rank}: {part!r} is no character, and no earlier merge makes it")
            token = pair[0] + pair[1]
            if token in taken or pair in seen:
                what = "merged twice" if pair in seen else f"spelled as the special token {token!r}"
                raise ModelError(f"merge {rank}: {pair[0]!r} and {pair[1]!r} are {what}")
            seen.add(pair)
            if token not in id_of:
                id_of[token] = len(tokens)
                tokens.append(token)
            rows.append((id_of[pair[0]], id_of[pair[1]]))
            made.append(id_of[token])
        return cls(
            known, mark, {name: id_of[name] for name in names}, classic_pattern(pattern), tuple(tokens),
            np.array(rows, dtype=np.int32).reshape(-1, 2), np.array(made, dtype=np.int32),
        )  # fmt: skip

    @property
    def n_vocab(self) -> int:
        """How many ids there are."""
        return len(self.tokens)

    @property
    def padded_vocab_size(self) -> int:
        """As `n_vocab`: nothing is padded."""
        return self.n_vocab

    @property
    def n_merges(self) -> int:
        """How many merges there are."""
        return len(self.merges)

    @property
    def first_character(self) -> int:
        """The id of the first character within a word; its form at the end follows."""
        return 1 + len(self.special_tokens)

    def merge_pairs(self) -> list[tuple[str, str]]:
        """Return the merges as pairs of strings, by rank."""
        return [(self.tokens[left], self.tokens[right]) for left, right in self.merges.tolist()]

    def __repr__(self) -> str:
        return (
            f"ClassicModel(n_vocab={self.n_vocab}, characters={len(self.characters)}, "
            f"n_merges={self.n_merges}, end_of_word={self.end_of_word!r})"
        )
