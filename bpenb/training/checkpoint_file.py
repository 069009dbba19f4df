"""The file of a checkpoint: an .npz, from which a training goes on.

merges.npy         int32[n, 2], in learning ids; row = rank
merge_counts.npy   int64[n]
metadata.npy       uint8[]: JSON in UTF-8: format, version, and `training`, what decides the result:
                   ties, min_frequency, max_token_length, min_word_count, pattern, special tokens,
                   engine, Unicode version, and SHA-256 of the base (or null) and of the word counts
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bpenb._arrays import N_BYTES
from bpenb._atomic import atomic_write
from bpenb.errors import BpenbError, FormatError
from bpenb.training.at_work import GivenMerges
from bpenb.training.sequences import check_merges

__all__ = ["Identity", "Stored", "read_checkpoint", "write_checkpoint"]

Identity: TypeAlias = dict[str, Any]  # what decides the result of a training, by its name for users

_FORMAT = "bpenb checkpoint"
_VERSION = 1


class Stored(NamedTuple):
    """What a checkpoint file holds."""

    made: GivenMerges
    identity: Identity


def read_checkpoint(path: Path) -> Stored:
    """Return what a checkpoint file holds.

    Raises:
        FormatError: the file is missing, damaged, of another kind or of another version.
    """
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile) or "metadata" not in stored:
                raise FormatError("no checkpoint: a file of something else")
            with stored:
                identity = _parse_metadata(json.loads(stored["metadata"].tobytes()))
                made = _checked_merges(stored["merges"], stored["merge_counts"])
    except BpenbError as error:
        raise FormatError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise FormatError(
            f"{path}: there is no such checkpoint to resume from; to begin one, leave out --resume "
            "(resume=True)"
        ) from None
    except Exception as error:  # numpy, zipfile, zlib and json each have their own for a damaged file
        raise FormatError(f"{path}: no checkpoint, or damaged: {error}") from error
    return Stored(made, identity)


def _parse_metadata(metadata: Any) -> Identity:
    if not isinstance(metadata, dict) or metadata.get("format") != _FORMAT:
        raise FormatError("no checkpoint: an .npz of something else")
    if metadata.get("version") != _VERSION:
        raise FormatError(
            f"a checkpoint of format version {metadata.get('version')!r}; this bpenb reads version {_VERSION}"
        )
    identity = metadata.get("training")
    if not isinstance(identity, dict):
        raise FormatError("damaged checkpoint: `training` is missing")
    return identity


def _checked_merges(merges: npt.NDArray[Any], merge_counts: npt.NDArray[Any]) -> GivenMerges:
    n = merge_counts.shape[0] if merge_counts.ndim == 1 else -1
    if merges.dtype != np.int32 or merge_counts.dtype != np.int64 or merges.shape != (n, 2):
        raise FormatError(
            f"damaged checkpoint: merges are {merges.dtype}{list(merges.shape)}, "
            f"their counts {merge_counts.dtype}{list(merge_counts.shape)}"
        )
    check_merges(merges, N_BYTES)
    return GivenMerges(merges, merge_counts)


def write_checkpoint(path: Path, made: GivenMerges, identity: Identity) -> None:
    """Write a checkpoint as a whole or not at all."""
    metadata = json.dumps({"format": _FORMAT, "version": _VERSION, "training": identity})
    encoded = np.frombuffer(metadata.encode(), dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez(
            file, allow_pickle=False, metadata=encoded, merges=made.merges, merge_counts=made.merge_counts
        )
