"""What decides the token ids of a dataset and how they are laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from bpenb._memory import parse_amount
from bpenb.corpus import InputOptions
from bpenb.encoding import Splitter, Tokenizer
from bpenb.errors import BpenbError, EncodingError

__all__ = ["EncodeSettings", "SpecialOption", "find_end_of_text"]

SpecialOption: TypeAlias = Literal["all", "none", "error"]

LEAST_MEMORY = 16_000_000
_USUAL_ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>")


def find_end_of_text(special_tokens: Mapping[str, int], name: str | None = None) -> int | None:
    """Return the id of the token that ends documents: the one named, a usual one, or the only special token.

    Raises:
        EncodingError: the tokenizer has no such special token.

    Example:
        >>> find_end_of_text({"<pad>": 0, "<|endoftext|>": 1}), find_end_of_text({"a": 0, "b": 1})
        (1, None)
    """
    if name is not None:
        if name not in special_tokens:
            known = ", ".join(map(repr, special_tokens)) or "none"
            raise EncodingError(f"the tokenizer has no special token {name!r}; it has: {known}")
        return special_tokens[name]
    usual = [special_tokens[token] for token in _USUAL_ENDS if token in special_tokens]
    if usual:
        return usual[0]
    return next(iter(special_tokens.values())) if len(special_tokens) == 1 else None


@dataclass(frozen=True)
class EncodeSettings:
    """How documents become a stream of token ids.

    A document is a row or an item; or what stands in a text file between separators, or up to and with
    an end-of-text token.

    Attributes:
        inputs: how files are read.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
        special: special tokens in the text get their ids (`all`), are text like any other (`none`), or
            are an error.
        append_eot: each document ends with an end-of-text token; one that does already gets no other.
        prepend_eot: each document begins with one; those of a text file only separate documents then.
        eot: the end-of-text token; None: the one with the role eos, a usual name, or the only special token.
        val_fraction: share of the documents that go to the split `val`, chosen by a hash of their ids.
        shuffle: put the documents in an order of chance.
        seed: of both.
        max_memory: bytes (or `512MB`) that a shuffle may hold.

    Raises:
        BpenbError: a value out of its range.
        TypeError: a value of a wrong type.
    """

    inputs: InputOptions = field(default_factory=InputOptions)
    errors: Literal["strict", "replace"] = "strict"
    special: SpecialOption = "all"
    append_eot: bool = False
    prepend_eot: bool = False
    eot: str | None = None
    val_fraction: float = 0.0
    shuffle: bool = False
    seed: int = 0
    max_memory: int | str | None = None

    def __post_init__(self) -> None:
        for name, choices in (("errors", ("strict", "replace")), ("special", ("all", "none", "error"))):
            if getattr(self, name) not in choices:
                raise BpenbError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(choices)}")
        for name in ("append_eot", "prepend_eot", "shuffle"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be a bool, not {type(getattr(self, name)).__name__}")
        if isinstance(self.val_fraction, bool) or not isinstance(self.val_fraction, int | float):
            raise TypeError(f"val_fraction must be a float, not {type(self.val_fraction).__name__}")
        if not 0 <= self.val_fraction < 1:
            raise BpenbError(f"val_fraction is {self.val_fraction}; it must be from 0 up to, not with, 1")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise TypeError(f"seed must be an int, not {type(self.seed).__name__}")
        if not 0 <= self.seed < 2**64:
            raise BpenbError(f"seed is {self.seed}; it must be from 0 to 2**64 - 1")
        if self.memory is not None and self.memory < LEAST_MEMORY:
            raise BpenbError(f"max_memory is {self.max_memory!r}; it must be at least 16MB")

    @property
    def memory(self) -> int | None:
        """Bytes that a shuffle may hold."""
        return None if self.max_memory is None else parse_amount("max_memory", self.max_memory)

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return ("train", "val") if self.val_fraction else ("train",)

    def end_of_text(self, tokenizer: Tokenizer) -> int | None:
        """Return the id of the end-of-text token, or None if the tokenizer has none.

        Raises:
            EncodingError: one is asked for, and there is none.
        """
        found = find_end_of_text(tokenizer.special_tokens, self.eot or tokenizer.roles.get("eos"))
        if found is None and (self.append_eot or self.prepend_eot):
            known = ", ".join(map(repr, tokenizer.special_tokens)) or "none"
            raise EncodingError(
                f"which special token ends a document? The tokenizer has: {known}; name it by eot (--eot)"
            )
        return found

    def splitters(self, tokenizer: Tokenizer) -> tuple[Splitter, Splitter]:
        """Return who cuts text files, and who cuts rows: they know no separators."""
        encoder = tokenizer.encoder
        specials = {} if self.special == "none" else tokenizer.special_tokens
        for_rows = encoder.splitter if specials else encoder.ordinary
        separator = self.inputs.document_separator
        dropped = [separator] if separator is not None else []
        eot = self.end_of_text(tokenizer)
        if self.prepend_eot and self.special != "error":  # else it is met, and refused
            dropped += [token for token, token_id in specials.items() if token_id == eot]
        if not dropped:
            return for_rows, for_rows
        kept = {token: token_id for token, token_id in specials.items() if token not in dropped}
        return encoder.splitter_for(kept, dropped), for_rows

    def to_json(self) -> dict[str, Any]:
        """Return all that decides the ids, for a manifest."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "inputs"}
        del own["max_memory"]
        if not (self.shuffle or self.val_fraction):
            del own["seed"]
        return own | {name: getattr(self.inputs, name) for name in self.inputs.__dataclass_fields__}
