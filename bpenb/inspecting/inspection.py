"""`Inspection`: what a tokenizer is, token by token, and what it made of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bpenb._spelling import spell_bytes
from bpenb.inspecting.facts import KINDS, TokenFacts, token_facts
from bpenb.inspecting.texts import TextFigures, ratio
from bpenb.model import BPEModel
from bpenb.patterns import SplitPattern

__all__ = ["Inspection", "inspect_model"]


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """A tokenizer, looked at.

    Lengths, kinds and scripts are those of the ordinary tokens: special tokens are left out.

    Attributes:
        n_vocab: highest id + 1; ids may have holes.
        n_merges: how many merges there are.
        pattern: the split pattern.
        ties: tie mode that it was trained with, or `unknown`.
        engine, unicode_version: who cut the pretokens in training, by which Unicode version.
        special_tokens: id of each.
        tokens: all tokens, by id.
        texts: what it made of texts; None if there were none.
    """

    n_vocab: int
    n_merges: int
    pattern: SplitPattern
    ties: str
    engine: str
    unicode_version: str
    special_tokens: dict[str, int]
    tokens: tuple[TokenFacts, ...]
    texts: TextFigures | None = None

    @property
    def ordinary(self) -> tuple[TokenFacts, ...]:
        """All tokens but special ones, by id."""
        return tuple(facts for facts in self.tokens if not facts.is_special)

    @property
    def lengths(self) -> dict[int, int]:
        """How many tokens there are of each length in bytes, ascending."""
        return dict(sorted(Counter(len(facts.token) for facts in self.ordinary).items()))

    @property
    def mean_length(self) -> float | None:
        """Mean length of a token in bytes; None without tokens."""
        lengths = self.lengths
        return ratio(sum(length * n for length, n in lengths.items()), sum(lengths.values()))

    @property
    def kinds(self) -> dict[str, int]:
        """How many tokens are of each of `KINDS`; a token may be of several, or of none."""
        ordinary = self.ordinary
        return {kind: sum(getattr(facts, name) for facts in ordinary) for kind, name in KINDS.items()}

    @property
    def scripts(self) -> dict[str, int]:
        """How many tokens there are of each script, most first; see `TokenFacts`."""
        found = Counter(facts.script for facts in self.ordinary)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def longest(self, n: int) -> list[TokenFacts]:
        """Return the `n` longest tokens, longest first; of one length, by id."""
        return sorted(self.ordinary, key=lambda facts: (-len(facts.token), facts.token_id))[: max(n, 0)]

    def to_json(self, top: int = 20) -> dict[str, Any]:
        """Return everything but the tokens themselves, as JSON has it.

        Args:
            top: how many of the longest tokens.
        """
        n_ordinary = len(self.ordinary)
        return {
            "n_vocab": self.n_vocab,
            "n_tokens": len(self.tokens),
            "n_merges": self.n_merges,
            "pattern": self.pattern.name,
            "regex": self.pattern.regex,
            "ties": self.ties,
            "engine": self.engine,
            "unicode_version": self.unicode_version,
            "special_tokens": self.special_tokens,
            "lengths": {str(length): n for length, n in self.lengths.items()},
            "mean_length": ratio(self.mean_length or 0, 1),
            "longest": [_entry(facts) for facts in self.longest(top)],
            "kinds": {kind: _part(n, n_ordinary) for kind, n in self.kinds.items()},
            "scripts": {script: _part(n, n_ordinary) for script, n in self.scripts.items()},
            "texts": None if self.texts is None else self.texts.to_json(),
        }

    def csv_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield rows of a table: the names of the columns, then a row for each token, by id.

        The token is spelled by its hexadecimal bytes and as text, escaped as of `bpenb tokens`; its count
        is empty without texts.
        """
        yield ("id", "bytes", "text", "length", "special", *KINDS, "script", "count")
        counts = None if self.texts is None else self.texts.token_counts.tolist()
        for facts in self.tokens:
            flags = (int(getattr(facts, name)) for name in KINDS.values())
            count = "" if counts is None else counts[facts.token_id]
            token = facts.token
            text = spell_bytes(token)
            yield (facts.token_id, token.hex(), text, len(token), int(facts.is_special), *flags, facts.script,
                   count)  # fmt: skip

    def __repr__(self) -> str:
        texts = "" if self.texts is None else f", {self.texts.n_tokens:,} tokens of texts"
        return f"Inspection({len(self.tokens):,} tokens, pattern={str(self.pattern)!r}{texts})"


def inspect_model(model: BPEModel, texts: TextFigures | None) -> Inspection:
    """Return what a model is."""
    ordinary = model.ordinary_vocab()
    return Inspection(
        model.n_vocab,
        model.n_merges,
        model.pattern,
        model.ties,
        model.engine,
        model.unicode_version,
        dict(model.special_tokens),
        tuple(token_facts(i, token, i not in ordinary) for i, token in model.vocab().items()),
        texts,
    )


def _entry(facts: TokenFacts) -> dict[str, Any]:
    return {"id": facts.token_id, "text": spell_bytes(facts.token), "length": len(facts.token)}


def _part(n: int, n_all: int) -> dict[str, Any]:
    return {"tokens": n, "share": ratio(n, n_all)}
