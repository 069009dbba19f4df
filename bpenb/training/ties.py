"""The one place that says which of two pairs merges first.

Higher count first. Equal counts are decided by the tie mode, a total order, so nothing else
(order of words, threads, shards) can change a merge:

    cs336        the greater pair of raw bytes (left, right), as Python compares tuples of bytes
    huggingface  the smaller pair of ids; single bytes are numbered in GPT-2's printable order
    rustbpe      the smaller pair of ids; single bytes are numbered by value
    subword-nmt  the greater pair of strings, the end-of-word mark included: of characters alone, whose
                 UTF-8 sorts as they do, so the rule of cs336 on bytes is the same

Training works with *learning ids*: 0…255 are the single bytes in the order of the mode, then
the merges by rank. They ascend as the mode's final ids do, so ties come out the same.
"""

from __future__ import annotations

import numpy as np

from bpenb._arrays import N_BYTES, ByteArray
from bpenb._byte_map import BYTE_TO_CHARACTER, GPT2_BYTE_ORDER
from bpenb._jit import helper
from bpenb.errors import TrainingError

__all__ = [
    "CS336",
    "SMALLEST_IDS",
    "SUBWORD_NMT",
    "TIE_MODES",
    "byte_order",
    "check_ties",
    "precedes",
    "tie_rule",
]

CS336 = 0
SMALLEST_IDS = 1

SUBWORD_NMT = "subword-nmt"
"""The tie mode of a training on characters (docs/classic.md), and of no other."""

TIE_MODES: dict[str, int] = {"cs336": CS336, "huggingface": SMALLEST_IDS, "rustbpe": SMALLEST_IDS}


def check_ties(ties: str) -> str:
    """Return `ties` if it is the name of a tie mode, else raise TrainingError."""
    if not isinstance(ties, str):
        raise TypeError(f"ties must be a str, not {type(ties).__name__}")
    if ties == SUBWORD_NMT:
        raise TrainingError(
            f"ties {ties!r} are those of a training on characters: take train_classic, "
            "or --alphabet characters"
        )
    if ties not in TIE_MODES:
        raise TrainingError(f"unknown ties {ties!r}; there are: {', '.join(TIE_MODES)}")
    return ties


def tie_rule(ties: str) -> int:
    """Return the rule (CS336 or SMALLEST_IDS) that kernels know a tie mode by."""
    return TIE_MODES[check_ties(ties)]


def byte_order(ties: str, special_tokens: tuple[str, ...]) -> ByteArray:
    """Return uint8[256]: the byte that each of the learning ids 0…255 stands for.

    In `huggingface` mode special tokens are numbered first, and one that is written as a byte
    is (in GPT-2's printable form) shares that byte's id, so such bytes come before the others.
    """
    if ties != "huggingface":
        return np.arange(N_BYTES, dtype=np.uint8)
    shared = {character: byte for byte, character in enumerate(BYTE_TO_CHARACTER)}
    first = [shared[special] for special in special_tokens if special in shared]
    rest = [byte for byte in GPT2_BYTE_ORDER if byte not in first]
    return np.array(first + rest, dtype=np.uint8)


@helper
def _is_greater(tokens, a, b):  # type: ignore[no-untyped-def]
    """Tell whether the bytes of token a are greater than those of token b, another token."""
    prefix_a = tokens.prefixes[a]
    prefix_b = tokens.prefixes[b]
    if prefix_a != prefix_b:  # the first eight bytes decide nearly always
        return prefix_a > prefix_b
    i = tokens.token_offsets[a]
    k = tokens.token_offsets[b]
    end_a = tokens.token_offsets[a + 1]
    end_b = tokens.token_offsets[b + 1]
    while i < end_a and k < end_b:
        if tokens.token_bytes[i] != tokens.token_bytes[k]:
            return tokens.token_bytes[i] > tokens.token_bytes[k]
        i += 1
        k += 1
    return end_a - i > end_b - k


@helper
def precedes(rule, tokens, key_a, key_b):  # type: ignore[no-untyped-def]
    """Tell whether pair a merges before pair b, another pair of the same count.

    rule           : CS336 or SMALLEST_IDS
    tokens         : TokenTable
    key_a, key_b   : int64, left << 32 | right
    Returns        : bool
    """
    if rule == SMALLEST_IDS:
        return key_a < key_b
    left_a = key_a >> 32
    left_b = key_b >> 32
    if left_a != left_b:
        return _is_greater(tokens, left_a, left_b)
    return _is_greater(tokens, key_a & 0xFFFFFFFF, key_b & 0xFFFFFFFF)
