"""What a training gained over its base: bytes per token, on the new corpus and on texts of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpenb._remote import shown_name

from bpenb_cli import _messages

if TYPE_CHECKING:
    from bpenb import Tokenizer

__all__ = ["rates", "show_gains"]


def rates(
    tokenizer: Path | Tokenizer | None, evaluate: Sequence[str] | None, errors: Any, pattern: str | None
) -> list[float]:
    """Return the bytes per token of each text; before a training, this tells too whether it can be read."""
    if not evaluate or tokenizer is None:
        return []
    from bpenb import EncodeSettings, Tokenizer, count_tokens

    loaded = Tokenizer.load(tokenizer, pattern=pattern) if isinstance(tokenizer, Path) else tokenizer
    settings = EncodeSettings(errors=errors)
    totals = [count_tokens(loaded, text, settings).total for text in evaluate]
    return [total.bytes_per_token or 0.0 for total in totals]


def show_gains(
    tokenizer: Tokenizer, evaluate: Sequence[str] | None, before: list[float], errors: str
) -> None:
    """Say how many bytes a token stands for, with the base and now: on the new corpus, and on texts."""
    gained = (tokenizer.report or {}).get("base")
    if gained is None:
        return
    texts = ["the new corpus", *map(shown_name, evaluate or ())]
    before = [gained["bytes_per_token_before"] or 0.0, *before]
    after = [gained["bytes_per_token_after"] or 0.0, *rates(tokenizer, evaluate, errors, None)]
    for text, old, new in zip(texts, before, after, strict=True):
        if old and new:
            gain = f"{100 * (new / old - 1):+.1f} %"
            _messages.note(f"{text}: {old:.3f} bytes per token with the base, {new:.3f} now ({gain})")
