"""The options of `bpenb train` as what the calls behind it take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bpenb_cli import _mixture as mixture
from bpenb_cli import _reading as reading
from bpenb_cli import _vocab_options as vocab

if TYPE_CHECKING:
    from bpenb.progress import ProgressCallback

__all__ = ["training_settings"]

_LEARNING = ("min_frequency", "max_token_length", "min_word_count", "verify")
_VOCAB = ("reserve_special_tokens", "pad_vocab_to_multiple", "bos", "eos", "pad", "unk")
_INPUTS = ("field", "document_separator", "skip_bad_rows")
_TAKEN = ("max_bytes_per_source", "sample", "seed")
_READING = ("errors", "engine", "workers", "pool", "chunk_size", "max_memory")


def training_settings(
    given: Mapping[str, Any], classic: Mapping[str, Any] | None, show: ProgressCallback
) -> dict[str, Any]:
    """Return the settings of a training.

    Args:
        given: the parameters of the command, by name.
        classic: what is for characters alone, or None.
        show: the progress.
    """

    def taken(names: tuple[str, ...]) -> list[Any]:
        return [given[name] for name in names]

    settings = dict(zip(_LEARNING, taken(_LEARNING), strict=True)) | {"progress": show}
    if given["min_frequency"] is None:
        settings["min_frequency"] = 1 if classic is None else 2
    if given["ties"]:
        settings["ties"] = given["ties"].value
    if given["merges_per_step"] != 1:
        settings["merges_per_step"] = given["merges_per_step"]
    settings |= vocab.vocab_options(*taken(_VOCAB))
    settings |= {"inputs": reading.input_options(*taken(_INPUTS))}
    settings |= mixture.taken(*taken(_TAKEN))
    return settings | reading.reading(*taken(_READING))
