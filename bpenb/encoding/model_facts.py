"""What a tokenizer tells of its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bpenb.model import BPEModel
from bpenb.patterns import SplitPattern

__all__ = ["ModelFacts"]


class ModelFacts:
    """The model of a tokenizer, and the report of its training, to look at."""

    _model: BPEModel
    _report: Mapping[str, Any] | None

    @property
    def model(self) -> BPEModel:
        """The checked model behind it."""
        return self._model

    @property
    def report(self) -> Mapping[str, Any] | None:
        """What training measured; None if it was not trained here."""
        return self._report

    @property
    def pattern(self) -> SplitPattern:
        """The split pattern."""
        return self._model.pattern

    @property
    def n_vocab(self) -> int:
        """Highest id + 1; ids may have holes."""
        return self._model.n_vocab

    @property
    def padded_vocab_size(self) -> int:
        """Rows of a model's embedding: `n_vocab`, up to the multiple that was asked for in training."""
        return self._model.padded_vocab_size

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes of every id, special tokens included; a new dict each time."""
        return self._model.vocab()

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges as pairs of bytes, by rank; a new list each time."""
        return self._model.merge_pairs()

    @property
    def special_tokens(self) -> dict[str, int]:
        """The ids of the special tokens, in order; a new dict each time."""
        return dict(self._model.special_tokens)

    @property
    def roles(self) -> dict[str, str]:
        """The special token of each role (`bos`, `eos`, `pad`, `unk`) that was named; a new dict."""
        return dict(self._model.roles)

    def __repr__(self) -> str:
        n_special = len(self._model.special_tokens)
        return f"Tokenizer(n_vocab={self.n_vocab}, special_tokens={n_special}, pattern={str(self.pattern)!r})"
