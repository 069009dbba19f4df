"""Where a pair stands in a list of pairs that grows: open addressing on the key."""

from __future__ import annotations

import numpy as np

from bpenb._arrays import IdArray, Int64Array
from bpenb._jit import kernel
from bpenb.training.index import find_slot

__all__ = ["PairLookup", "add_pairs", "find_pairs"]

# mypy: disable-error-code="no-untyped-def"

_EMPTY = -1
_FIRST_SLOTS = 1 << 10


@kernel
def add_pairs(slot_keys, slot_places, keys, first):
    """Note that pairs stand at the places first, first + 1, …; none of them is there yet.

    slot_keys   : int64[n_slots], a power of two, with room for all; −1 where free
    slot_places : int32[n_slots]
    keys        : int64[n]
    O(n)
    """
    for k in range(keys.shape[0]):
        s = find_slot(slot_keys, keys[k])
        slot_keys[s] = keys[k]
        slot_places[s] = first + k


@kernel
def find_pairs(slot_keys, slot_places, keys, places):
    """Write where pairs stand, −1 for one that is not there. places: int32[n], written. O(n)."""
    for k in range(keys.shape[0]):
        s = find_slot(slot_keys, keys[k])
        places[k] = slot_places[s] if slot_keys[s] == keys[k] else -1


class PairLookup:
    """A list of distinct pairs, of which only the places are kept."""

    def __init__(self) -> None:
        self._slot_keys: Int64Array = np.full(_FIRST_SLOTS, _EMPTY, dtype=np.int64)
        self._slot_places: IdArray = np.zeros(_FIRST_SLOTS, dtype=np.int32)
        self._n_pairs = 0

    def __len__(self) -> int:
        return self._n_pairs

    def add(self, keys: Int64Array) -> None:
        """Append pairs that are not in the list."""
        self._reserve(self._n_pairs + keys.shape[0])
        add_pairs(self._slot_keys, self._slot_places, keys, self._n_pairs)
        self._n_pairs += keys.shape[0]

    def find(self, keys: Int64Array) -> IdArray:
        """Return int32[n], the places of pairs, −1 where one is not in the list."""
        places = np.empty(keys.shape[0], dtype=np.int32)
        find_pairs(self._slot_keys, self._slot_places, keys, places)
        return places

    def n_array_bytes(self) -> int:
        """Return what its arrays take, in bytes."""
        return self._slot_keys.nbytes + self._slot_places.nbytes

    def _reserve(self, n_pairs: int) -> None:
        n_slots = self._slot_keys.shape[0]
        if n_pairs <= n_slots // 8 * 5:
            return
        while n_pairs > n_slots // 8 * 5:
            n_slots *= 2
        used = self._slot_keys != _EMPTY
        old_keys = self._slot_keys[used][np.argsort(self._slot_places[used])]
        self._slot_keys = np.full(n_slots, _EMPTY, dtype=np.int64)
        self._slot_places = np.zeros(n_slots, dtype=np.int32)
        add_pairs(self._slot_keys, self._slot_places, old_keys, 0)
