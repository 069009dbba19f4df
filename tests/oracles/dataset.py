"""What a dataset must hold, slowly: every document of every input, id by id, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

from tests.oracles.encoder import encode
from tests.oracles.specials import find_specials


@dataclass(frozen=True)
class Rules:
    """A tokenizer, and how documents become ids."""

    vocab: dict[int, bytes]
    merges: list[tuple[bytes, bytes]]
    pattern: str
    special_tokens: dict[str, int] = field(default_factory=dict)
    eot: int | None = None
    separator: str | None = None
    special: str = "all"
    append: bool = False
    prepend: bool = False

    def ids(self, text: str, special_tokens: list[str]) -> list[int]:
        """The ids of a text in which these special tokens are recognised."""
        vocab = self.vocab | {self.special_tokens[token]: token.encode() for token in special_tokens}
        return encode(text, vocab, self.merges, special_tokens, self.pattern)

    @property
    def recognised(self) -> list[str]:
        return [] if self.special == "none" else list(self.special_tokens)


def text_documents(text: str, rules: Rules) -> list[list[int]]:
    """The documents of a text file: what stands between separators, or up to and with an end-of-text.

    Nothing between two of them is no document. Where end-of-text tokens are prepended, those of the text
    only separate.
    """
    separators = [] if rules.separator is None else [rules.separator]
    data, documents, document, position = text.encode(), [], [], 0
    marks = find_specials(data, separators + rules.recognised)
    for start, end in [*marks, (len(data), len(data))]:
        document = document + rules.ids(data[position:start].decode(), [])
        mark, position = data[start:end].decode(), end
        is_eot = mark in rules.recognised and rules.special_tokens[mark] == rules.eot
        if mark in separators or (is_eot and rules.prepend) or start == len(data):
            documents.append(document)
            document = []
        else:
            document = [*document, rules.special_tokens[mark]]
            if is_eot:
                documents.append(document)
                document = []
    return [document for document in documents if document]


def row_documents(rows: list[str], rules: Rules) -> list[list[int]]:
    """The documents of rows: each is one, whatever is in it, and an empty one too."""
    return [rules.ids(row, rules.recognised) for row in rows]


def with_eot(document: list[int], rules: Rules) -> list[int]:
    """A document with the end-of-text tokens that it lacks."""
    assert rules.eot is not None or not (rules.prepend or rules.append)
    if rules.prepend and document[:1] != [rules.eot]:
        document = [rules.eot, *document]
    if rules.append and document[-1:] != [rules.eot]:
        document = [*document, rules.eot]
    return document


def dataset(inputs: list[str | list[str]], rules: Rules) -> list[list[int]]:
    """The documents of all inputs, in order: of texts and of rows."""
    found = []
    for one in inputs:
        found += text_documents(one, rules) if isinstance(one, str) else row_documents(one, rules)
    return [with_eot(document, rules) for document in found]


def flat(documents: list[list[int]]) -> tuple[list[int], list[int]]:
    """All ids, and where each document begins."""
    return [token for document in documents for token in document], [0, *accumulate(map(len, documents))]
