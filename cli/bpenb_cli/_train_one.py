"""One tokenizer from files or word counts, on bytes or on characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpenb import ClassicTokenizer, Tokenizer, WordCounts

__all__ = ["check_training", "train_one"]

OF_BYTES = ("vocab_options", "verify", "max_token_length", "engine")


def train_one(
    source: list[Path | str] | dict[Path | str, int] | WordCounts,
    vocab_size: int,
    settings: Mapping[str, Any],
    characters: Mapping[str, Any] | None,
) -> Tokenizer | ClassicTokenizer:
    """Train once; `characters`: what is for characters alone, or None."""
    import bpenb

    if characters is not None:
        kept = {name: value for name, value in settings.items() if name not in OF_BYTES}
        return bpenb.train_classic(source, vocab_size=vocab_size, **kept, **characters)
    if isinstance(source, bpenb.WordCounts):
        return bpenb.train_from_counts(source, vocab_size=vocab_size, **settings)
    return bpenb.train(source, vocab_size=vocab_size, **settings)


def check_training(
    nothing: WordCounts,
    vocab_sizes: Sequence[int],
    settings: Mapping[str, Any],
    characters: Mapping[str, Any] | None,
) -> None:
    """Train on no words: raise before a cluster counts what would be raised behind it, its counts lost."""
    quiet = {**settings, "progress": None, "verify": False}
    for size in dict.fromkeys((min(vocab_sizes), max(vocab_sizes))):
        train_one(nothing, size, quiet, characters)
