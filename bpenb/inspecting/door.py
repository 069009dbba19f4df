"""The door: a tokenizer, and texts if there are any, in; an `Inspection` out."""

from __future__ import annotations

from bpenb.corpus import Files
from bpenb.encoding import Tokenizer
from bpenb.errors import BpenbError
from bpenb.inspecting.inspection import Inspection, inspect_model
from bpenb.inspecting.rereading import rereadable
from bpenb.inspecting.texts import measure_texts
from bpenb.preparing import EncodeSettings
from bpenb.progress import ProgressOption

__all__ = ["check_top", "checked_settings", "inspect_tokenizer"]


def inspect_tokenizer(
    tokenizer: Tokenizer,
    inputs: Files | None = None,
    settings: EncodeSettings | None = None,
    *,
    top: int = 20,
    workers: int | None = None,
    max_memory: int | str | None = None,
    progress: ProgressOption = None,
) -> Inspection:
    """Look at a tokenizer, and at what it makes of texts.

    The texts are encoded once, and their words counted twice (by the split pattern, and by whitespace),
    as fast as a training corpus; memory grows with the distinct words alone. A pipe is copied to a
    temporary file first.

    Args:
        tokenizer: any.
        inputs: files of every kind that is encoded, globs, folders, `-`; None: no texts.
        settings: how texts are read and which special tokens are recognised.
        top: how many of the pretokens that cost most are kept.
        workers: threads; None: as many as there are processors.
        max_memory: bytes (or `512MB`) that the words may take before they go to temporary files.
        progress: None, True or a callable.

    Raises:
        BpenbError: settings that change the ids of the texts (`append_eot`, …); `top` below 0.
        CorpusError: an input that cannot be read, or is not UTF-8.
        CountsError: the distinct words do not fit into `max_memory`.
        EncodingError: a byte that the vocab lacks.
        TypeError: an argument of a wrong type.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low low lower")
        >>> vocab = {i: bytes([i]) for i in range(256)} | {256: b"lo", 257: b"low"}
        >>> found = inspect_tokenizer(Tokenizer(vocab, [(b"l", b"o"), (b"lo", b"w")]), "corpus.txt")
        >>> found.kinds["whole_words"], found.texts.n_tokens, found.texts.n_words
        (54, 7, 3)
        >>> found.texts.costly[0]
        CostlyWord(word=b' lower', count=1, n_tokens=4)
    """
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"tokenizer must be a Tokenizer, not {type(tokenizer).__name__}; see Tokenizer.load")
    check_top(top)
    settings = checked_settings(settings)
    if inputs is None:
        return inspect_model(tokenizer.model, None)
    with rereadable(inputs) as texts:
        figures = measure_texts(tokenizer, texts, settings, top, workers, max_memory, progress)
    return inspect_model(tokenizer.model, figures)


def check_top(top: object) -> None:
    """Raise if it is no number of entries."""
    if isinstance(top, bool) or not isinstance(top, int):
        raise TypeError(f"top must be an int, not {type(top).__name__}")
    if top < 0:
        raise BpenbError(f"top is {top}; it must be 0 or more")


def checked_settings(settings: EncodeSettings | None) -> EncodeSettings:
    """Return settings, the usual ones for None.

    Raises:
        BpenbError: they add tokens, or choose among documents.
    """
    settings = settings or EncodeSettings()
    if settings.append_eot or settings.prepend_eot or settings.shuffle or settings.val_fraction:
        raise BpenbError(
            "the tokens of the text itself are looked at; leave out append_eot, prepend_eot, shuffle and "
            "val_fraction"
        )
    return settings
