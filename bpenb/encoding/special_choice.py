"""Which special tokens a call recognises, and which it refuses: tiktoken's two arguments.

allowed_special   disallowed_special   special tokens of the text
not given         not given            all get their ids
"all"             anything             all get their ids, but for those refused
some names        not given, "all"     those get their ids, any other is an error
some names        other names          the first get their ids, the second are an error, the rest is text
not given         names                the names are an error, the rest is text
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from typing import Literal, TypeAlias

from bpenb.encoding.encoder import Encoder
from bpenb.encoding.splitter import Splitter
from bpenb.errors import EncodingError
from bpenb.model import BPEModel

__all__ = ["Names", "SpecialChoice"]

Names: TypeAlias = Literal["all"] | Collection[str]

CHOICES_KEPT = 16  # splitters, and as many regexes of what is refused; a program has one or two


def _as_set(names: Names, every: frozenset[str], argument: str) -> frozenset[str]:
    """Return names as a set.

    Raises:
        TypeError: a str other than "all", or an item that is no str.
    """
    if isinstance(names, str) and names == "all":
        return every
    if isinstance(names, (str, bytes)) or not isinstance(names, Collection):
        raise TypeError(f'{argument} must be "all" or a collection of str, not {names!r}')
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must hold str, not {type(name).__name__} ({name!r})")
    return frozenset(names)


def _search(names: frozenset[str]) -> re.Pattern[str]:
    """Return what finds the leftmost of some names, of those the longest."""
    return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))


class SpecialChoice:
    """Chooses the splitter of a call; it keeps the last few it made, and threads may share it.

    Args:
        model: whose special tokens.
        encoder: of the model; it makes splitters.
    """

    def __init__(self, model: BPEModel, encoder: Encoder) -> None:
        self._model = model
        self._encoder = encoder
        self._names = frozenset(model.special_tokens)
        self._every, self._none = encoder.splitter, encoder.ordinary
        self._some = functools.lru_cache(CHOICES_KEPT)(self._make_splitter)
        self._search = functools.lru_cache(CHOICES_KEPT)(_search)

    def _make_splitter(self, allowed: frozenset[str]) -> Splitter:
        ids = {name: token_id for name, token_id in self._model.special_tokens.items() if name in allowed}
        return self._encoder.splitter_for(ids)

    def splitter(
        self,
        text: str,
        allowed_special: Names | None,
        disallowed_special: Names | None,
        name: str = "the text",
    ) -> Splitter:
        """Return the splitter for a text, which holds nothing that is disallowed.

        Args:
            text: is searched for what is disallowed.
            allowed_special: None if not given; a name that is no special token changes nothing.
            disallowed_special: None if not given; it may name any text, special token or not.
            name: of the text; for messages.

        Raises:
            EncodingError: a disallowed special token in the text, with the position of its first character.
            TypeError: neither "all" nor a collection of str.
        """
        if allowed_special is None and disallowed_special is None:
            return self._every
        allowed = _as_set(() if allowed_special is None else allowed_special, self._names, "allowed_special")
        refusable = self._names - allowed
        disallowed = _as_set(
            "all" if disallowed_special is None else disallowed_special, refusable, "disallowed_special"
        )
        match = self._search(disallowed).search(text) if disallowed else None
        if match:
            raise _refusal(match.group(), match.start(), name)
        allowed &= self._names
        if allowed == self._names:
            return self._every
        return self._some(allowed) if allowed else self._none


def _refusal(token: str, position: int, name: str) -> EncodingError:
    return EncodingError(
        f"{name}: at character {position} stands {token!r}, which is disallowed here. To give it the id of "
        f"the special token, pass allowed_special={{{token!r}}} or allowed_special='all'; to encode it as "
        "text like any other, pass disallowed_special=()"
    )
