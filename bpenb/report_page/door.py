"""The door: a tokenizer and texts in, one HTML file out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bpenb._atomic import atomic_write
from bpenb.corpus import Files
from bpenb.encoding import Tokenizer
from bpenb.errors import BpenbError, CorpusError, OutputError
from bpenb.inspecting.door import checked_settings
from bpenb.inspecting.inspection import inspect_model
from bpenb.inspecting.rereading import Texts, rereadable
from bpenb.inspecting.texts import count_pretokens, measure_texts
from bpenb.preparing import EncodeSettings
from bpenb.progress import ProgressOption, make_reporter
from bpenb.report_page.growth import measure_growth
from bpenb.report_page.page import ReportFacts, render_page
from bpenb.report_page.passage import take_passage
from bpenb.report_page.phases import training_phases
from bpenb.report_page.plots import check_library

__all__ = ["write_report"]


def write_report(
    tokenizer: Tokenizer,
    inputs: Files,
    path: str | os.PathLike[str],
    settings: EncodeSettings | None = None,
    *,
    name: str = "A tokenizer",
    training: Mapping[str, Any] | None = None,
    passage_tokens: int = 2000,
    force: bool = False,
    workers: int | None = None,
    max_memory: int | str | None = None,
    progress: ProgressOption = None,
) -> None:
    """Write a page that shows a tokenizer, and what it makes of texts; see docs/report-page.md.

    One HTML file that needs no network: plots, their tables, and a passage of the texts whose tokens tell
    their id, bytes, rank, frequency and merges.

    Args:
        tokenizer: any.
        inputs, settings, workers, max_memory, progress: as of `inspect_tokenizer`.
        path: the file to write; its folder is there.
        name: what the tokenizer is called.
        training: a report as of `tokenizer.report` (report.json), for the phases; None: the tokenizer's own.
        passage_tokens: of the beginning of the texts, so many tokens can be pointed at.
        force: replace a file that is there.

    Raises:
        OutputError: a file that is there, or a folder that is not; no matplotlib (the extra `report`).
        CorpusError: texts that are empty, cannot be read, or are not UTF-8.
        BpenbError: `passage_tokens` below 1; settings as of `inspect_tokenizer`.
        CountsError, EncodingError, TypeError: as of `inspect_tokenizer`.

    Example:
        >>> _ = Path("corpus.txt").write_text("low low lower")
        >>> vocab = {i: bytes([i]) for i in range(256)} | {256: b"lo", 257: b"low"}
        >>> write_report(Tokenizer(vocab, [(b"l", b"o"), (b"lo", b"w")]), "corpus.txt", "report.html")
        >>> Path("report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
        True
    """
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"tokenizer must be a Tokenizer, not {type(tokenizer).__name__}; see Tokenizer.load")
    if isinstance(passage_tokens, bool) or not isinstance(passage_tokens, int):
        raise TypeError(f"passage_tokens must be an int, not {type(passage_tokens).__name__}")
    if passage_tokens < 1:
        raise BpenbError(f"passage_tokens is {passage_tokens}; it must be 1 or more")
    settings = checked_settings(settings)
    target = Path(path)
    _check_target(target, force)
    check_library()
    with rereadable(inputs) as texts:
        _check_no_input(target, texts)
        counts = count_pretokens(tokenizer, texts, settings, workers, max_memory, progress)
        figures = measure_texts(tokenizer, texts, settings, 0, workers, max_memory, progress, counts)
        if not figures.n_tokens:
            raise CorpusError(f"{', '.join(texts.names)}: no text in it; a report needs some")
        passage = take_passage(tokenizer, texts.paths, settings, passage_tokens)
    page = render_page(
        ReportFacts(
            name,
            tokenizer.model,
            inspect_model(tokenizer.model, figures),
            figures,
            measure_growth(tokenizer, counts, make_reporter(progress)),
            training_phases(tokenizer.report if training is None else training),
            passage,
        )
    )
    with atomic_write(target) as file:
        file.write(page.encode())


def _check_target(target: Path, force: bool) -> None:
    """Raise now what writing would raise after the work."""
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file in it, such as {target / 'report.html'}")
    if target.exists() and not force:
        raise OutputError(f"{target} exists; choose another name, or replace it (force=True, --force)")
    if not target.parent.is_dir():
        raise OutputError(f"{target}: cannot be written: there is no folder {target.parent}")


def _check_no_input(target: Path, texts: Texts) -> None:
    for path, name in zip(texts.paths, texts.names, strict=True):
        if isinstance(path, Path) and target.exists() and target.samefile(path):
            raise OutputError(f"{name} is both a text and the report; choose another name for the report")
