"""A passage: the beginning of texts, as tokens that keep characters whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bpenb._arrays import Int64Array
from bpenb.corpus import InputPath, resolve_sources
from bpenb.encoding import Tokenizer
from bpenb.preparing import EncodeSettings
from bpenb.preparing.documents import DocumentFinder
from bpenb.preparing.encoding import encode_sources

__all__ = ["Passage", "TokenGroup", "group_tokens", "take_passage"]

_MOST_TOKENS_OF_A_CHARACTER = 4


class TokenGroup(NamedTuple):
    """Tokens that are whole characters together; mostly one.

    Attributes:
        ids: of the tokens.
        text: theirs.
    """

    ids: tuple[int, ...]
    text: str


class Passage(NamedTuple):
    """The beginning of texts.

    Attributes:
        documents: token groups of each document that is not empty, in order; the last may go on.
        is_whole: whether this is all of the texts.
    """

    documents: tuple[tuple[TokenGroup, ...], ...]
    is_whole: bool

    @property
    def ids(self) -> list[int]:
        """The ids of all tokens, in order."""
        return [token_id for document in self.documents for group in document for token_id in group.ids]

    @property
    def text(self) -> str:
        """All characters, one document after the other."""
        return "".join(group.text for document in self.documents for group in document)


def take_passage(
    tokenizer: Tokenizer, paths: Sequence[InputPath], settings: EncodeSettings, n_tokens: int
) -> Passage:
    """Return the first tokens of texts, and those that complete the last character.

    Args:
        tokenizer: whose tokens.
        paths: of files, which are read from the first on, as far as is needed.
        settings: how they are read.
        n_tokens: at least 1.

    Raises:
        CorpusError, EncodingError: as of encoding the files.
    """
    enough = n_tokens + _MOST_TOKENS_OF_A_CHARACTER
    finder = DocumentFinder(None, append=False, prepend=False)
    ids: list[int] = []
    ends: list[int] = [0]
    texts = encode_sources(tokenizer, resolve_sources(list(paths)), settings, workers=1)
    with closing(texts):
        for text in texts:
            block = finder.find(text)
            ends += [len(ids) + end for end in block.document_ends.tolist()]
            ids += block.ids[: max(0, enough - len(ids))].tolist()
            if len(ids) == enough:
                break
    bounds = [*(end for end in ends if end < len(ids)), len(ids)]
    documents = [
        group_tokens([tokenizer.token_bytes(i) for i in ids[start:end]], ids[start:end])
        for start, end in pairwise(bounds)
        if start < end
    ]
    kept, n_left = [], n_tokens
    for document in documents:
        n_before = np.cumsum([0, *(len(group.ids) for group in document)])[:-1]
        some = document[: int((n_before < n_left).sum())]
        n_left -= sum(len(group.ids) for group in some)
        if some:
            kept.append(some)
    found = Passage(tuple(kept), is_whole=False)
    return found._replace(is_whole=len(found.ids) == len(ids) < enough)


def group_tokens(tokens: Sequence[bytes], ids: Sequence[int]) -> tuple[TokenGroup, ...]:
    """Return tokens in groups that end where a character ends.

    Args:
        tokens: their bytes; joined they are UTF-8, but for an end inside a character, which is left out.
        ids: their ids.

    Example:
        >>> group_tokens([b"a", b"\\xc3", b"\\xa9!", b"\\xe4"], [5, 6, 7, 8])
        (TokenGroup(ids=(5,), text='a'), TokenGroup(ids=(6, 7), text='é!'))
    """
    text = b"".join(tokens)
    ends: Int64Array = np.cumsum([len(token) for token in tokens], dtype=np.int64)
    groups, first, start = [], 0, 0
    for position, end in enumerate(ends.tolist()):
        try:
            spelled = text[start:end].decode()
        except UnicodeDecodeError:
            continue  # ends inside a character
        groups.append(TokenGroup(tuple(ids[first : position + 1]), spelled))
        first, start = position + 1, end
    return tuple(groups)
