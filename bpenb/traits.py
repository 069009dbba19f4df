"""What a tokenizer of somebody else may do besides cutting and merging; one that was trained here does none.

text ── added tokens, by their flags ── plain stretches ── NFC ── pretokens ── whole words, or merges
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

__all__ = ["NFC", "TokenFlags", "Traits"]

NFC: Final = "NFC"  # the one normalizer that there is


class TokenFlags(NamedTuple):
    """How a special token is found in a text, as tokenizer.json has it for an added token.

    Attributes:
        special: left out in decoding there, if one asks for that; it changes no ids.
        normalized: looked for behind the normalizer.
        lstrip, rstrip: takes the whitespace before or behind it along.
        single_word: only where no letter, number or underscore is next to it.
    """

    special: bool = True
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is found wherever it stands, and takes nothing along."""
        return not (self.lstrip or self.rstrip or self.single_word)


@dataclass(frozen=True)
class Traits:
    """What a tokenizer does besides cutting and merging.

    Attributes:
        ignore_merges: a pretoken that is a token becomes that one, whether merges make it or not.
        normalizer: NFC, or None.
        flags: of special tokens that have others than the usual ones.
        post_processor: that of its tokenizer.json, as JSON; None for ours. It adds special tokens where
            `tokenizers` is asked for them; our ids are those without.
    """

    ignore_merges: bool = False
    normalizer: str | None = None
    flags: Mapping[str, TokenFlags] = field(default_factory=dict)
    post_processor: str | None = None

    @property
    def change_ids(self) -> bool:
        """Whether the ids of some text are others than without."""
        found = any(not flags.is_plain for flags in self.flags.values())
        return self.ignore_merges or self.normalizer is not None or found

    def flags_of(self, token: str) -> TokenFlags:
        """Return the flags of a special token."""
        return self.flags.get(token, TokenFlags())

    def lost_on(self, program: str) -> list[str]:
        """Return what a program that neither normalises nor knows flags does otherwise, a sentence each.

        Example:
            >>> Traits(normalizer=NFC).lost_on("tiktoken")
            ['tiktoken has no normalizer: bring texts into NFC first']
        """
        found = []
        if self.normalizer:
            found.append(f"{program} has no normalizer: bring texts into {self.normalizer} first")
        if any(not flags.is_plain for flags in self.flags.values()):
            found.append(
                f"{program} is told of no lstrip, rstrip and single_word: "
                "it finds special tokens as they stand"
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON has them, without what is as usual.

        Example:
            >>> Traits(normalizer=NFC, flags={"<m>": TokenFlags(lstrip=True)}).to_json()
            {'normalizer': 'NFC', 'flags': {'<m>': {'lstrip': True}}}
        """
        found: dict[str, Any] = {}
        if self.ignore_merges:
            found["ignore_merges"] = True
        if self.normalizer:
            found["normalizer"] = self.normalizer
        usual = TokenFlags()._asdict()
        rows = {
            name: {key: value for key, value in flags._asdict().items() if value != usual[key]}
            for name, flags in self.flags.items()
        }
        if rows:
            found["flags"] = rows
        if self.post_processor is not None:
            found["post_processor"] = self.post_processor
        return found
