"""Documents that a program hands over, as `str` or `bytes`, one by one or in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

from bpenb.errors import CorpusError

__all__ = ["Documents", "batch_documents", "encode_batches", "encode_document"]

# Anything with `tolist` (arrays of NumPy and Arrow) is a batch as well; no type can say so.
Documents: TypeAlias = Iterable[str | bytes | list[str] | list[bytes] | tuple[str | bytes, ...] | Any]


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


def encode_batches(documents: Documents) -> Iterator[list[bytes]]:
    """Yield the documents as bytes, in lists as they come: lazily, each item as it is asked for.

    An exception of the user's iterator passes through. Documents are numbered through all batches.

    Args:
        documents: an iterable of whole documents (`str`, `bytes`), or of batches of them: lists,
            tuples, or arrays of NumPy or Arrow.

    Raises:
        CorpusError: a document that UTF-8 cannot spell.
        TypeError: one `str` or `bytes` in place of an iterable of them, or an item of another type.

    Example:
        >>> list(encode_batches(["a", b"bc", ["d", "é"]]))
        [[b'a'], [b'bc'], [b'd', b'\\xc3\\xa9']]
    """
    if isinstance(documents, str | bytes | bytearray) or not isinstance(documents, Iterable):
        raise TypeError(
            f"documents must be an iterable of str or bytes, not {type(documents).__name__}; "
            "put a single document into a list"
        )
    return _encode_items(documents)


def _encode_items(documents: Iterable[Any]) -> Iterator[list[bytes]]:
    number = 0
    for item in documents:
        if isinstance(item, str):
            try:
                yield [item.encode()]  # no call of ours: there may be millions
            except UnicodeEncodeError:
                encode_document(item, number)  # raises, and names it
            number += 1
        elif isinstance(item, bytes):
            yield [item]
            number += 1
        else:
            batch = _encode_batch(item, number)
            yield batch
            number += len(batch)


def _encode_batch(item: Any, number: int) -> list[bytes]:
    """Return a batch as bytes, without a call of ours for each document if all of them are `str`."""
    if hasattr(item, "as_py"):  # a value of Arrow: a text or a list of texts
        item = item.as_py()
    batch = item.tolist() if hasattr(item, "tolist") else item
    if not isinstance(batch, list | tuple):
        return [encode_document(batch, number)]
    try:
        return list(map(str.encode, batch))
    except (TypeError, UnicodeEncodeError):  # bytes among them, or what is no document: look at each
        return [encode_document(document, number + k) for k, document in enumerate(batch)]


def batch_documents(documents: Documents, batch_bytes: int) -> Iterator[list[bytes]]:
    """Yield the documents in order, in lists of about `batch_bytes`; none is cut.

    Nothing is read ahead of what is asked for, and an exception of the user's iterator passes
    through as it is.

    Args:
        documents: as of `encode_batches`.
        batch_bytes: bytes at which a list is full (a document more is never left out).

    Raises:
        CorpusError: a document that UTF-8 cannot spell.
        TypeError: one `str` or `bytes` in place of an iterable of them, or an item of another type.

    Example:
        >>> list(batch_documents(["a", b"bc", "d"], 3))
        [[b'a', b'bc'], [b'd']]
    """
    return _of_size(chain.from_iterable(encode_batches(documents)), batch_bytes)


def _of_size(documents: Iterator[bytes], batch_bytes: int) -> Iterator[list[bytes]]:
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
