"""Documents that a program hands over one by one, as `str` or `bytes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bpenb.errors import CorpusError

__all__ = ["batch_documents", "encode_document", "encode_documents"]


def encode_document(document: str | bytes, number: int) -> bytes:
    """Return a document as bytes; a `str` is spelled in UTF-8.

    Args:
        document: the whole text. It is never looked up on disk.
        number: its place in the user's iterable, from 0, for messages.

    Raises:
        CorpusError: a lone surrogate, which UTF-8 cannot spell.
        TypeError: neither `str` nor `bytes`.

    Example:
        >>> encode_document("né", 0)
        b'n\\xc3\\xa9'
    """
    if isinstance(document, bytes):
        return document
    if not isinstance(document, str):
        raise TypeError(f"document {number} must be a str or bytes, not {type(document).__name__}")
    try:
        return document.encode()
    except UnicodeEncodeError as error:
        code = ord(document[error.start])
        raise CorpusError(
            f"document {number}: lone surrogate U+{code:04X} at character {error.start}; "
            "UTF-8 cannot spell it: decode the text anew, or replace it with U+FFFD"
        ) from None


def encode_documents(documents: Iterable[str | bytes]) -> Iterator[bytes]:
    """Yield every document as bytes, lazily; an exception of the user's iterator passes through.

    Args:
        documents: an iterable of whole documents.

    Raises:
        CorpusError: a document that UTF-8 cannot spell.
        TypeError: one `str` or `bytes` in place of an iterable of them, or an item of another type.

    Example:
        >>> list(encode_documents(["a", b"bc"]))
        [b'a', b'bc']
    """
    if isinstance(documents, str | bytes | bytearray) or not isinstance(documents, Iterable):
        raise TypeError(
            f"documents must be an iterable of str or bytes, not {type(documents).__name__}; "
            "put a single document into a list"
        )
    return (encode_document(document, number) for number, document in enumerate(documents))


def batch_documents(documents: Iterable[str | bytes], batch_bytes: int) -> Iterator[list[bytes]]:
    """Yield the documents in order, in lists of about `batch_bytes`; none is cut.

    Nothing is read ahead of what is asked for, and an exception of the user's iterator passes
    through as it is.

    Args:
        documents: an iterable of whole documents.
        batch_bytes: bytes at which a list is full (a document more is never left out).

    Raises:
        CorpusError: a document that UTF-8 cannot spell.
        TypeError: one `str` or `bytes` in place of an iterable of them, or an item of another type.

    Example:
        >>> list(batch_documents(["a", b"bc", "d"], 3))
        [[b'a', b'bc'], [b'd']]
    """
    return _batches(encode_documents(documents), batch_bytes)


def _batches(documents: Iterator[bytes], batch_bytes: int) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    n_bytes = 0
    for data in documents:
        batch.append(data)
        # A document counts for one byte at least, else endless empty ones would fill the memory.
        n_bytes += len(data) or 1
        if n_bytes >= batch_bytes:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch
