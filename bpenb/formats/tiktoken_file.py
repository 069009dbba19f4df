"""The .tiktoken file: lines of `base64(bytes) rank`, where the rank is the id as well.

It holds neither merges nor the split pattern nor the special tokens. A token's merge is what BPE
leaves of its bytes when only lower ranks may merge: two parts.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from bpenb.errors import FormatError, ModelError, OutputError
from bpenb.formats.boundaries import boundary_holds, byte_age, self_made_ids
from bpenb.formats.reading import check_line_count, read_bytes
from bpenb.model import BPEModel

__all__ = ["read_tiktoken", "recover_merges", "tiktoken_file"]

_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) ([0-9]{1,18})")


def tiktoken_file(model: BPEModel) -> bytes:
    """Return the contents of tokenizer.tiktoken: every token but the special ones.

    Raises:
        OutputError: merges that a reader could not recover from the tokens and their ids.
    """
    for earlier, later in pairwise(model.merge_ids.tolist()):
        if earlier >= later:
            raise OutputError(
                f"a .tiktoken file cannot hold this tokenizer: its rank is the id, but token {later} merges "
                f"after token {earlier}"
            )
    vocab = model.ordinary_vocab()
    strange = vocab.keys() - self_made_ids(model)
    if strange:
        token = vocab[min(strange)]
        raise OutputError(
            f"a .tiktoken file cannot hold this tokenizer: token {min(strange)} ({token!r}) is not what "
            "its own bytes merge to; if it is a special token, name it as one"
        )
    return b"".join(b"%s %d\n" % (b64encode(token), token_id) for token_id, token in vocab.items())


def read_tiktoken(path: Path) -> dict[int, bytes]:
    """Return the bytes of each id of a .tiktoken file, by id.

    Raises:
        FormatError: a line that is not base64 and a rank, or that repeats one; the message names it.
    """
    tokens: dict[int, bytes] = {}
    line_of: dict[bytes, int] = {}
    data = read_bytes(path)
    check_line_count(data, data.count(b"\n"), path)
    lines = data.split(b"\n")
    if not lines[-1]:
        del lines[-1]
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise FormatError(f"{path}: line {number}: must be base64, a space and a rank, not {line[:60]!r}")
        try:
            token = b64decode(match[1], validate=True)
        except binascii.Error as error:
            raise FormatError(f"{path}: line {number}: not base64: {error}") from None
        rank = int(match[2])
        if rank in tokens:
            raise FormatError(f"{path}: line {number}: rank {rank} is that of line {line_of[tokens[rank]]}")
        first = line_of.setdefault(token, number)
        if first != number:
            raise FormatError(f"{path}: line {number}: the token {token!r} of line {first} once more")
        tokens[rank] = token
    if not tokens:
        raise FormatError(f"{path}: holds no token")
    return dict(sorted(tokens.items()))


def recover_merges(vocab: Mapping[int, bytes]) -> list[tuple[bytes, bytes]]:
    """Return the merges that make every token of a vocab whose ids are ranks.

    Args:
        vocab: the bytes of each id, ascending by id.

    Returns:
        Pairs of bytes, by rank: one for each token of two bytes or more.

    Raises:
        ModelError: a token that its own bytes do not merge to; the message names it.

    Example:
        >>> recover_merges({97: b"a", 98: b"b", 256: b"ab", 257: b"aba"})
        [(b'a', b'b'), (b'ab', b'a')]
    """
    age = {token: byte_age(token[0]) for token in vocab.values() if len(token) == 1}
    lengths = {1}
    parts: dict[int, tuple[int, int]] = {}
    made: dict[tuple[int, int], int] = {}
    merges: list[tuple[bytes, bytes]] = []
    for token_id, token in vocab.items():
        size = len(token)
        if size == 1:
            continue
        # For a long token few lengths are there to try; for a short one, nearly all are.
        cuts = range(1, size) if size < 32 else sorted(n for n in lengths if n < size and size - n in lengths)
        for cut in cuts:
            left, right = age.get(token[:cut]), age.get(token[cut:])
            if left is None or right is None or not boundary_holds(left, right, parts, made):
                continue
            rank = len(merges)
            parts[rank] = (left, right)
            made[left, right] = age[token] = rank
            merges.append((token[:cut], token[cut:]))
            lengths.add(size)
            break
        else:
            raise ModelError(f"token {token_id} ({token!r}) is not what its own bytes merge to")
    return merges
