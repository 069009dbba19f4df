"""Documents from a program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bpenb.corpus import batch_documents, encode_document
from bpenb.errors import CorpusError
from hypothesis import given
from hypothesis import strategies as st


def test_documents_are_bytes_or_spelled_in_utf8() -> None:
    assert encode_document("né\r\n", 0) == b"n\xc3\xa9\r\n"
    assert encode_document(b"\xff", 0) == b"\xff"


def test_a_lone_surrogate_is_an_error_with_its_place() -> None:
    with pytest.raises(CorpusError, match=r"document 7: lone surrogate U\+D83D at character 2"):
        encode_document("ab\ud83d", 7)


@pytest.mark.parametrize("document", [None, 3, ["a"], bytearray(b"a")])
def test_other_types_are_refused(document: object) -> None:
    with pytest.raises(TypeError, match="document 4"):
        encode_document(document, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("documents", ["a", b"a", 3, None])
def test_a_single_document_is_no_iterable_of_them(documents: object) -> None:
    with pytest.raises(TypeError, match="iterable"):
        batch_documents(documents, 10)  # type: ignore[arg-type]


@given(st.lists(st.binary(max_size=6)), st.integers(1, 20))
def test_batches_hold_all_documents_in_order(documents: list[bytes], batch_bytes: int) -> None:
    batches = list(batch_documents(documents, batch_bytes))
    assert [document for batch in batches for document in batch] == documents
    for batch in batches:
        assert sum(len(d) or 1 for d in batch[:-1]) < batch_bytes


def test_nothing_is_read_ahead_and_the_users_error_passes_through() -> None:
    taken: list[int] = []

    def documents() -> Iterator[str]:
        for number in range(5):
            taken.append(number)
            yield "four"
        raise LookupError("the user's own")

    batches = batch_documents(documents(), 8)
    assert taken == []
    next(batches)
    assert taken == [0, 1]
    next(batches)
    with pytest.raises(LookupError, match="the user's own"):
        next(batches)


def test_names_of_files_are_documents_like_others() -> None:
    assert list(batch_documents([__file__], 1)) == [[__file__.encode()]]
