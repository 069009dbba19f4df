"""From blocks of ids to the bytes of a text, with the place of whatever is wrong."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb.encoding import Tokenizer, decode_blocks
from bpenb.errors import EncodingError, UnknownTokenError
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["decode_named_blocks"]

LONGEST_TAIL = 3  # bytes of a character that the next token may finish


def decode_named_blocks(
    tokenizer: Tokenizer,
    blocks: Iterable[npt.NDArray[Any]],
    errors: str | None = None,
    name: str = "the ids",
    progress: ProgressOption | Reporter = None,
) -> Iterator[bytes | memoryview]:
    """Decode ids block by block; each text is valid until the next is asked for.

    Args:
        tokenizer: whose ids they are.
        blocks: arrays of one dimension.
        errors: None for the exact bytes, whatever they are; `strict` if they must be UTF-8; `replace`
            for U+FFFD where they are not. A character may go over any number of tokens and blocks.
        name: of the source, for errors.
        progress: as elsewhere; in tokens.

    Raises:
        UnknownTokenError: an id that no token has; the message has its position.
        EncodingError: another `errors`; with `strict`, bytes that are not UTF-8: the message has the
            token's position.

    Example:
        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [])
        >>> list(map(bytes, decode_named_blocks(tokenizer, [np.array([104, 195]), np.array([169])])))
        [b'h\\xc3', b'\\xa9']
        >>> list(decode_named_blocks(tokenizer, [np.array([104, 195]), np.array([40])], "replace"))
        [b'h', b'\\xef\\xbf\\xbd(', b'']
    """
    if errors not in (None, "strict", "replace"):
        raise EncodingError(f"errors is {errors!r}; it must be None, 'strict' or 'replace'")
    reporter, n_ids = make_reporter(progress), 0
    reporter.start("decode", None, "tokens")
    if errors is None:
        yield from _exact(tokenizer, blocks, name, reporter)
        return
    lengths = np.diff(tokenizer.model.token_offsets)
    utf8 = codecs.getincrementaldecoder("utf-8")(errors)
    tail = np.zeros(0, dtype=np.int64)  # position of the token of each of the last few bytes
    for ids in blocks:
        try:
            text = tokenizer.decoder.decode(ids, n_ids)
        except UnknownTokenError as error:
            raise UnknownTokenError(f"{name}: {error}") from None
        if errors == "replace":
            text = utf8.decode(text).encode()
        else:
            try:
                utf8.decode(text)
            except UnicodeDecodeError as error:
                # The decoder kept an unfinished character: its bytes stand before those of the block.
                n_kept = len(error.object) - len(text)
                at = error.start - n_kept
                positions = _token_positions(ids, lengths, n_ids)
                position = positions[at] if at >= 0 else tail[at]
                raise _not_utf8(name, int(position), error.reason) from None
            tail = np.concatenate([tail, _token_positions(ids, lengths, n_ids, LONGEST_TAIL)])[-LONGEST_TAIL:]
        n_ids += len(ids)
        yield text
        reporter.update(n_ids)
    if errors == "replace":
        yield utf8.decode(b"", final=True).encode()
    else:
        try:
            utf8.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise _not_utf8(name, int(tail[-len(error.object) :][0]), error.reason) from None
    reporter.finish(n_ids)


def _exact(
    tokenizer: Tokenizer, blocks: Iterable[npt.NDArray[Any]], name: str, reporter: Reporter
) -> Iterator[memoryview]:
    """Decode to the bytes as they are, at memory speed."""
    n_ids = 0

    def counted() -> Iterator[npt.NDArray[Any]]:
        nonlocal n_ids
        for ids in blocks:
            yield ids
            n_ids += len(ids)
            reporter.update(n_ids)

    try:
        yield from decode_blocks(tokenizer, counted())
    except UnknownTokenError as error:
        raise UnknownTokenError(f"{name}: {error}") from None
    reporter.finish(n_ids)


def _token_positions(
    ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], n_before: int, n_last: int | None = None
) -> npt.NDArray[np.int64]:
    """Return the position of the token of each byte; of the last `n_last` bytes only, if given."""
    skipped = 0 if n_last is None else max(0, len(ids) - n_last)  # a token has a byte at least
    of_tokens = np.arange(n_before + skipped, n_before + len(ids))
    of_bytes = np.repeat(of_tokens, lengths[ids[skipped:]])
    return of_bytes if n_last is None else of_bytes[-n_last:]


def _not_utf8(name: str, position: int, reason: str) -> EncodingError:
    return EncodingError(
        f"{name}: the text is not UTF-8 at the token at position {position} (counted from 0): {reason}; "
        "leave out errors to get the exact bytes, or replace them (--errors replace)"
    )
