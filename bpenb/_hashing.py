"""Mixing the bits of numbers, so that what is chosen by them looks like chance and is the same everywhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["mixed"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return every number mixed by the last steps of SplitMix64 (Steele, Lea and Flood, 2014).

    Example:
        >>> mixed(np.array([0, 1], dtype=np.uint64)).tolist()
        [16294208416658607535, 10451216379200822465]
    """
    values = values + _STEP  # arrays wrap without a word
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))
