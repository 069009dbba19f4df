"""`VocabOptions`: what a vocab has beside the bytes, the merges and the special tokens of the corpus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from bpenb._special_ids import ROLES, checked_multiple
from bpenb._vocab_checks import MAX_IDS
from bpenb.corpus import normalize_special_tokens
from bpenb.counting import WordCounts
from bpenb.errors import CountsError, ModelError, TrainingError
from bpenb.model import BPEModel
from bpenb.training import check_count

__all__ = ["VocabOptions", "checked_vocab_options", "with_all_special_tokens"]

RESERVED = "<|reserved_special_token_{}|>"


@dataclass(frozen=True)
class VocabOptions:
    """What makes a vocab ready for a model: special tokens to spare, their roles, and a padding.

    Attributes:
        reserve_special_tokens: have this many special tokens `<|reserved_special_token_0|>` and so on, to
            be given a meaning later. They are part of `vocab_size`.
        pad_vocab_to_multiple: a model's vocab is padded to a multiple of this, such as 64. It is recorded
            (`Tokenizer.padded_vocab_size`); the tokenizer gets no tokens for it (docs/training.md says why).
            None: as the base has it, or 1.
        bos, eos, pad, unk: the special token that begins a text, ends one, fills, stands for what is unknown.
            One that is missing is added behind the special tokens of the training. None: as the base has it.

    Raises:
        TrainingError: a value out of its range, an empty name, or one that UTF-8 cannot spell.
        TypeError: a value of a wrong type.

    Example:
        >>> options = VocabOptions(reserve_special_tokens=1, eos="<|endoftext|>", pad="<|pad|>")
        >>> options.special_tokens(["<|endoftext|>"])
        ('<|endoftext|>', '<|pad|>', '<|reserved_special_token_0|>')
    """

    reserve_special_tokens: int = 0
    pad_vocab_to_multiple: int | None = None
    bos: str | None = None
    eos: str | None = None
    pad: str | None = None
    unk: str | None = None

    def __post_init__(self) -> None:
        n_reserved = check_count("reserve_special_tokens", self.reserve_special_tokens, 0)
        if n_reserved > MAX_IDS:
            raise TrainingError(
                f"reserve_special_tokens is {n_reserved}; a vocab has {MAX_IDS} tokens at most"
            )
        if self.pad_vocab_to_multiple is not None:
            try:
                checked_multiple(self.pad_vocab_to_multiple)
            except ModelError as error:
                raise TrainingError(str(error)) from None
        for role in ROLES:
            name = getattr(self, role)
            if name is not None and not isinstance(name, str):
                raise TypeError(f"{role} must be a str or None, not {type(name).__name__}")
        normalize_special_tokens(self.roles.values())

    @property
    def roles(self) -> dict[str, str]:
        """The special token of each role that is named here."""
        return {role: getattr(self, role) for role in ROLES if getattr(self, role) is not None}

    def special_tokens(self, named: Iterable[str]) -> tuple[str, ...]:
        """Return all special tokens in the order of their ids: those named, those of roles, the reserved."""
        reserved = map(RESERVED.format, range(self.reserve_special_tokens))
        return tuple(dict.fromkeys([*named, *self.roles.values(), *reserved]))

    def complete(self, model: BPEModel) -> BPEModel:
        """Return the model that a training gave, with roles and padding; a base's stay if not named."""
        multiple = self.pad_vocab_to_multiple
        return model.with_roles(
            {**model.roles, **self.roles}, model.pad_multiple if multiple is None else multiple
        )


def checked_vocab_options(options: VocabOptions | None) -> VocabOptions:
    """Return the options, or those that ask for nothing.

    Raises:
        TypeError: something else.
    """
    if options is not None and not isinstance(options, VocabOptions):
        raise TypeError(f"vocab_options must be VocabOptions or None, not {type(options).__name__}")
    return options or VocabOptions()


def with_all_special_tokens(counts: WordCounts, special_tokens: tuple[str, ...]) -> WordCounts:
    """Return word counts that were cut at some special tokens for a vocab that has further ones.

    The words stay: text that is spelled as a further special token was counted as text. So that none
    is learned, no word may hold one.

    Raises:
        CountsError: a word holds one of the further special tokens.
    """
    data, offsets = counts.word_bytes.tobytes(), counts.word_offsets
    for name in special_tokens:
        spelled = name.encode()
        at = -1 if name in counts.special_tokens else data.find(spelled)
        while at >= 0:
            word = int(np.searchsorted(offsets, at, side="right")) - 1
            start, end = int(offsets[word]), int(offsets[word + 1])
            if at + len(spelled) <= end:
                raise CountsError(
                    f"these counts hold the word {data[start:end]!r}, in which the special token {name!r} is "
                    "text; count again with that special token, or choose another"
                )
            at = data.find(spelled, at + 1)
    return replace(counts, special_tokens=special_tokens)
