"""Word counts by the plainest means: cut out the special tokens, match, add one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.oracles.pretokenizer import pretokens
from tests.oracles.specials import plain_stretches


def count_words(
    documents: Iterable[bytes], pattern: str, special_tokens: Sequence[str], errors: str = "strict"
) -> dict[bytes, int]:
    """Return word → count, words ascending."""
    counts: dict[bytes, int] = {}
    for document in documents:
        for stretch in plain_stretches(document, special_tokens):
            for pretoken in pretokens(stretch.decode(errors=errors), pattern):
                word = pretoken.encode()
                counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items()))
