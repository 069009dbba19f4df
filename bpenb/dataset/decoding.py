"""From blocks of ids to the bytes of a text, with the place of whatever is wrong."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from bpenb.encoding import Tokenizer
from bpenb.errors import EncodingError, UnknownTokenError
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["decode_blocks"]

LONGEST_TAIL = 3  # bytes of a character that the next token may finish


def decode_blocks(
    tokenizer: Tokenizer,
    blocks: Iterable[npt.NDArray[Any]],
    errors: str | None = None,
    name: str = "the ids",
    progress: ProgressOption | Reporter = None,
) -> Iterator[bytes]:
    """Decode ids block by block.

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
        >>> list(decode_blocks(tokenizer, [np.array([104, 195]), np.array([169])]))
        [b'h\\xc3', b'\\xa9']
        >>> list(decode_blocks(tokenizer, [np.array([104, 195]), np.array([40])], "replace"))
        [b'h', b'\\xef\\xbf\\xbd(', b'']
    """
    if errors not in (None, "strict", "replace"):
        raise EncodingError(f"errors is {errors!r}; it must be None, 'strict' or 'replace'")
    lengths = np.diff(tokenizer.model.token_offsets)
    utf8 = codecs.getincrementaldecoder("utf-8")(errors or "strict")
    tail = np.zeros(0, dtype=np.int64)  # position of the token of each of the last few bytes
    reporter, n_ids = make_reporter(progress), 0
    reporter.start("decode", None, "tokens")
    for ids in blocks:
        text = _decode_block(tokenizer, ids, lengths, n_ids, name)
        if errors == "replace":
            text = utf8.decode(text).encode()
        elif errors == "strict":
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
    elif errors == "strict":
        try:
            utf8.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise _not_utf8(name, int(tail[-len(error.object) :][0]), error.reason) from None
    reporter.finish(n_ids)


def _decode_block(
    tokenizer: Tokenizer, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], n_before: int, name: str
) -> bytes:
    try:
        return tokenizer.decode_bytes(ids)
    except UnknownTokenError as error:
        inside = (ids >= 0) & (ids < lengths.shape[0])
        has_token = inside & (lengths[np.where(inside, ids, 0)] > 0)
        position = n_before + int(np.argmin(has_token))
        raise UnknownTokenError(f"{name}: position {position} (counted from 0): {error}") from None


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
